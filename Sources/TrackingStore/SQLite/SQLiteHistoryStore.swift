import GRDB
import SystemLibrary
import Synchronization
public import TrackingCore

/// A history, the database of recorded positions, in one SQLite file. The file is created when it is first opened.
///
/// One thread writes, and up to four others read concurrently. SQLite adds two files with the same name and the
/// suffixes `-wal` and `-shm`.
public final class SQLiteHistoryStore: HistoryStore {
    /// The path of the history's SQLite file, as the program gave it.
    public let path: String
    private let isForReading: Bool
    /// The open database. `nil` if the files of a history that is open for reading were removed; the next read opens
    /// the files at the path again.
    private let opened: Mutex<Opened?>
    private let ledger = Mutex(Ledger())
    /// The number by which the history knows this program as its forwarder; `nil` if it has not begun to forward.
    let forwardingClaim = Mutex<Int64?>(nil)

    private struct Opened {
        var pool: DatabasePool
        var files: OpenFiles
    }

    /// The cached contents of tables, and the SQLite data version for which the cache is valid.
    private struct Ledger {
        var value = RecordingLedger()
        var dataVersion: Int64?
    }

    /// The largest ``RecordingLedger/count`` of the cache, some 100 MB of memory. A larger cache is emptied.
    private static let maximumKnown = 100_000

    /// Opens a history. Creates the file if it does not exist, unless `isForReading` is `true`.
    ///
    /// - Parameters:
    ///   - path: The path of the file. Its folder must exist.
    ///   - isForReading: `true` to open an existing history for reading only. This program then needs no right to write
    ///     the file. If the file is still empty and writable, the tables are created.
    /// - Throws:
    ///   - `storeUnusable` when the file is not a history, has another version or is damaged.
    ///   - `storeBusy` when another program writes to it for more than 5 s.
    ///   - `storeFailed` when it cannot be opened.
    public init(path: String, isForReading: Bool = false) throws(TrackingError) {
        self.path = path
        self.isForReading = isForReading
        self.opened = Mutex(
            try Self.explained(path) {
                do { return try Self.open(path, isForReading: isForReading) } catch let error as TrackingError {
                    guard isForReading, error.code == .storeUnusable, Self.isWritable(path) else { throw error }
                    // A recorder that is being started may have made the file, and no tables yet.
                    try Self.open(path, isForReading: false).pool.close()
                    return try Self.open(path, isForReading: true)
                }
            })
    }

    private static func open(_ path: String, isForReading: Bool) throws -> Opened {
        try isForReading ? Self.checkIsFile(path) : Self.makeFile(path)
        let isAlone = isForReading && !Self.isWritable(path) && access("\(path)-wal", F_OK) != 0
        // A reader does not move the write-ahead log into the file as it closes: another file may be at the
        // path by then.
        let pool = try DatabasePool(
            path: isAlone ? Self.unlockedName(path) : Self.literalName(path),
            configuration: Self.configuration(isReadOnly: isForReading))
        return try pool.writeWithoutTransaction { db in
            // Acknowledged records must survive a power cut. GRDB's pool sets NORMAL when it is opened.
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try SQLiteHistorySchema.prepare(db, path: path)
            // The cache holds the last pages of some thousand trackables.
            try db.execute(sql: "PRAGMA cache_size = -16000")
            return Opened(pool: pool, files: try OpenFiles(db, areUnlocked: isAlone))
        }
    }

