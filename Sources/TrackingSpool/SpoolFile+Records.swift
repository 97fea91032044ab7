import TrackingCore
import TrackingSQLite

/// The writing, reading and deletion of the rows of records in the log's file, inside a transaction.
extension SpoolFile {
    func append(
        _ entries: [SpoolEntry], state: [String: [UInt8]?], now: UnixTime, knowsAges: Bool = true,
        _ db: SQLiteConnection
    ) throws {
        for entry in entries where self.book[entry.stream]?.stored.contains(entry.record.seq) == true {
            throw TrackingError(
                .spoolFailed,
                "cannot append record \(entry.record.seq) of stream \(entry.stream) to the log: the log already has this record. Append it with the stream's next number"
            )
        }
        let statement = try DirectStatement("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", in: db)
        var rest = entries[...]
        while let first = rest.first {
            // Most calls bring records of one stream.
            let run = rest.prefix { $0.stream == first.stream }
            rest = rest.dropFirst(run.count)
            let stream = self.book[first.stream] ?? self.book.begin(first.stream, of: first.trackable)
            var seqs = SeqSet()
            var bytes = 0
            for entry in run {
                try self.insert(entry.record, of: stream, at: self.book.nextPlace, with: statement)
                self.book.nextPlace += 1
                seqs.insert(entry.record.seq)
                bytes += entry.record.payload.count
            }
            self.book.added(seqs, of: first.stream, bytes: bytes)
        }
        try self.remember(entries, now: now, knowsAges: knowsAges, db)
        for (name, value) in state {
            try self.set(StoredValue(name: name, value: value, version: self.book.nextVersion), db)
            self.book.nextVersion += 1
        }
    }

    func insert(
        _ record: SpoolRecord, of stream: SpoolBook.Stream, at place: Int64, with statement: DirectStatement
    ) throws {
        statement.bind(place, 1)
        statement.bind(stream.number, 2)
        statement.bind(Int64(clamping: record.seq), 3)
        statement.bind(Int64(record.payload.count), 4)
        statement.bind(record.time.seconds, 5)
        statement.bind(Int64(record.kind.rawValue), 6)
        statement.bind(record.tripID, 7)
        statement.bind(Int64(bitPattern: stream.sum.value(of: record)), 9)
        try statement.run(binding: record.payload, 8)
    }

    func set(_ value: StoredValue, _ db: SQLiteConnection) throws {
        let statement = try DirectStatement(
            """
            INSERT INTO state (name, value, version, checksum) VALUES (?, ?, ?, ?) ON CONFLICT (name) \
            DO UPDATE SET value = excluded.value, version = excluded.version, checksum = excluded.checksum
            """, in: db)
        statement.bind(value.name, 1)
        statement.bind(value.value, 2)
        statement.bind(value.version, 3)
        statement.bind(value.checksum, 4)
        try statement.run()
    }

    /// Reads the records of a stream with the given numbers, in order, until a limit of number or size is reached. The
    /// result also names the requested records, up to this limit, that were not found.
    func read(
        _ id: StreamID, _ seqs: SeqSet, maximumCount: Int, maximumBytes: Int, _ db: SQLiteConnection
    ) throws -> SpoolReading {
        guard let stream = self.book[id] else { return SpoolReading(missing: seqs) }
        var reader = RecordReader(stream, maximumCount: maximumCount, maximumBytes: maximumBytes)
        reader.reserve(min(seqs.count, maximumCount))
        for range in seqs.from(stream.floor).ranges {
            try self.readRun(range, &reader, db)
            try self.readRest(range, &reader, db)
            if let excess = reader.excess { return reader.reading(of: seqs.through(excess - 1)) }
        }
        return reader.reading(of: seqs)
    }

    /// Reads the records of a range of numbers in the order of their rows in the table. Stops at the first row that is
    /// not the next record of the range. Most records of a stream were appended one after the other.
    private func readRun(_ range: ClosedRange<UInt64>, _ reader: inout RecordReader, _ db: SQLiteConnection) throws {
        guard range.upperBound - range.lowerBound >= Self.shortestRun else { return }
        let first = try DirectStatement("SELECT place FROM record WHERE stream = ? AND seq = ?", in: db)
        defer { first.reset() }
        first.bind(reader.number, 1)
        first.bind(Int64(clamping: range.lowerBound), 2)
        guard try first.step() else { return }
        let rows = try DirectStatement(
            """
            SELECT seq, time, kind, trip, payload, checksum, stream FROM record WHERE place >= ? ORDER BY place
            """, in: db)
        defer { rows.reset() }
        rows.bind(first.integer(0), 1)
        var next = Int64(clamping: range.lowerBound)
        while next <= range.upperBound, reader.excess == nil, try rows.step() {
            guard rows.integer(6) == reader.number, rows.integer(0) == next else { return }
            reader.take(rows)
            next += 1
        }
    }

