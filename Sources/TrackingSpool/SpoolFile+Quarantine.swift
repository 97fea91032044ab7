import TrackingCore
import TrackingSQLite

/// The writing, reading and deletion of quarantined records in the log's file.
extension SpoolFile {
    func quarantine(_ seq: UInt64, of id: StreamID, reason: String, _ db: SQLiteConnection) throws {
        guard let stream = self.book[id], stream.stored.contains(seq) else { return }
        let query = try DirectStatement(
            "SELECT place, seq, time, kind, trip, payload, checksum FROM record WHERE stream = ? AND seq = ?", in: db)
        query.bind(stream.number, 1)
        query.bind(Int64(clamping: seq), 2)
        defer { query.reset() }
        let own = SeqSet(CollectionOfOne(seq...seq))
        if try query.step(), let record = Self.record(query, from: 1, of: stream) {
            let entry = SpoolEntry(record, of: stream.trackable, in: id)
            let text = String(decoding: reason.utf8.prefix(500), as: UTF8.self)
            try self.insert(QuarantinedRecord(place: query.integer(0), entry: entry, reason: text), db)
        } else {
            // A damaged record is not quarantined. Its marks are removed, so its sender may send it again.
            self.noteDamage()
            try self.forgetMarks(of: own, in: stream, db)
        }
        query.reset()
        // The record is in the quarantine now, so its row is deleted at once instead of later.
        guard try self.delete(own, of: stream, db) else {
            throw SpoolDamage(reason: "the index of its records points to the wrong records")
        }
    }

    func insert(_ row: QuarantinedRecord, _ db: SQLiteConnection) throws {
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

    /// Returns at most `maximumCount` quarantined records after a place (row id), oldest first. Damaged rows are
    /// skipped.
    func quarantined(after place: Int64, maximumCount: Int, _ db: SQLiteConnection) throws -> [QuarantinedRecord] {
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

    func putBack(
        _ records: [PutBackRecord], of trackable: TrackableID, in stream: StreamID, _ db: SQLiteConnection
    ) throws {
        let entries = records.map { SpoolEntry($0.record, of: trackable, in: stream) }
        for (record, entry) in zip(records, entries) {
            let row = try self.quarantined(after: record.place &- 1, maximumCount: 1, db).first
            guard let row, row.place == record.place else {
                throw TrackingError(
                    .spoolFailed,
                    "cannot retry a quarantined record: another request has retried or dropped it meanwhile. List the quarantined records again"
                )
            }
            try self.renameMarks(of: row.entry, to: entry.name, db)
        }
        try self.append(entries, state: [:], now: UnixTime(0), db)
        _ = try self.dropQuarantined(records.map(\.place), db)
    }

    func dropQuarantined(_ places: [Int64]?, _ db: SQLiteConnection) throws -> Int {
        var count = 0
        if let places {
            let deletion = try DirectStatement("DELETE FROM quarantine WHERE place = ?", in: db)
            for place in places {
                deletion.bind(place, 1)
                try deletion.run()
                count += db.changesCount
            }
        } else {
            try db.execute("DELETE FROM quarantine")
            count = db.changesCount
        }
        self.book.quarantined -= count
        return count
    }
}
