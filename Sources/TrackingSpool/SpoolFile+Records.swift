import GRDB
import TrackingCore
import TrackingSQLite

/// Writing and reading records, inside a transaction.
extension SpoolFile {
    func append(_ entries: [SpoolEntry], state: [String: [UInt8]?], now: UnixTime, _ db: Database) throws {
        for entry in entries where self.book[entry.stream]?.stored.contains(entry.record.seq) == true {
            throw TrackingError(.spoolFailed, "the log has a record \(entry.record.seq) of this stream already")
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
        try self.remember(entries, now: now, db)
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
        statement.bind(Int64(bitPattern: record.checksum(in: stream.id)), 9)
        try statement.run(binding: record.payload, 8)
    }

    func set(_ value: StoredValue, _ db: Database) throws {
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

    /// Reads until a limit is reached. Where the file and the book disagree the log tells what is missing.
    func read(
        _ id: StreamID, _ seqs: SeqSet, maximumCount: Int, maximumBytes: Int, _ db: Database
    ) throws -> SpoolReading {
        guard let stream = self.book[id] else { return SpoolReading(missing: seqs) }
        let statement = try DirectStatement(
            """
            SELECT seq, time, kind, trip, payload, checksum FROM record \
            WHERE stream = ? AND seq BETWEEN ? AND ? ORDER BY seq
            """, in: db)
        var reading = SpoolReading()
        var bytes = 0
        var considered = seqs
        var found = SeqSet()
        ranges: for range in seqs.ranges {
            defer { statement.reset() }
            statement.bind(stream.number, 1)
            statement.bind(Int64(clamping: range.lowerBound), 2)
            statement.bind(Int64(clamping: range.upperBound), 3)
            while try statement.step() {
                guard let record = Self.record(statement, of: id), !found.contains(record.seq) else { continue }
                let isFull =
                    reading.records.count >= maximumCount
                    || (!reading.records.isEmpty && bytes + record.payload.count > maximumBytes)
                if isFull {
                    considered = seqs.through(record.seq - 1)
                    break ranges
                }
                bytes += record.payload.count
                found.insert(record.seq)
                reading.records.append(record)
            }
        }
        considered.subtract(found)
        reading.missing = considered
        return reading
    }

    /// The record of a row that begins with seq, time, kind, trip, payload and checksum; `nil` when it is damaged.
    private static func record(_ row: DirectStatement, from first: Int32 = 0, of stream: StreamID) -> SpoolRecord? {
        guard let kind = UInt8(exactly: row.integer(first + 2)).flatMap(SpoolRecord.Kind.init),
            let seq = UInt64(exactly: row.integer(first)), seq > 0
        else { return nil }
        let record = SpoolRecord(
            seq: seq, time: UnixTime(row.number(first + 1)), kind: kind,
            tripID: row.isNull(first + 3) ? nil : row.text(first + 3), payload: row.bytes(first + 4))
        return record.checksum(in: stream) == UInt64(bitPattern: row.integer(first + 5)) ? record : nil
    }

    func remove(_ seqs: SeqSet, of id: StreamID, _ db: Database) throws {
        guard let stream = self.book[id] else { return }
        let sizes = try DirectStatement(
            "SELECT coalesce(sum(size), 0) FROM record WHERE stream = ? AND seq BETWEEN ? AND ?", in: db)
        let deletion = try DirectStatement("DELETE FROM record WHERE stream = ? AND seq BETWEEN ? AND ?", in: db)
        var bytes = 0
        for range in seqs.intersection(stream.stored).ranges {
            for statement in [sizes, deletion] {
                statement.bind(stream.number, 1)
                statement.bind(Int64(clamping: range.lowerBound), 2)
                statement.bind(Int64(clamping: range.upperBound), 3)
            }
            if try sizes.step() { bytes &+= Int(sizes.integer(0)) }
            sizes.reset()
            try deletion.run()
        }
        self.book.removed(seqs, of: id, bytes: bytes)
    }

    func forget(_ id: StreamID, _ db: Database) throws {
        guard let stream = self.book[id], stream.stored.isEmpty else { return }
        for sql in ["DELETE FROM stream WHERE number = ?", "DELETE FROM stream_copy WHERE number = ?"] {
            let statement = try DirectStatement(sql, in: db)
            statement.bind(stream.number, 1)
            try statement.run()
        }
        self.book.forget(id)
    }
}

/// Limits and figures.
extension SpoolFile {
    /// How many records are let go in one transaction.
    static let trimmedAtOnce = 10_000

    /// Lets the first records go, at most ``trimmedAtOnce``.
    func trim(to limits: SpoolLimits, now: UnixTime, _ db: Database) throws -> [SpoolPart] {
        var trimming = SpoolTrimming(limits: limits, count: self.book.count, bytes: self.book.bytes, now: now)
        guard trimming.mayTrim else { return [] }
        let statement = try DirectStatement(
            "SELECT place, stream, seq, size, time FROM record ORDER BY place", in: db)
        defer { statement.reset() }
        var rows: [(stream: Int64, seq: UInt64, size: Int)] = []
        var last: Int64 = 0
        var cut = (rows: 0, place: Int64(0))
        while cut.rows < Self.trimmedAtOnce, try statement.step() {
            last = statement.integer(0)
            rows.append(
                (statement.integer(1), UInt64(clamping: statement.integer(2)), Int(clamping: statement.integer(3))))
            switch trimming.consider(bytes: rows[rows.count - 1].size, time: UnixTime(statement.number(4))) {
            case .goes: cut = (rows.count, last)
            case .undecided: break
            case .stays:
                statement.reset()
                return try self.trim(rows[..<cut.rows], through: cut.place, db)
            }
        }
        statement.reset()
        return try self.trim(rows[..<cut.rows], through: cut.place, db)
    }

    private func trim(
        _ rows: ArraySlice<(stream: Int64, seq: UInt64, size: Int)>, through place: Int64, _ db: Database
    ) throws -> [SpoolPart] {
        guard !rows.isEmpty else { return [] }
        let deletion = try DirectStatement("DELETE FROM record WHERE place <= ?", in: db)
        deletion.bind(place, 1)
        try deletion.run()
        var parts: [SpoolPart] = []
        for (number, own) in Dictionary(grouping: rows, by: \.stream) {
            guard let stream = self.book.stream(number: number) else { continue }
            let seqs = SeqSet(own.map { $0.seq...$0.seq })
            self.book.removed(seqs, of: stream.id, bytes: own.reduce(0) { $0 + $1.size })
            parts.append(SpoolPart(trackable: stream.trackable, stream: stream.id, seqs: seqs))
        }
        self.book.dropped += rows.count
        try self.set(self.book.droppedValue(), db)
        return parts
    }

    func summary(_ db: Database) throws -> SpoolSummary {
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

    /// How many trips and events each stream has, by its number.
    private func countRareKinds(_ db: Database) throws -> [Int64: [SpoolRecord.Kind: Int]] {
        let statement = try DirectStatement(
            "SELECT stream, kind, count(*) FROM record WHERE kind > 0 GROUP BY stream, kind", in: db)
        defer { statement.reset() }
        var counts: [Int64: [SpoolRecord.Kind: Int]] = [:]
        while try statement.step() {
            guard let kind = UInt8(exactly: statement.integer(1)).flatMap(SpoolRecord.Kind.init) else { continue }
            counts[statement.integer(0), default: [:]][kind] = Int(clamping: statement.integer(2))
        }
        return counts
    }

    /// Where the first record of a stream is, and its time; `nil` when it has none.
    private func first(of stream: SpoolBook.Stream, _ db: Database) throws -> (place: Int64, time: UnixTime)? {
        guard let seq = stream.stored.first else { return nil }
        let statement = try DirectStatement("SELECT place, time FROM record WHERE stream = ? AND seq = ?", in: db)
        defer { statement.reset() }
        statement.bind(stream.number, 1)
        statement.bind(Int64(clamping: seq), 2)
        return try statement.step() ? (statement.integer(0), UnixTime(statement.number(1))) : nil
    }

    /// Those between two places whose rows are whole.
    func waiting(after place: Int64, through last: Int64, maximumCount: Int, _ db: Database) throws -> [WaitingRecord] {
        let statement = try DirectStatement(
            """
            SELECT place, stream, seq, time, kind, trip, payload, checksum FROM record \
            WHERE place > ? AND place <= ? ORDER BY place
            """, in: db)
        defer { statement.reset() }
        statement.bind(place, 1)
        statement.bind(last, 2)
        var rows: [WaitingRecord] = []
        while rows.count < maximumCount, try statement.step() {
            guard let stream = self.book.stream(number: statement.integer(1)),
                let record = Self.record(statement, from: 2, of: stream.id)
            else { continue }
            let entry = SpoolEntry(record, of: stream.trackable, in: stream.id)
            rows.append(WaitingRecord(place: statement.integer(0), entry: entry))
        }
        return rows
    }
}

/// What is set aside.
extension SpoolFile {
    func quarantine(_ seq: UInt64, of id: StreamID, reason: String, _ db: Database) throws {
        guard let stream = self.book[id], stream.stored.contains(seq) else { return }
        let query = try DirectStatement(
            "SELECT place, seq, time, kind, trip, payload, checksum FROM record WHERE stream = ? AND seq = ?", in: db)
        query.bind(stream.number, 1)
        query.bind(Int64(clamping: seq), 2)
        defer { query.reset() }
        // A damaged record is not worth keeping.
        if try query.step(), let record = Self.record(query, from: 1, of: id) {
            let entry = SpoolEntry(record, of: stream.trackable, in: id)
            let text = String(decoding: reason.utf8.prefix(500), as: UTF8.self)
            try self.insert(QuarantinedRecord(place: query.integer(0), entry: entry, reason: text), db)
        }
        query.reset()
        try self.remove(SeqSet(CollectionOfOne(seq...seq)), of: id, db)
    }

    func insert(_ row: QuarantinedRecord, _ db: Database) throws {
        let statement = try DirectStatement("INSERT INTO quarantine VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", in: db)
        let record = row.entry.record
        statement.bind(row.place, 1)
        statement.bind(row.entry.trackable.rawValue, 2)
        statement.bind(row.entry.stream.rawValue, 3)
        statement.bind(Int64(clamping: record.seq), 4)
        statement.bind(record.time.seconds, 5)
        statement.bind(Int64(record.kind.rawValue), 6)
        statement.bind(record.tripID, 7)
        statement.bind(row.reason, 9)
        statement.bind(row.checksum, 10)
        try statement.run(binding: record.payload, 8)
        self.book.quarantined += 1
    }

    /// Those after a place whose rows are whole.
    func quarantined(after place: Int64, maximumCount: Int, _ db: Database) throws -> [QuarantinedRecord] {
        let statement = try DirectStatement(
            """
            SELECT place, trackable, stream, reason, checksum, seq, time, kind, trip, payload FROM quarantine \
            WHERE place > ? ORDER BY place
            """, in: db)
        defer { statement.reset() }
        statement.bind(place, 1)
        var rows: [QuarantinedRecord] = []
        while rows.count < maximumCount, try statement.step() {
            guard let trackable = try? TrackableID(statement.text(1)), let stream = StreamID(statement.text(2)),
                let seq = UInt64(exactly: statement.integer(5)),
                let kind = UInt8(exactly: statement.integer(7)).flatMap(SpoolRecord.Kind.init)
            else { continue }
            let record = SpoolRecord(
                seq: seq, time: UnixTime(statement.number(6)), kind: kind,
                tripID: statement.isNull(8) ? nil : statement.text(8), payload: statement.bytes(9))
            let row = QuarantinedRecord(
                place: statement.integer(0), entry: SpoolEntry(record, of: trackable, in: stream),
                reason: statement.text(3))
            if row.checksum == statement.integer(4) { rows.append(row) }
        }
        return rows
    }

    func retryQuarantined(_ places: [Int64]?, _ db: Database) throws -> [SpoolPart] {
        var back: [StreamID: SpoolPart] = [:]
        let insertion = try DirectStatement("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", in: db)
        try self.eachQuarantined(places, db) { row in
            let id = row.entry.stream
            let stream = self.book[id] ?? self.book.begin(id, of: row.entry.trackable, isEnded: true)
            guard !stream.stored.contains(row.entry.record.seq) else { return }
            try self.insert(row.entry.record, of: stream, at: row.place, with: insertion)
            let seq = SeqSet(CollectionOfOne(row.entry.record.seq...row.entry.record.seq))
            self.book.added(seq, of: id, bytes: row.entry.record.payload.count)
            back[id, default: SpoolPart(trackable: stream.trackable, stream: id, seqs: SeqSet())].seqs.formUnion(seq)
        }
        _ = try self.dropQuarantined(places, db)
        return Array(back.values)
    }

    private func eachQuarantined(
        _ places: [Int64]?, _ db: Database, _ body: (QuarantinedRecord) throws -> Void
    ) throws {
        if let places {
            for place in places {
                let row = try self.quarantined(after: place &- 1, maximumCount: 1, db).first
                if let row, row.place == place { try body(row) }
            }
            return
        }
        var last: Int64 = 0
        while let row = try self.quarantined(after: last, maximumCount: 1, db).first {
            try body(row)
            last = row.place
        }
    }

    func dropQuarantined(_ places: [Int64]?, _ db: Database) throws -> Int {
        var count = 0
        if let places {
            for place in places {
                try db.execute(sql: "DELETE FROM quarantine WHERE place = ?", arguments: [place])
                count += db.changesCount
            }
        } else {
            try db.execute(sql: "DELETE FROM quarantine")
            count = db.changesCount
        }
        self.book.quarantined -= count
        return count
    }
}
