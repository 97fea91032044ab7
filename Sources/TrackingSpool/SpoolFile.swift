import SystemLibrary
import TrackingCore
import TrackingSQLite

/// The error for a log's file that is damaged. The file is then salvaged and set aside.
struct SpoolDamage: Error {
    var reason: String
    /// `true` if the file's tables or its version number are not those of a log, so that the file may belong to another
    /// program.
    var hasOtherTables = false
}

/// An open file of a device's log, with an index of its contents in memory (``SpoolBook``). It is used on one thread
/// only.
final class SpoolFile {
    let connection: SQLiteConnection
    var book = SpoolBook()
    /// The maximum number of marks that the log stores for one trackable. By its mark, the log recognizes a repetition
    /// of an ingested record. Once the maximum is exceeded by one percent, the oldest marks are deleted.
    var markLimit = RecordMark.maximumCount
    /// The lock that keeps other programs from this log. It is held as long as this object exists.
    var lock: SpoolLock?
    private var isSynchronous: Bool?
    private var reserve: SpoolReserve

    /// Opens the file of a log, or makes it.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - isOrderly: `true` if the log was closed in order. Otherwise its streams end, and new records begin new
    ///     streams.
    ///   - checkedSize: The size in bytes up to which a file that was not closed in order is checked completely.
    ///   - isDamaged: `true` if the log is known to be damaged. Then only its pages are checked, not its indexes.
    /// - Throws: ``SpoolDamage``; `spoolFailed` if the log has another version; SQLite's own error.
    init(path: String, isOrderly: Bool, checkedSize: Int64, isDamaged: Bool = false) throws {
        self.reserve = SpoolReserve(path: path + ".reserve")
        // Positions are readable by the owner alone. SQLite gives its other files the permissions of this one.
        SystemLibrary.close(SystemLibrary.open(path, O_CREAT | O_CLOEXEC, 0o600))
        self.connection = try SQLiteConnection(path: path)
        try self.use { db in
            try self.configure(db)
            try self.prepare(
                db, checkedSize: isOrderly ? 0 : checkedSize, by: isDamaged ? "quick_check" : "integrity_check")
            try self.load(db)
            guard !isOrderly else { return }
            self.book.update { $0.isEnded = true }
        }
        if !isOrderly { try self.transaction(isDurable: true) { _ in } }
    }

    /// Runs `body` with the connection to the log's database. `body` may call this method again.
    func use<Value>(_ body: (SQLiteConnection) throws -> Value) rethrows -> Value { try body(self.connection) }

    /// Runs `body` in one transaction. If it fails, neither the file nor the index in memory contains a change by
    /// `body`. If the disk is full, `body` may run a second time after room was made.
    ///
    /// - Parameters:
    ///   - isDurable: `true` if the transaction must survive a power cut once the method has returned.
    ///   - growth: The number of bytes that `body` adds to the file. With 0, `body` may also run on a full disk,
    ///     because it makes room.
    func transaction<Value>(isDurable: Bool, growth: Int = 0, _ body: (SQLiteConnection) throws -> Value) throws
        -> Value
    {
        try self.use { db in
            if growth > 0, try !self.makeRoom(for: growth, db) {
                throw SQLiteError(.full, message: "the disk is full")
            }
            do {
                return try self.attempt(isDurable: isDurable, db, body)
            } catch let error as SQLiteError where error.code == .full {
                // The write-ahead log may fill the disk. The released reserve is enough to move it into the file.
                self.reserve.release()
                try? db.checkpoint()
                // Rows are deleted before the reserve is taken again, because deleting takes room as well.
                if growth > 0, self.book.unswept > 0 {
                    try self.attempt(isDurable: false, db) { try self.sweep(atMost: Self.sweptAtOnce, $0) }
                }
                guard try growth == 0 || self.makeRoom(for: growth, db) else { throw error }
                return try self.attempt(isDurable: isDurable, db, body)
            }
        }
    }

    /// Returns `true` if there is room for `growth` more bytes. If there is none, first deletes rows of removed
    /// records.
    private func makeRoom(for growth: Int, _ db: SQLiteConnection) throws -> Bool {
        while try !self.hasRoom(for: growth, db) {
            guard self.book.unswept > 0 else { return false }
            try self.transaction(isDurable: false) { try self.sweep(atMost: Self.sweptAtOnce, $0) }
        }
        return true
    }

    /// Returns `true` if the disk has room for `growth` more bytes in the log and, besides, for a later removal of
    /// records, which takes room itself. The room exists if the reserve file exists or can be made now, or if the log's
    /// file has enough unused pages.
    private func hasRoom(for growth: Int, _ db: SQLiteConnection) throws -> Bool {
        if self.reserve.hold() { return true }
        let free = Int(try db.integer("PRAGMA freelist_count") ?? 0)
        return free >= 16 + growth / SpoolSchema.pageSize * 2
    }

