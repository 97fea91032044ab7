import GRDB
import TrackingCore
import TrackingSQLite

/// Loads rows of trackables and streams from SQLite into the cache, ``RecordingLedger``.
enum SQLiteLedger {
    /// Loads the trackables and streams of a batch that the cache does not contain. Creates rows for those that the
    /// database does not contain.
    static func fill(_ ledger: inout RecordingLedger, for batch: RecordingBatch, _ db: Database) throws {
        for missing in ledger.missing(for: batch) {
            let known = ledger[missing.trackable]
            var trackable =
                try known ?? Self.load(missing.trackable, db) ?? Self.insert(missing.trackable, db)
            for id in missing.streams where trackable.streams[id] == nil {
                trackable.streams[id] = try Self.stream(id, of: trackable.number, db)
            }
            ledger.fill(missing.trackable, trackable)
        }
    }

    /// Loads a trackable and its recent streams from the database; returns `nil` when the database does not contain the
    /// trackable.
    static func load(_ id: TrackableID, _ db: Database) throws -> RecordingLedger.Trackable? {
        let row = try DirectStatement(
            """
            SELECT number, erased_before, recent, last_time, last_stream, last_seq, run_first, run_last, run_south, run_west, \
            run_north, run_east, run_count FROM trackable WHERE id = ?
            """, in: db)
        defer { row.reset() }
        row.bind(id.rawValue, 1)
        guard try row.step() else { return nil }
        var trackable = RecordingLedger.Trackable(number: row.integer(0))
        trackable.erasedBefore = row.optionalNumber(1).map { UnixTime($0) }
        if let time = row.optionalNumber(3) {
            trackable.last = PointName(time: UnixTime(time), stream: row.integer(4), seq: row.integer(5))
        }
        if !row.isNull(12) { trackable.run = Self.run(row, from: 6) }
        for text in row.text(2).split(separator: ",") {
            guard let number = Int64(text), let (id, stream) = try Self.stream(number: number, db) else { continue }
            trackable.recent.append(id)
            trackable.streams[id] = stream
        }
        try Self.readTail(of: &trackable, db)
        return trackable
    }

    /// Reads the latest points of a trackable that the trackable's row in the database does not include yet, and adds
    /// them to the loaded trackable. The row is not written with every point. See ``PointTail``.
    private static func readTail(of trackable: inout RecordingLedger.Trackable, _ db: Database) throws {
        guard let last = trackable.last else { return }
        let row = try DirectStatement(
            """
            SELECT time, seq, latitude, longitude FROM point WHERE trackable = ? AND time > ? AND stream = ? \
            AND seq > ? AND clock_fault = 0 ORDER BY time LIMIT \(PointTail.maximumCount)
            """, in: db)
        defer { row.reset() }
        row.bind(trackable.number, 1)
        row.bind(last.time.seconds, 2)
        row.bind(last.stream, 3)
        row.bind(last.seq, 4)
        while try row.step() {
            guard let place = Coordinate(latitude: row.number(2), longitude: row.number(3)) else { continue }
            let name = PointName(time: UnixTime(row.number(0)), stream: last.stream, seq: row.integer(1))
            trackable.follow(name, at: place)
        }
    }

    /// Returns the run of points, a bounding box with a time span, that is in seven columns of a row from `column` on.
    static func run(_ row: DirectStatement, from column: Int32) -> PointRun {
        PointRun(
            first: UnixTime(row.number(column)), last: UnixTime(row.number(column + 1)), south: row.number(column + 2),
            west: row.number(column + 3), north: row.number(column + 4), east: row.number(column + 5),
            count: Int(row.integer(column + 6)))
    }

    /// Inserts a row into the table `trackable` for a trackable that the history does not contain yet.
    static func insert(_ id: TrackableID, _ db: Database) throws -> RecordingLedger.Trackable {
        let statement = try DirectStatement("INSERT INTO trackable (id, recent) VALUES (?, '')", in: db)
        statement.bind(id.rawValue, 1)
        try statement.run()
        return RecordingLedger.Trackable(number: db.lastInsertedRowID)
    }

    private static func stream(
        _ id: StreamID, of trackable: Int64, _ db: Database
    ) throws -> RecordingLedger.Stream {
        let row = try DirectStatement("SELECT number, last FROM stream WHERE trackable = ? AND id = ?", in: db)
        defer { row.reset() }
        row.bind(trackable, 1)
        row.bind(id.rawValue, 2)
        if try row.step() {
            return try Self.stream(number: row.integer(0), end: row.optionalInteger(1), db)
        }
        let statement = try DirectStatement(
            "INSERT INTO stream (trackable, id, duplicates, clock_faults) VALUES (?, ?, 0, 0)", in: db)
        statement.bind(trackable, 1)
        statement.bind(id.rawValue, 2)
        try statement.run()
        return RecordingLedger.Stream(number: db.lastInsertedRowID)
    }

    private static func stream(number: Int64, _ db: Database) throws -> (StreamID, RecordingLedger.Stream)? {
        let row = try DirectStatement("SELECT id, last FROM stream WHERE number = ?", in: db)
        defer { row.reset() }
        row.bind(number, 1)
        guard try row.step(), let id = StreamID(row.text(0)) else { return nil }
        return (id, try Self.stream(number: number, end: row.optionalInteger(1), db))
    }

    /// Loads a stream of the history: the state of each of its record numbers, and its last number if the device
    /// declared one.
    static func stream(number: Int64, end: Int64?, _ db: Database) throws -> RecordingLedger.Stream {
        let row = try DirectStatement("SELECT first, last, mark FROM coverage WHERE stream = ? ORDER BY first", in: db)
        defer { row.reset() }
        row.bind(number, 1)
        var ranges: [StreamCoverage.Range] = []
        while try row.step() {
            let (first, last) = (UInt64(clamping: row.integer(0)), UInt64(clamping: row.integer(1)))
            guard let mark = StreamCoverage.Mark(rawValue: Int(row.integer(2))), first <= last else { continue }
            ranges.append(StreamCoverage.Range(mark, first...last))
        }
        return RecordingLedger.Stream(
            number: number, coverage: StreamCoverage(ranges, end: end.map { UInt64(clamping: $0) }))
    }
}
