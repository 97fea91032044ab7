import TrackingCore

/// The cache of what the tables in PostgreSQL contain. It saves queries before a batch is stored.
///
/// Other programs may write to the same tables, see ``PostgresTurn``. Then the cache of a trackable is valid only as
/// long as the column `changes` in the trackable's row is unchanged. The trackables' rows are locked in a fixed order
/// until the commit.
struct PostgresLedger {
    var ledger = RecordingLedger()
    private var versions: [TrackableID: Int64] = [:]
    var partitions = PointPartitions()
    private var turn = PostgresTurn()
    /// `true` if a transaction has failed. Before the next write, the transactions of stuck programs are searched for
    /// as a possible cause.
    private var hasFailed = false
    var standstill = PostgresStandstill()

    /// The maximum size of the cache of what the tables contain, as ``RecordingLedger/count`` measures it. A larger
    /// cache is emptied before the next batch is stored.
    private static let maximumKnown = 100_000

    /// The contents of a trackable's row in the database, with its recent streams and its version, the value of the
    /// column `changes`.
    struct Loaded {
        var id: TrackableID
        var version: Int64
        var trackable: RecordingLedger.Trackable
    }

    /// The key by which a missing stream is found in the rows of a query: the number of its trackable, and its name.
    private struct Key: Hashable {
        var trackable: Int64?
        /// The bytes of the stream's name. Two strings can be equal although their bytes differ.
        var name: [UInt8]

        init(_ trackable: Int64?, _ name: String) {
            self.trackable = trackable
            self.name = Array(name.withoutNUL.utf8)
        }
    }

    /// Empties the cache, but keeps the names of the partitions that exist.
    mutating func forget() {
        self.ledger = RecordingLedger()
        self.versions = [:]
    }

    /// Empties the cache of what the tables contain, after a write failed, and gives up the turn, the right to rely on
    /// the cache (see ``PostgresTurn``). The next write first looks for stuck programs.
    mutating func failed() {
        self.forget()
        self.turn.giveUp()
        self.hasFailed = true
    }

    /// After a failed write, ends the database connections of programs that are stuck while they copy points and hold
    /// locks (see ``PostgresStandstill``). Does nothing if the last write succeeded.
    mutating func lookForStandstill(_ connection: PostgresConnection) throws(TrackingError) {
        guard self.hasFailed else { return }
        try self.standstill.look(connection, now: .now)
        self.hasFailed = false
    }

    /// Increases the column `changes` in the rows of the changed trackables. Other programs then discard what they have
    /// cached about these trackables.
    mutating func noteChanges(
        of changes: RecordingChanges, _ connection: PostgresConnection
    ) throws(TrackingError) {
        let ids = changes.acknowledgements.keys
        try connection.run(
            "UPDATE trackable SET changes = changes + 1 WHERE id = ANY ($1)", [.texts(ids.map(\.rawValue))])
        for id in ids { self.versions[id]? += 1 }
    }

    /// Begins a transaction, and computes the changes that a batch makes to the tables.
    ///
    /// - Returns: The changes; and `true` if no other program can write during the transaction. With `false`, the rows
    ///   of the batch's trackables are locked against other programs.
    mutating func begin(
        _ batch: RecordingBatch, _ connection: PostgresConnection
    ) throws(TrackingError) -> (changes: RecordingChanges, isAlone: Bool) {
        if self.ledger.count > Self.maximumKnown { self.forget() }
        var changes: RecordingChanges?
        let found: PostgresTurn.Found
        if self.turn.isHeld {
            try self.turn.ask(connection)
            // The changes are computed while the server answers. If another program has written, they are discarded.
            if self.ledger.missing(for: batch).isEmpty { changes = self.ledger.apply(batch, leavingTails: true) }
            found = try self.turn.answer(connection)
        } else {
            found = try self.turn.begin(connection)
        }
        if found == .alone, let changes { return (changes, true) }
        let isAlone = try self.fill(for: batch, found, connection)
        return (self.ledger.apply(batch, leavingTails: isAlone), isAlone)
    }

    /// Loads the trackables and streams of a batch into the cache, if they are missing there. Inserts rows for the
    /// trackables and streams that the database does not have.
    ///
    /// - Returns: `true` if no other program can write during the transaction. With `false`, the rows of the batch's
    ///   trackables are locked against other programs.
    private mutating func fill(
        for batch: RecordingBatch, _ found: PostgresTurn.Found, _ connection: PostgresConnection
    ) throws(TrackingError) -> Bool {
        switch found {
        case .taken, .sharedAnew: self.forget()
        case .alone, .shared: break
        }
        let isAlone = found == .alone || found == .taken
        let missing = self.ledger.missing(for: batch)
        let unknown = missing.map(\.trackable).filter { self.ledger[$0] == nil }
        if !unknown.isEmpty {
            try connection.run(
                "INSERT INTO trackable (id) SELECT unnest($1) ON CONFLICT (id) DO NOTHING",
                [.texts(unknown.map(\.rawValue))])
        }
        if isAlone {
            for loaded in try Self.load(unknown, connection) { self.ledger.fill(loaded.id, loaded.trackable) }
        } else {
            try self.lock(batch, connection)
        }
        if !isAlone || !missing.isEmpty { try self.fillStreams(for: batch, connection) }
        return isAlone
    }