    /// Reads the rest of a range of record numbers through the index. Begins after the last record that was read
    /// already.
    private func readRest(_ range: ClosedRange<UInt64>, _ reader: inout RecordReader, _ db: SQLiteConnection) throws {
        guard reader.excess == nil, reader.last < range.upperBound else { return }
        let rows = try DirectStatement(
            """
            SELECT seq, time, kind, trip, payload, checksum FROM record \
            WHERE stream = ? AND seq BETWEEN ? AND ? ORDER BY seq
            """, in: db)
        defer { rows.reset() }
        rows.bind(reader.number, 1)
        rows.bind(Int64(clamping: max(range.lowerBound, reader.last + 1)), 2)
        rows.bind(Int64(clamping: range.upperBound), 3)
        while reader.excess == nil, try rows.step() { reader.take(rows) }
    }

    /// The smallest difference between the last and the first number of a range that is read in the order of the rows:
    /// 16. Shorter ranges are read through the index only.
    private static let shortestRun = 16

    /// Decodes a record from a row of the log's file. The row's columns from the given one on are seq, time, kind,
    /// trip, payload and checksum; `nil` when the row is damaged.
    static func record(
        _ row: DirectStatement, from first: Int32, of stream: SpoolBook.Stream
    ) -> SpoolRecord? {
        guard let kind = UInt8(exactly: row.integer(first + 2)).flatMap(SpoolRecord.Kind.init),
            let seq = UInt64(exactly: row.integer(first)), seq > 0
        else { return nil }
        let record = SpoolRecord(
            seq: seq, time: UnixTime(row.number(first + 1)), kind: kind,
            tripID: row.isNull(first + 3) ? nil : row.text(first + 3), payload: row.bytes(first + 4))
        return stream.sum.value(of: record) == UInt64(bitPattern: row.integer(first + 5)) ? record : nil
    }

    /// Removes records of a stream. For the lowest records, only the stream's floor, the lowest number that counts, is
    /// raised; their rows are deleted later. The rows of other records are deleted at once.
    func remove(_ seqs: SeqSet, of id: StreamID, _ db: SQLiteConnection) throws {
        guard let stream = self.book[id] else { return }
        var above = seqs.intersection(stream.stored)
        guard !above.isEmpty else { return }
        var rest = stream.stored
        rest.subtract(above)
        let lowest = above.through((rest.first ?? .max) - 1)
        above.subtract(lowest)
        if !lowest.isEmpty { self.book.left(lowest, of: id) }
        if !above.isEmpty, try !self.delete(above, of: stream, db) { self.noteDamage() }
    }

    /// Removes records of a stream together with their rows. Even if the index is damaged, no row of another record is
    /// deleted.
    ///
    /// - Returns: `true` if the rows of all these records were found.
    func delete(_ seqs: SeqSet, of stream: SpoolBook.Stream, _ db: SQLiteConnection) throws -> Bool {
        let deletion = try DirectStatement(
            """
            DELETE FROM record WHERE place IN (SELECT place FROM record WHERE stream = ?1 AND seq BETWEEN ?2 AND ?3) \
            AND +stream = ?1 AND +seq BETWEEN ?2 AND ?3
            """, in: db)
        var (bytes, count) = (0, 0)
        for range in seqs.ranges {
            bytes &+= try self.bytes(of: range, in: stream, db)
            deletion.bind(stream.number, 1)
            deletion.bind(Int64(clamping: range.lowerBound), 2)
            deletion.bind(Int64(clamping: range.upperBound), 3)
            try deletion.run()
            count += db.changesCount
        }
        self.book.removed(seqs, of: stream.id, bytes: bytes)
        return count >= seqs.count
    }

    func bytes(of range: ClosedRange<UInt64>, in stream: SpoolBook.Stream, _ db: SQLiteConnection) throws -> Int {
        let sizes = try DirectStatement(
            "SELECT coalesce(sum(size), 0) FROM record WHERE stream = ? AND seq BETWEEN ? AND ?", in: db)
        defer { sizes.reset() }
        sizes.bind(stream.number, 1)
        sizes.bind(Int64(clamping: range.lowerBound), 2)
        sizes.bind(Int64(clamping: range.upperBound), 3)
        return try sizes.step() ? Int(sizes.integer(0)) : 0
    }