    private func attempt<Value>(
        isDurable: Bool, _ db: SQLiteConnection, _ body: (SQLiteConnection) throws -> Value
    ) throws -> Value {
        if self.isSynchronous != isDurable {
            try db.execute("PRAGMA synchronous = \(isDurable ? "FULL" : "NORMAL")")
            self.isSynchronous = isDurable
        }
        let before = self.book
        do {
            let value = try db.transaction {
                let value = try body(db)
                try self.writeStreams(db)
                return value
            }
            self.book.written()
            return value
        } catch {
            self.book = before
            throw error
        }
    }

    /// Writes the rows of the streams that have changed since their rows were last written.
    private func writeStreams(_ db: SQLiteConnection) throws {
        for stream in self.book.streams where stream.isDirty {
            for table in ["stream", "stream_copy"] {
                let statement = try DirectStatement(
                    "INSERT OR REPLACE INTO \(table) VALUES (?, ?, ?, ?, ?, ?, ?)", in: db)
                statement.bind(stream.number, 1)
                statement.bind(stream.trackable.rawValue, 2)
                statement.bind(stream.id.rawValue, 3)
                statement.bind(Int64(clamping: stream.last), 4)
                statement.bind(Int64(clamping: stream.floor), 5)
                statement.bind(Int64(stream.ending.rawValue), 6)
                statement.bind(stream.checksum, 7)
                try statement.run()
            }
        }
    }

    /// Makes a file beside the log which states that the log is damaged. The log is then salvaged when it is opened the
    /// next time.
    func noteDamage() { SpoolOpening.wantSalvage(of: self.connection.path) }

    /// Writes the rows of all streams, moves the content of the write-ahead log into the file, and closes the file.
    func close() throws {
        self.book.update { _ in }
        try self.transaction(isDurable: true) { _ in }
        try self.use { try $0.checkpoint() }
        try self.connection.close()
    }
}

/// The steps of opening a log's file: configuring SQLite, checking the file, creating its tables if it is new, and
/// loading the index into memory.
extension SpoolFile {
    private func configure(_ db: SQLiteConnection) throws {
        // Only one program opens the log, so the index of the write-ahead log can stay in memory.
        try db.execute("PRAGMA locking_mode = EXCLUSIVE")
        try db.execute("PRAGMA page_size = \(SpoolSchema.pageSize)")
        try db.execute("PRAGMA cache_size = -2000")
        try db.execute("PRAGMA journal_mode = WAL")
        try db.execute("PRAGMA wal_autocheckpoint = 1000")
        try db.execute("PRAGMA journal_size_limit = 8388608")
    }