    /// Begins a transaction, and writes the row of a trackable so that it includes the trackable's last points. Also
    /// makes other programs discard what they have cached about the trackable. The caller ends the transaction.
    ///
    /// - Returns: The key of the trackable in the tables; `nil` if it could not be loaded.
    @discardableResult
    mutating func settle(
        _ id: TrackableID, at now: UnixTime, _ connection: PostgresConnection
    ) throws(TrackingError) -> Int64? {
        var batch = RecordingBatch()
        batch.recordings = [Recording(of: id, at: now)]
        _ = try self.fill(for: batch, self.turn.begin(connection), connection)
        try PostgresWriting(connection).writeRows(self.ledger.settle(id))
        try connection.run("UPDATE trackable SET changes = changes + 1 WHERE id = $1", [.text(id.rawValue)])
        return self.ledger[id]?.number
    }

    /// Locks the database rows of a batch's trackables against other programs. Trackables that other programs have
    /// changed since they were cached are loaded again.
    private mutating func lock(_ batch: RecordingBatch, _ connection: PostgresConnection) throws(TrackingError) {
        let ids = Set(batch.recordings.map(\.trackable)).union(batch.refused.compactMap(\.trackable))
        let locked = try connection.run(
            "SELECT id, changes FROM trackable WHERE id = ANY ($1) ORDER BY number FOR UPDATE",
            [.texts(ids.map(\.rawValue))])
        guard locked.count == ids.count else { throw PostgresTurn.replaced }
        var changed: [TrackableID] = []
        for row in 0..<locked.count {
            guard let id = try? TrackableID(locked.text(row, 0)) else { continue }
            let version = locked.integer(row, 1)
            if self.ledger[id] == nil || self.versions[id] != version { changed.append(id) }
            self.versions[id] = version
        }
        for id in changed { self.ledger.forget(id) }
        for loaded in try Self.load(changed, connection) { self.ledger.fill(loaded.id, loaded.trackable) }
    }

    /// Loads the streams of a batch that are missing in the cache. Creates those that the database does not have.
    private mutating func fillStreams(
        for batch: RecordingBatch, _ connection: PostgresConnection
    ) throws(TrackingError) {
        let missing = self.ledger.missing(for: batch).flatMap { entry in
            entry.streams.map { (id: entry.trackable, number: self.ledger[entry.trackable]?.number, stream: $0) }
        }
        guard !missing.isEmpty else { return }
        let pairs: [PostgresValue] = [.ints(missing.map(\.number)), .texts(missing.map(\.stream.rawValue))]
        try connection.run(
            "INSERT INTO stream (trackable, id) SELECT * FROM unnest($1, $2) ON CONFLICT (trackable, id) DO NOTHING",
            pairs)
        let rows = try connection.run(
            """
            SELECT s.trackable, s.id, s.number, s.last FROM stream s JOIN unnest($1, $2) AS n (trackable, id) \
            ON s.trackable = n.trackable AND s.id = n.id
            """, pairs)
        let names = Dictionary(missing.map { (Key($0.number, $0.stream.rawValue), ($0.id, $0.stream)) }) { first, _ in
            first
        }
        var filled: [TrackableID: RecordingLedger.Trackable] = [:]
        for (row, stream) in try Self.streams(rows, first: 2, connection).enumerated() {
            let number = rows.integer(row, 0)
            guard let (id, name) = names[Key(number, rows.text(row, 1))] else { continue }
            filled[id, default: RecordingLedger.Trackable(number: number)].streams[name] = stream
        }
        for (id, trackable) in filled { self.ledger.fill(id, trackable) }
        guard self.ledger.missing(for: batch).isEmpty else {
            throw TrackingError(
                .storeRefused,
                "cannot store a record: PostgreSQL changes its stream id. Use a database with the encoding UTF8")
        }
    }

    /// Loads trackables with their recent streams from the database. Ids that the history does not contain are omitted.
    static func load(_ ids: [TrackableID], _ connection: PostgresConnection) throws(TrackingError) -> [Loaded] {
        guard !ids.isEmpty else { return [] }
        let rows = try connection.run(
            """
            SELECT id, number, changes, erased_before, recent, last_time, last_stream, last_seq, run_first, run_last, run_south, \
            run_west, run_north, run_east, run_count FROM trackable WHERE id = ANY ($1)
            """, [.texts(ids.map(\.rawValue))])
        var loaded: [Loaded] = []
        var recent: [[Int64]] = []
        for row in 0..<rows.count {
            guard let id = try? TrackableID(rows.text(row, 0)) else { continue }
            var trackable = RecordingLedger.Trackable(number: rows.integer(row, 1))
            trackable.erasedBefore = rows.optionalNumber(row, 3).map { UnixTime($0) }
            if let time = rows.optionalNumber(row, 5) {
                trackable.last = PointName(
                    time: UnixTime(time), stream: rows.integer(row, 6), seq: rows.integer(row, 7))
            }
            if !rows.isNull(row, 14) { trackable.run = Self.run(rows, row, from: 8) }
            recent.append(rows.text(row, 4).split(separator: ",").compactMap { Int64($0) })
            loaded.append(Loaded(id: id, version: rows.integer(row, 2), trackable: trackable))
        }
        let known = try Self.streams(numbered: recent.flatMap(\.self), connection)
        for index in loaded.indices {
            for number in recent[index] {
                guard let (id, stream) = known[number] else { continue }
                loaded[index].trackable.recent.append(id)
                loaded[index].trackable.streams[id] = stream
            }
        }
        try Self.readTails(of: &loaded, connection)
        return loaded
    }