    func forget(_ id: StreamID, _ db: SQLiteConnection) throws {
        guard let stream = self.book[id], stream.stored.isEmpty else { return }
        self.book.letGo(id)
        if try self.sweep(stream, atMost: Self.sweptAtOnce, db) < Self.sweptAtOnce { try self.drop(stream, db) }
    }

    /// Deletes a stream, after the last row of its records: both copies of the stream's row in the file, and the stream
    /// in the index in memory.
    func drop(_ stream: SpoolBook.Stream, _ db: SQLiteConnection) throws {
        for sql in ["DELETE FROM stream WHERE number = ?", "DELETE FROM stream_copy WHERE number = ?"] {
            let statement = try DirectStatement(sql, in: db)
            statement.bind(stream.number, 1)
            try statement.run()
        }
        self.book.forget(stream.id)
    }
}

/// The enforcement of the limits on the log's size and age, the summary of its records, and the listing of records that
/// were not removed.
extension SpoolFile {
    /// The maximum number of rows that one transaction deletes to enforce the log's limits.
    static let trimmedAtOnce = 10_000

    /// Drops the oldest records, in the order in which they were appended, if the log exceeds its limits. Deletes at
    /// most ``trimmedAtOnce`` rows.
    ///
    /// - Returns: The dropped records; `nil` when no row had to be deleted. The list is empty if all deleted rows
    ///   belonged to records that were removed before.
    func trim(to limits: SpoolLimits, now: UnixTime, _ db: SQLiteConnection) throws -> [SpoolPart]? {
        if limits != SpoolLimits() { try self.weigh(db) }
        var trimming = SpoolTrimming(limits: limits, count: self.book.count, bytes: self.book.bytes, now: now)
        guard trimming.mayTrim else { return nil }
        let cut = try self.cut(&trimming, db)
        guard cut.place > 0 else { return nil }
        return try self.trim(cut.rows, through: cut.place, db)
    }

    /// A row of the log that is examined, and may be deleted, to comply with the log's limits.
    private struct Trimmed {
        let stream: Int64
        let seq: UInt64
        let size: Int
        /// `true` if the row is a record of the log; `false` if the record was removed before, and only its row
        /// remains.
        let isHeld: Bool
    }

    /// Returns the oldest rows that must be deleted to comply with the log's limits. Rows of removed records are
    /// deleted as well if all rows before them are deleted.
    ///
    /// - Returns: The rows, and the place (row id) of the last of them; 0 for none.
    private func cut(
        _ trimming: inout SpoolTrimming, _ db: SQLiteConnection
    ) throws -> (rows: ArraySlice<Trimmed>, place: Int64) {
        let statement = try DirectStatement("SELECT place, stream, seq, size, time FROM record ORDER BY place", in: db)
        defer { statement.reset() }
        var rows: [Trimmed] = []
        var cut = (rows: 0, place: Int64(0))
        var last: Int64 = 0
        while rows.count < Self.trimmedAtOnce, try statement.step() {
            let (number, seq) = (statement.integer(1), UInt64(clamping: statement.integer(2)))
            let row = Trimmed(
                stream: number, seq: seq, size: Int(clamping: statement.integer(3)),
                isHeld: seq >= self.book.stream(number: number)?.floor ?? 0)
            rows.append(row)
            switch row.isHeld ? trimming.consider(bytes: row.size, time: UnixTime(statement.number(4))) : nil {
            case .goes: cut = (rows.count, statement.integer(0))
            case nil: if cut.rows == rows.count - 1 { cut = (rows.count, statement.integer(0)) }
            case .undecided: break
            case .stays: return (rows[..<cut.rows], cut.place)
            }
            last = statement.integer(0)
        }
        // If all rows of this part are undecided, the first decided row after them decides for the whole part.
        if cut.rows == 0, rows.count == Self.trimmedAtOnce, try self.nextGoes(statement, &trimming) {
            cut = (rows.count, last)
        }
        return (rows[..<cut.rows], cut.place)
    }

    /// Returns `true` if the limits of the log require that one more record is dropped. Rows of records that were
    /// removed before, and records whose age is unknown, are skipped on the way to the next record.
    private func nextGoes(_ rows: DirectStatement, _ trimming: inout SpoolTrimming) throws -> Bool {
        while try rows.step() {
            let floor = self.book.stream(number: rows.integer(1))?.floor ?? 0
            guard UInt64(clamping: rows.integer(2)) >= floor else { continue }
            let verdict = trimming.consider(bytes: Int(clamping: rows.integer(3)), time: UnixTime(rows.number(4)))
            if verdict != .undecided { return verdict == .goes }
        }
        return false
    }