    private func prepare(_ db: SQLiteConnection, checkedSize: Int64, by check: String) throws {
        let found = try db.texts("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
        if found.isEmpty, try db.integer("PRAGMA page_count") ?? 0 > 1 {
            throw SpoolDamage(reason: "its tables are missing")
        }
        guard !found.isEmpty else { return try self.makeTables(db) }
        try self.checkVersion(db)
        guard found == SpoolSchema.statements else {
            throw SpoolDamage(reason: "its tables are not those of a log", hasOtherTables: true)
        }
        guard try db.integer("PRAGMA auto_vacuum") == 0,
            try db.integer("PRAGMA page_size") == Int64(SpoolSchema.pageSize)
        else { throw SpoolDamage(reason: "its header is not that of a log") }
        let pages = try db.integer("PRAGMA page_count") ?? 0
        guard pages * Int64(SpoolSchema.pageSize) <= checkedSize else { return }
        let verdict = try db.texts("PRAGMA \(check)(1)", atMost: 1).first ?? "no answer"
        guard verdict == "ok" else { throw SpoolDamage(reason: verdict) }
    }

    private func makeTables(_ db: SQLiteConnection) throws {
        try db.transaction {
            for statement in SpoolSchema.statements { try db.execute(statement) }
            try db.execute("PRAGMA user_version = \(SpoolSchema.version)")
        }
    }

    /// Checks the version of a log's tables.
    ///
    /// - Throws: `spoolFailed` for another version from 1 to 999, which this program can neither read nor salvage.
    ///   ``SpoolDamage`` for any other wrong number, which no version ever had.
    private func checkVersion(_ db: SQLiteConnection) throws {
        let version = Int(try db.integer("PRAGMA user_version") ?? 0)
        guard version != SpoolSchema.version else { return }
        guard (1..<1000).contains(version) else {
            throw SpoolDamage(reason: "its header is not that of a log", hasOtherTables: true)
        }
        throw TrackingError(
            .spoolFailed,
            "cannot open the log \(self.connection.path): it has version \(version), and this program expects version "
                + "\(SpoolSchema.version). Use the program that made the log, or name another file")
    }

    private func load(_ db: SQLiteConnection) throws {
        try self.loadStreams(db)
        try self.loadRecords(db)
        self.book.quarantined = Int(try db.integer("SELECT count(*) FROM quarantine") ?? 0)
        let places = try db.integers(
            "SELECT coalesce(max(place), 0) FROM record UNION ALL SELECT coalesce(max(place), 0) FROM quarantine")
        guard let last = places.max(), (0..<Int64.max).contains(last) else {
            throw SpoolDamage(reason: "the positions of its records in the file are out of range")
        }
        self.book.nextPlace = last + 1
    }

    private func loadStreams(_ db: SQLiteConnection) throws {
        let statement = try DirectStatement("SELECT * FROM stream ORDER BY number", in: db)
        defer { statement.reset() }
        while try statement.step() {
            let stream = SpoolBook.Stream(
                number: statement.integer(0), trackable: statement.text(1), name: statement.text(2),
                last: statement.integer(3), floor: statement.integer(4), ended: statement.integer(5),
                checksum: statement.integer(6))
            guard let stream, self.book[stream.id] == nil else {
                throw SpoolDamage(reason: "a stream's row is damaged")
            }
            self.book.insert(stream)
        }
    }

    /// Reads the numbers of all records from the index, but not the records themselves. Checks that the whole index is
    /// in order.
    private func loadRecords(_ db: SQLiteConnection) throws {
        let rows = try DirectStatement("SELECT stream, seq, size FROM record ORDER BY stream, seq", in: db)
        defer { rows.reset() }
        var (number, tally): (Int64, StreamTally?) = (.min, nil)
        while try rows.step() {
            if tally == nil || rows.integer(0) != number {
                guard tally == nil || rows.integer(0) > number else {
                    throw SpoolDamage(reason: "the index of its records is out of order")
                }
                if let tally { self.book.take(tally) }
                number = rows.integer(0)
                guard let stream = self.book.stream(number: number) else {
                    throw SpoolDamage(reason: "a record has no stream")
                }
                tally = StreamTally(stream)
            }
            guard tally?.add(rows.integer(1), size: rows.integer(2)) == true else {
                throw SpoolDamage(reason: "the numbers of its records are out of order or out of range")
            }
        }
        if let tally { self.book.take(tally) }
    }

    /// Reads the values that the publisher stored in the log, and returns them by name. Also takes two numbers from
    /// these values into the index: the number of dropped records, and the version that the next stored value gets.
    func loadState() throws -> [String: [UInt8]] {
        try self.use { db in
            let statement = try DirectStatement("SELECT name, value, version, checksum FROM state", in: db)
            defer { statement.reset() }
            var state: [String: [UInt8]] = [:]
            while try statement.step() {
                let value = StoredValue(
                    name: statement.text(0), value: statement.isNull(1) ? nil : statement.bytes(1),
                    version: statement.integer(2))
                guard value.checksum == statement.integer(3) else { throw SpoolDamage(reason: "a value is damaged") }
                state[value.name] = value.value
                if value.name == SpoolBook.droppedName { self.book.dropped = SpoolBook.dropped(value.value) }
                self.book.nextVersion = max(self.book.nextVersion, value.version + 1)
            }
            return state
        }
    }
}

/// The counts for one stream, while the rows of the log's index are read in order: its records, their payload bytes,
/// and the rows of records that were removed before.
private struct StreamTally {
    let id: StreamID
    private let floor: Int64
    private(set) var stored = SeqSet()
    private(set) var bytes: Int64 = 0
    /// The number of rows in the file that belong to removed records of the stream: the rows with numbers below the
    /// stream's floor, its lowest number that counts.
    private(set) var unswept = 0
    private var last: Int64 = 0
    private var run: ClosedRange<UInt64>?

    init(_ stream: SpoolBook.Stream) {
        self.id = stream.id
        self.floor = Int64(clamping: stream.floor)
    }

    /// Adds the stream's next record row in the log's index to the counts.
    ///
    /// - Returns: `false` if the row's number is not higher than that of the previous row, or if its number or size is
    ///   impossible. The index is then damaged.
    mutating func add(_ seq: Int64, size: Int64) -> Bool {
        guard seq > self.last, seq < Int64.max, (0..<1 << 32).contains(size), self.bytes < 1 << 50 else { return false }
        self.last = seq
        guard seq >= self.floor else {
            self.unswept += 1
            return true
        }
        self.bytes += size
        let number = UInt64(seq)
        if let run = self.run, number == run.upperBound + 1 {
            self.run = run.lowerBound...number
        } else {
            if let run = self.run { self.stored.insert(run) }
            self.run = number...number
        }
        return true
    }

    var all: SeqSet {
        var all = self.stored
        if let run = self.run { all.insert(run) }
        return all
    }
}

extension SpoolBook {
    fileprivate mutating func take(_ tally: StreamTally) {
        self.found(unswept: tally.unswept, of: tally.id)
        guard !tally.all.isEmpty else { return }
        self.added(tally.all, of: tally.id, bytes: Int(tally.bytes))
    }
}