    /// Creates the database file if it does not exist. SQLite could create it too, but its error would not name the
    /// cause of a failure.
    ///
    /// - Throws: `storeFailed` with the cause; `storeUnusable` if the path is a folder.
    private static func makeFile(_ path: String) throws(TrackingError) {
        try self.checkIsFile(path)
        // Only the owner may read positions. SQLite gives its other files the permissions of this file.
        let descriptor = SystemLibrary.open(path, O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor < 0 else {
            SystemLibrary.close(descriptor)
            return
        }
        let reason = String(cString: strerror(errno))
        throw TrackingError(
            .storeFailed,
            "the history \(path) cannot be opened: \(reason); name a file in a folder that exists and that this user may write"
        )
    }

    private static func checkIsFile(_ path: String) throws(TrackingError) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return }
        throw TrackingError(.storeUnusable, "the history \(path) is a folder: name a file in it")
    }

    /// Returns `true` if this program may write the database file and the files that SQLite puts beside it. SQLite
    /// needs those files even to read the database.
    private static func isWritable(_ path: String) -> Bool {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        return access(path, W_OK) == 0 && (access(folder, W_OK) == 0 || access("\(path)-shm", W_OK) == 0)
    }

    /// Returns the path in a form that SQLite never takes for a URI or for a special name such as `:memory:`.
    private static func literalName(_ path: String) -> String { path.hasPrefix("/") ? path : "./\(path)" }

    /// Returns the URI with which SQLite reads a file without locks (`immutable=1`). SQLite then does not notice
    /// changes of the file. Use it only for a file that this program cannot write and that has no write-ahead log.
    private static func unlockedName(_ path: String) -> String {
        let encoded = path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
        return "file:\(path.hasPrefix("/") ? "//" : "./")\(encoded)?immutable=1"
    }

    /// The maximum time for which a statement waits for another program's lock on the SQLite file: 5 s.
    static let lockTimeout = Duration.seconds(5)

    private static func configuration(isReadOnly: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        configuration.busyMode = .timeout(Self.lockTimeout.inSeconds)
        configuration.foreignKeysEnabled = false
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA cache_size = -4000")
            try db.execute(sql: "PRAGMA wal_autocheckpoint = 4000")
            try db.execute(sql: "PRAGMA journal_size_limit = 67108864")
        }
        return configuration
    }

    /// Stores a batch of records in one durable commit. See ``HistoryStore/store(_:)``.
    public func store(_ batch: RecordingBatch) async throws(TrackingError) -> StoreReport {
        try await self.write { db, ledger in
            try SQLiteLedger.fill(&ledger, for: batch, db)
            let changes = ledger.apply(batch, leavingTails: true)
            return StoreReport(changes, newPoints: try changes.write(to: db))
        }
    }

    /// Returns the acknowledgement of a trackable: for each recent stream, the number up to which each record is
    /// stored, erased, quarantined, or gone from the device. See ``HistoryStore/acknowledgement(of:)``.
    public func acknowledgement(of trackable: TrackableID) async throws(TrackingError) -> Acknowledgement {
        try await self.read { db in
            try SQLiteLedger.load(trackable, db)?.acknowledgement ?? Acknowledgement(streams: [:])
        }
    }

    /// Limits the number of pages of the database file, to simulate a full disk in tests.
    package func limitPages(to count: Int) async throws(TrackingError) {
        try await self.explained {
            try await self.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(count)") }
        }
    }

    /// Writes a copy of the history to a new file. Other programs may write to the history meanwhile.
    ///
    /// - Parameter path: The path of the copy, which must not exist. The copy appears there when it is complete.
    /// - Throws: `inputUnreadable` when the path exists or the file cannot be created; `storeFailed`, `storeBusy` or
    ///   `storeUnusable` for an error of the database or the disk.
    public func backup(to path: String) async throws(TrackingError) {
        try Self.checkNothingIs(at: path)
        let temporary = Self.backupDraft(of: path)
        let descriptor = SystemLibrary.open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw TrackingError(
                .inputUnreadable,
                "cannot create the backup '\(path)': \(String(cString: strerror(errno))). Check the path")
        }
        defer {
            SystemLibrary.close(descriptor)
            unlink(temporary)
        }
        // SQLite writes into the existing file if it is empty, so the copy keeps that file's permissions.
        try await self.explained { try await self.pool.vacuum(into: Self.literalName(temporary)) }
        guard fsync(descriptor) == 0, rename(temporary, path) == 0 else {
            let reason = String(cString: strerror(errno))
            throw TrackingError(
                .storeFailed,
                "cannot write the backup '\(path)': \(reason). Free space on the disk, or follow the reason")
        }
    }

    /// Returns the path of the temporary file to which a backup is written. The complete backup is renamed to the given
    /// path.
    package static func backupDraft(of path: String) -> String { "\(path).\(getpid()).new" }

    private static func checkNothingIs(at path: String) throws(TrackingError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        let isDangling = status.st_mode & S_IFMT == S_IFLNK && access(path, F_OK) != 0
        throw TrackingError(
            .inputUnreadable,
            isDangling
                ? "cannot make the backup '\(path)': it is a link to a file that does not exist. Name the file itself"
                : "cannot make the backup '\(path)': the file is there already. Name another file")
    }

    /// Closes the SQLite file if it is open. See ``HistoryStore/close()``.
    public func close() async throws(TrackingError) {
        try Self.explained(self.path) { try self.opened.withLock { try $0?.pool.close() } }
    }
}