    private func trim(_ rows: ArraySlice<Trimmed>, through place: Int64, _ db: SQLiteConnection) throws -> [SpoolPart] {
        let deletion = try DirectStatement("DELETE FROM record WHERE place <= ?", in: db)
        deletion.bind(place, 1)
        try deletion.run()
        var parts: [SpoolPart] = []
        for (number, own) in Dictionary(grouping: rows, by: \.stream) {
            guard let stream = self.book.stream(number: number) else { continue }
            let held = own.filter(\.isHeld)
            self.book.swept(own.count - held.count, of: stream.id)
            guard !held.isEmpty else { continue }
            let seqs = SeqSet(held.map { $0.seq...$0.seq })
            self.book.removed(seqs, of: stream.id, bytes: held.reduce(0) { $0 + $1.size })
            self.book.dropped += held.count
            parts.append(SpoolPart(trackable: stream.trackable, stream: stream.id, seqs: seqs))
        }
        if !parts.isEmpty { try self.set(self.book.droppedValue(), db) }
        return parts
    }

    func summary(_ db: SQLiteConnection) throws -> SpoolSummary {
        try self.weigh(db)
        var summary = SpoolSummary(
            dropped: self.book.dropped, quarantined: self.book.quarantined, lastPlace: self.book.nextPlace - 1)
        let rare = try self.countRareKinds(db)
        var oldest: [TrackableID: (place: Int64, time: UnixTime)] = [:]
        for stream in self.book.streams {
            guard let first = try self.first(of: stream, db) else { continue }
            let (trips, events) = (rare[stream.number]?[.trip] ?? 0, rare[stream.number]?[.event] ?? 0)
            summary.trackables[stream.trackable, default: SpoolAmount()].add(
                SpoolAmount(
                    points: max(0, stream.stored.count - trips - events), trips: trips, events: events,
                    bytes: stream.bytes))
            if first.place < oldest[stream.trackable]?.place ?? .max { oldest[stream.trackable] = first }
        }
        for (id, first) in oldest { summary.trackables[id]?.oldest = first.time }
        return summary
    }

    /// Returns the number of trips and of events in each stream, by the number that names the stream in the log's
    /// tables.
    private func countRareKinds(_ db: SQLiteConnection) throws -> [Int64: [SpoolRecord.Kind: Int]] {
        let statement = try DirectStatement(
            "SELECT stream, kind, count(*) FROM held WHERE kind > 0 GROUP BY stream, kind", in: db)
        defer { statement.reset() }
        var counts: [Int64: [SpoolRecord.Kind: Int]] = [:]
        while try statement.step() {
            guard let kind = UInt8(exactly: statement.integer(1)).flatMap(SpoolRecord.Kind.init) else { continue }
            counts[statement.integer(0), default: [:]][kind] = Int(clamping: statement.integer(2))
        }
        return counts
    }

    /// Returns the place (row id) and the time of the lowest record of a stream; `nil` if the stream has no record, or
    /// the index does not lead to it.
    private func first(of stream: SpoolBook.Stream, _ db: SQLiteConnection) throws -> (place: Int64, time: UnixTime)? {
        guard let seq = stream.stored.first else { return nil }
        let statement = try DirectStatement("SELECT place, time FROM record WHERE stream = ? AND seq = ?", in: db)
        defer { statement.reset() }
        statement.bind(stream.number, 1)
        statement.bind(Int64(clamping: seq), 2)
        return try statement.step() ? (statement.integer(0), UnixTime(statement.number(1))) : nil
    }

    /// Returns at most `maximumCount` records that were not removed, with places (row ids) greater than `place` and up
    /// to `last`, in the order of their places. Damaged rows are skipped.
    func waiting(after place: Int64, through last: Int64, maximumCount: Int, _ db: SQLiteConnection) throws
        -> [WaitingRecord]
    {
        let statement = try DirectStatement(
            """
            SELECT place, stream, seq, time, kind, trip, payload, checksum FROM held \
            WHERE place > ? AND place <= ? ORDER BY place
            """, in: db)
        defer { statement.reset() }
        statement.bind(place, 1)
        statement.bind(last, 2)
        var rows: [WaitingRecord] = []
        while rows.count < maximumCount, try statement.step() {
            guard let stream = self.book.stream(number: statement.integer(1)),
                let record = Self.record(statement, from: 2, of: stream)
            else { continue }
            let entry = SpoolEntry(record, of: stream.trackable, in: stream.id)
            rows.append(WaitingRecord(place: statement.integer(0), entry: entry))
        }
        return rows
    }
}