    /// Reads the last points of the loaded trackables, which the rows of the trackables do not include yet, and adds
    /// them. See ``PointTail``.
    private static func readTails(of loaded: inout [Loaded], _ connection: PostgresConnection) throws(TrackingError) {
        let known = loaded.indices.filter { loaded[$0].trackable.last != nil }
        guard !known.isEmpty else { return }
        let last = known.map { loaded[$0].trackable.last }
        let rows = try connection.run(
            """
            SELECT k.place, q.time, q.stream, q.seq, q.latitude, q.longitude FROM unnest($1, $2, $3, $4, $5) \
            AS k (place, trackable, time, stream, seq) CROSS JOIN LATERAL (SELECT * FROM point p \
            WHERE p.trackable = k.trackable AND p.time > k.time AND p.stream = k.stream AND p.seq > k.seq \
            AND p.clock_fault = 0 ORDER BY p.time LIMIT \(PointTail.maximumCount)) q ORDER BY k.place, q.time
            """,
            [
                .ints(known.map { Int64($0) }), .ints(known.map { loaded[$0].trackable.number }),
                .doubles(last.map(\.?.time.seconds)), .ints(last.map(\.?.stream)), .ints(last.map(\.?.seq)),
            ])
        for row in 0..<rows.count {
            guard let place = Coordinate(latitude: rows.number(row, 4), longitude: rows.number(row, 5)) else {
                continue
            }
            let name = PointName(
                time: UnixTime(rows.number(row, 1)), stream: rows.integer(row, 2), seq: rows.integer(row, 3))
            loaded[Int(rows.integer(row, 0))].trackable.follow(name, at: place)
        }
    }

    private static func run(_ rows: PostgresRows, _ row: Int, from column: Int) -> PointRun {
        PointRun(
            first: UnixTime(rows.number(row, column)), last: UnixTime(rows.number(row, column + 1)),
            south: rows.number(row, column + 2), west: rows.number(row, column + 3),
            north: rows.number(row, column + 4),
            east: rows.number(row, column + 5), count: Int(rows.integer(row, column + 6)))
    }

    private static func streams(
        numbered numbers: [Int64], _ connection: PostgresConnection
    ) throws(TrackingError) -> [Int64: (StreamID, RecordingLedger.Stream)] {
        guard !numbers.isEmpty else { return [:] }
        let rows = try connection.run("SELECT id, number, last FROM stream WHERE number = ANY ($1)", [.ints(numbers)])
        var found: [Int64: (StreamID, RecordingLedger.Stream)] = [:]
        for (row, stream) in try Self.streams(rows, first: 1, connection).enumerated() {
            if let id = StreamID(rows.text(row, 0)) { found[stream.number] = (id, stream) }
        }
        return found
    }

    /// Makes the streams that the rows of a query result describe. Also loads their coverage from the database: the
    /// state of each record number. In each row, the column `column` has the key of the stream, and the next column the
    /// last number that its device declared.
    static func streams(
        _ rows: PostgresRows, first column: Int, _ connection: PostgresConnection
    ) throws(TrackingError) -> [RecordingLedger.Stream] {
        let numbers = (0..<rows.count).map { rows.integer($0, column) }
        let found = try connection.run(
            "SELECT stream, first, last, mark FROM coverage WHERE stream = ANY ($1) ORDER BY stream, first",
            [.ints(numbers)])
        var ranges: [Int64: [StreamCoverage.Range]] = [:]
        for row in 0..<found.count {
            let (first, last) = (UInt64(clamping: found.integer(row, 1)), UInt64(clamping: found.integer(row, 2)))
            guard let mark = StreamCoverage.Mark(rawValue: Int(found.integer(row, 3))), first <= last else { continue }
            ranges[found.integer(row, 0), default: []].append(StreamCoverage.Range(mark, first...last))
        }
        return numbers.enumerated().map { row, number in
            RecordingLedger.Stream(
                number: number,
                coverage: StreamCoverage(
                    ranges[number] ?? [], end: rows.optionalInteger(row, column + 1).map { UInt64(clamping: $0) }))
        }
    }
}

extension String {
    /// The text in a form that PostgreSQL can store: each NUL character is replaced by U+FFFD.
    var withoutNUL: String { self.utf8.contains(0) ? String(self.map { $0 == "\0" ? "\u{FFFD}" : $0 }) : self }
}
