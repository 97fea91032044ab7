import GRDB
import Glibc
import Synchronization
public import TrackingCore

/// A history in one SQLite file: nothing to set up, one recorder.
///
/// Writing happens on one thread, reading beside it on others. Beside the file is the same name with `-wal` and `-shm`.
public final class SQLiteHistoryStore: HistoryStore {
    /// Where the file is.
    public let path: String
    let pool: DatabasePool
    private let files: OpenFiles
    private let ledger = Mutex(Ledger())

    /// What the store knows of its tables without looking, and the state of the file that it goes with.
    private struct Ledger {
        var value = RecordingLedger()
        var dataVersion: Int64?
    }

    /// So many trackables and streams are known without looking: some 100 MB.
    private static let maximumKnown = 100_000

    /// Opens a history, or makes one.
    ///
    /// - Parameters:
    ///   - path: Where the file is; its folder exists.
    ///   - isForReading: Whether one that cannot be written is opened all the same, to be read.
    /// - Throws: `storeUnusable` when the file is something else, or of a newer version; `storeFailed` when it cannot be opened.
    public init(path: String, isForReading: Bool = false) throws(TrackingError) {
        self.path = path
        (self.pool, self.files) = try Self.explained(path) {
            let isReadOnly = isForReading && !Self.isWritable(path)
            // Positions are their owner's business: SQLite gives its other files the rights of this one.
            if !isReadOnly { Glibc.close(Glibc.open(path, O_CREAT | O_CLOEXEC, 0o600)) }
            let pool = try DatabasePool(
                path: isReadOnly ? Self.readOnlyName(path) : path,
                configuration: Self.configuration(isReadOnly: isReadOnly))
            let files = try pool.writeWithoutTransaction { db in
                // An acknowledgement is a promise: a commit outlives a power cut. A pool sets NORMAL as it is opened.
                try db.execute(sql: "PRAGMA synchronous = FULL")
                try SQLiteHistorySchema.prepare(db, path: path)
                // The last pages of some thousand trackables.
                try db.execute(sql: "PRAGMA cache_size = -32000")
                return try OpenFiles(db)
            }
            return (pool, files)
        }
    }

    /// Whether a history can be written, and the files beside it, without which SQLite does not even read it.
    private static func isWritable(_ path: String) -> Bool {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        return access(path, W_OK) == 0 && (access(folder, W_OK) == 0 || access("\(path)-shm", W_OK) == 0)
    }

    /// The name under which SQLite reads a file that it cannot write. Where no other program has it open, it is as it is: nobody is
    /// asked for locks.
    private static func readOnlyName(_ path: String) -> String {
        guard access("\(path)-wal", F_OK) != 0 else { return path }
        let encoded = path.replacing("%", with: "%25").replacing("?", with: "%3f").replacing("#", with: "%23")
        return "file:\(encoded)?immutable=1"
    }

    private static func configuration(isReadOnly: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        configuration.busyMode = .timeout(5)
        configuration.foreignKeysEnabled = false
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA cache_size = -4000")
            try db.execute(sql: "PRAGMA wal_autocheckpoint = 4000")
            try db.execute(sql: "PRAGMA journal_size_limit = 67108864")
        }
        return configuration
    }

    /// See ``HistoryStore/store(_:)``.
    public func store(_ batch: RecordingBatch) async throws(TrackingError) -> StoreReport {
        try await self.write { db, ledger in
            try SQLiteLedger.fill(&ledger, for: batch, db)
            let changes = ledger.apply(batch, leavingTails: true)
            return StoreReport(changes, newPoints: try changes.write(to: db))
        }
    }

    /// See ``HistoryStore/acknowledgement(of:)``.
    public func acknowledgement(of trackable: TrackableID) async throws(TrackingError) -> Acknowledgement {
        try await self.read { db in
            try SQLiteLedger.load(trackable, [], db)?.acknowledgement ?? Acknowledgement(streams: [:])
        }
    }

    /// Lets the file have so many pages, as a full disk does.
    package func limitPages(to count: Int) async throws(TrackingError) {
        try await self.explained {
            try await self.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(count)") }
        }
    }

    /// Writes a copy of the history as it is now into a new file, while a recorder goes on. The copy is a history like any other.
    ///
    /// - Parameter path: The file, which must not be there; it is there once all is written.
    /// - Throws: `inputUnreadable` when it is there or cannot be made; `storeFailed`.
    public func backup(to path: String) async throws(TrackingError) {
        guard access(path, F_OK) != 0 else {
            throw TrackingError(.inputUnreadable, "'\(path)' is there already: name another file")
        }
        let temporary = "\(path).\(getpid()).new"
        let descriptor = Glibc.open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw TrackingError(.inputUnreadable, "'\(path)' cannot be made: \(String(cString: strerror(errno)))")
        }
        defer {
            Glibc.close(descriptor)
            unlink(temporary)
        }
        // It takes the file that is there, as long as that is empty, and with it the rights of its owner alone.
        try await self.explained { try await self.pool.vacuum(into: temporary) }
        guard fsync(descriptor) == 0, rename(temporary, path) == 0 else {
            throw TrackingError(.storeFailed, "'\(path)' cannot be written: \(String(cString: strerror(errno)))")
        }
    }

    /// See ``HistoryStore/close()``.
    public func close() async throws(TrackingError) {
        try Self.explained(self.path) { try self.pool.close() }
    }
}

/// Reading and writing.
extension SQLiteHistoryStore {
    /// Does all of `body` in one transaction, or nothing.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database, inout RecordingLedger) throws -> Value
    ) async throws(TrackingError) -> Value {
        try await self.explained {
            try await self.pool.writeWithoutTransaction { db in
                try self.ledger.withLock { try self.transaction(db, &$0, body) }
            }
        }
    }

    private func transaction<Value>(
        _ db: Database, _ ledger: inout Ledger, _ body: (Database, inout RecordingLedger) throws -> Value
    ) throws -> Value {
        do {
            try db.beginTransaction(.immediate)
            // Another program may have written since: what is known is no longer so.
            let version = try Int64.fetchOne(db, sql: "PRAGMA data_version")
            if version != ledger.dataVersion || ledger.value.count > Self.maximumKnown {
                ledger = Ledger(dataVersion: version)
            }
            let value = try body(db, &ledger.value)
            try self.files.check()
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
        try await self.explained { try await self.pool.read(body) }
    }

    func explained<Value>(_ body: () async throws -> Value) async throws(TrackingError) -> Value {
        do { return try await body() } catch { throw Self.explain(error, self.path) }
    }

    private static func explained<Value>(_ path: String, _ body: () throws -> Value) throws(TrackingError) -> Value {
        do { return try body() } catch { throw Self.explain(error, path) }
    }

    private static func explain(_ error: any Error, _ path: String) -> TrackingError {
        switch error {
        case let error as TrackingError: return error
        case let error as DatabaseError:
            let text = "the history \(path): \(error.message ?? "") (SQLite \(error.extendedResultCode.rawValue))"
            return TrackingError(Self.code(of: error.resultCode), text)
        default: return TrackingError(.storeFailed, "the history \(path): \(error)")
        }
    }

    private static func code(of result: ResultCode) -> TrackingError.Code {
        switch result {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: .storeUnusable
        case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_RANGE: .storeRefused
        default: .storeFailed
        }
    }
}