/// The access to the open SQLite database: transactions for writing and reading, the check for replaced files, and the
/// conversion of SQLite's errors.
extension SQLiteHistoryStore {
    /// Runs `body` in one writing transaction. An error of `body` or of SQLite undoes the transaction and empties the
    /// cache.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database, inout RecordingLedger) throws -> Value
    ) async throws(TrackingError) -> Value {
        try await self.explained {
            let files = try self.known.files
            return try await self.pool.writeWithoutTransaction { db in
                try self.ledger.withLock { try self.transaction(db, files, &$0, body) }
            }
        }
    }

    private func transaction<Value>(
        _ db: Database, _ files: OpenFiles, _ ledger: inout Ledger,
        _ body: (Database, inout RecordingLedger) throws -> Value
    ) throws -> Value {
        do {
            try db.beginTransaction(.immediate)
            // Another program may have written since then, which makes the known table contents invalid.
            let version = try Int64.fetchOne(db, sql: "PRAGMA data_version")
            if version != ledger.dataVersion || ledger.value.count > Self.maximumKnown {
                ledger = Ledger(dataVersion: version)
            }
            let value = try body(db, &ledger.value)
            try files.check()
            try db.commit()
            return value
        } catch {
            if db.isInsideTransaction { try? db.rollback() }
            ledger = Ledger()
            throw error
        }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(TrackingError) -> Value {
        try await self.explained {
            for _ in 0..<2 {
                let opened = try self.current()
                guard opened.files.areUnlocked else { return try await opened.pool.read(body) }
                let value = try? await opened.pool.read(body)
                // Without locks, the file may have changed during the read.
                if let value, !opened.files.haveChanged { return value }
            }
            return try await self.current().pool.read(body)
        }
    }

    var pool: DatabasePool { get throws { try self.known.pool } }

    private var known: Opened {
        get throws(TrackingError) {
            guard let opened = self.opened.withLock({ $0 }) else {
                throw TrackingError(
                    .storeFailed,
                    "cannot use the history \(self.path): its file was removed or could not be opened again. Put the file back, and start the program again"
                )
            }
            return opened
        }
    }

    /// Returns the open database for a read.
    ///
    /// Checks first if the files were replaced since they were opened. A history that is open for reading is then
    /// opened again, so that it shows no erased data. A history that is open for writing throws `storeFailed`.
    private func current() throws -> Opened {
        try self.opened.withLock { opened in
            if let known = opened {
                do throws(TrackingError) {
                    try known.files.check()
                    return known
                } catch {
                    guard self.isForReading else { throw error }
                }
                // The database is closed before the file is opened again: all open connections share one index of the
                // write-ahead log.
                try known.pool.close()
                opened = nil
            }
            let anew = try Self.open(self.path, isForReading: true)
            opened = anew
            return anew
        }
    }

    func explained<Value>(_ body: () async throws -> Value) async throws(TrackingError) -> Value {
        do { return try await body() } catch { throw Self.explain(error, self.path) }
    }

    private static func explained<Value>(_ path: String, _ body: () throws -> Value) throws(TrackingError) -> Value {
        do { return try body() } catch { throw Self.explain(error, path) }
    }

    private static func explain(_ error: any Error, _ path: String) -> TrackingError {
        switch DatabaseError.converted(error) {
        case let error as TrackingError: return error
        case let error as DatabaseError where error.resultCode == .SQLITE_NOTADB:
            return TrackingError(
                .storeUnusable, "cannot open the history \(path): it is not an SQLite database. Name another file")
        case let error as DatabaseError:
            let text =
                "cannot use the history \(path): \(error.message ?? "") (SQLite \(error.extendedResultCode.rawValue))"
            let code = Self.code(of: error.resultCode)
            let advice = code == .storeFailed ? ". Check the file, its permissions and the disk" : ""
            return TrackingError(code, text + advice)
        case let error: return TrackingError(.storeFailed, "cannot use the history \(path): \(error)")
        }
    }

    private static func code(of result: ResultCode) -> TrackingError.Code {
        switch result {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: .storeUnusable
        case .SQLITE_BUSY: .storeBusy
        case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_RANGE: .storeRefused
        default: .storeFailed
        }
    }
}
