import TrackingCore
import TrackingStore

/// The changes that one transaction writes to the gateway's database: states of rules, names of rule events, the
/// highest record numbers that were queued for webhooks, and messages for the outbox. Also reads these values.
struct RuleRows: Hashable, Sendable {
    /// The trackables without a position at the broker, because it was cleared. Their messages are removed from the
    /// outbox.
    var cleared: Set<TrackableID> = []
    /// The trackables whose retained position a client cleared while the gateway was connected to the broker. The
    /// records that other components of the gateway store about these trackables are removed as well.
    var withdrawn: Set<TrackableID> = []
    /// The rule states that changed, one for each pair of a trackable and a rule: if the rule's condition holds, since
    /// when, and if that was reported.
    var states: [RuleBook.Entry] = []
    /// The pairs of trackable and rule whose saved rule state this transaction deletes.
    var dropped: Set<RuleBook.Key> = []
    /// The name of the last event that rules produced, by trackable.
    var streams: [TrackableID: RecordName] = [:]
    /// The name of the last version of a trip that was queued for webhooks, by trackable.
    var trips: [TrackableID: RecordName] = [:]
    /// The highest record number that was queued for webhooks, by trackable, kind of message and stream.
    var watermarks: [RecordWatermarks.Key: RecordWatermarks.Mark] = [:]
    /// The time up to which every received message was queued for webhooks; `nil` to leave the saved time unchanged.
    var cursor: UnixTime?
    /// The messages that this transaction adds to the outbox, the gateway's message queue.
    var drafts: [Outbox.Draft] = []

    /// The two database tables that store one record name for each trackable: the name of its last rule event, or the
    /// name of the last version of a trip that was queued for webhooks.
    enum NameTable: String {
        case ruleStream, outboxTrip
    }

    /// `true` when the transaction would change nothing in the database.
    var isEmpty: Bool { self == RuleRows() }

    /// Writes all changes to the database, within a transaction.
    ///
    /// - Parameter related: The functions that remove the records of other components about trackables whose position
    ///   was cleared at the broker.
    func write(to db: GatewayTransaction, related: [ErasableRecords]) throws {
        for id in self.cleared { try Outbox.remove(id, from: db) }
        for id in self.withdrawn {
            for records in related { try records.remove(id, nil, db) }
        }
        for key in self.dropped {
            try db.execute(
                sql: "DELETE FROM ruleState WHERE trackable = ? AND rule = ?",
                arguments: [key.trackable.rawValue, key.rule])
        }
        for entry in self.states { try Self.write(entry, db) }
        for (id, last) in self.streams { try Self.write(last, of: id, to: .ruleStream, db) }
        for (id, last) in self.trips { try Self.write(last, of: id, to: .outboxTrip, db) }
        for (key, mark) in self.watermarks { try Self.write(key, mark, db) }
        if let time = self.cursor {
            try db.execute(sql: "DELETE FROM outboxToldUntil")
            try db.execute(sql: "INSERT INTO outboxToldUntil(time) VALUES(?)", arguments: [time.seconds])
        }
        try Outbox.add(self.drafts, to: db)
    }

    /// Reads the saved states of all rules for all trackables.
    static func entries(_ db: GatewayTransaction) throws -> [RuleBook.Entry] {
        try GatewayRow.fetchAll(db, sql: "SELECT trackable, rule, holds, since, isTold FROM ruleState").map { row in
            let since: Double? = row[3]
            return RuleBook.Entry(
                trackable: try TrackableID(row[0]), rule: row[1],
                state: RuleState(holds: row[2], since: since.map { UnixTime($0) }, isReported: row[4]))
        }
    }

    /// Reads the trackables that have a message in the outbox or the state of a rule in the database.
    static func trackables(_ db: GatewayTransaction) throws -> Set<TrackableID> {
        Set(
            try String.fetchAll(db, sql: "SELECT trackable FROM ruleState UNION SELECT trackable FROM outbox")
                .map { try TrackableID($0) })
    }

    /// Reads one record name for each trackable from a table. A record name consists of a stream and a number.
    static func names(_ db: GatewayTransaction, in table: NameTable) throws -> [TrackableID: RecordName] {
        let rows = try GatewayRow.fetchAll(db, sql: "SELECT trackable, stream, seq FROM \(table.rawValue)")
        return Dictionary(
            try rows.map { row in
                let seq: Int64 = row[2]
                return (try TrackableID(row[0]), RecordName("\(row[1] as String):\(max(1, seq))"))
            }.compactMap { id, name in name.map { (id, $0) } }, uniquingKeysWith: { $1 })
    }

    /// Reads the highest record number of each stream that was queued for webhooks.
    static func watermarks(_ db: GatewayTransaction) throws -> [RecordWatermarks.Key: RecordWatermarks.Mark] {
        var marks: [RecordWatermarks.Key: RecordWatermarks.Mark] = [:]
        for row in try GatewayRow.fetchAll(db, sql: "SELECT trackable, kind, stream, seq, time FROM outboxTold") {
            guard let kind = Outbox.Kind(rawValue: row[1]), let stream = StreamID(row[2] as String) else { continue }
            let seq: Int64 = row[3]
            marks[.init(trackable: try TrackableID(row[0]), kind: kind, stream: stream)] =
                .init(seq: UInt64(max(0, seq)), time: UnixTime(row[4]))
        }
        return marks
    }

    /// Reads the time up to which every message was queued for webhooks; `nil` if it was never saved.
    static func cursor(_ db: GatewayTransaction) throws -> UnixTime? {
        try Double.fetchOne(db, sql: "SELECT time FROM outboxToldUntil").map { UnixTime($0) }
    }

    /// Forgets which records were queued for webhooks before a time, and all but the ``Outbox/maximumCount`` records
    /// that were queued last. With `nil`, forgets all queued records and the time up to which every message was queued.
    /// Runs within a transaction.
    static func removeWatermarks(before time: UnixTime?, in db: GatewayTransaction) throws {
        if let time {
            try db.execute(sql: "DELETE FROM outboxTold WHERE time < ?", arguments: [time.seconds])
            try db.execute(
                sql: "DELETE FROM outboxRecord WHERE time < ? OR place <= (SELECT max(place) FROM outboxRecord) - ?",
                arguments: [time.seconds, Outbox.maximumCount])
        } else {
            try db.execute(sql: "DELETE FROM outboxRecord")
            try db.execute(sql: "DELETE FROM outboxTold")
            try db.execute(sql: "DELETE FROM outboxToldUntil")
        }
    }

    private static func write(
        _ key: RecordWatermarks.Key, _ mark: RecordWatermarks.Mark, _ db: GatewayTransaction
    ) throws {
        try db.execute(
            sql: """
                INSERT INTO outboxTold(trackable, kind, stream, seq, time) VALUES(?, ?, ?, ?, ?)
                ON CONFLICT (trackable, kind, stream) DO UPDATE SET seq = excluded.seq, time = excluded.time
                """,
            arguments: [
                key.trackable.rawValue, key.kind.rawValue, key.stream.rawValue, Int64(clamping: mark.seq),
                mark.time.seconds,
            ])
    }

    private static func write(_ entry: RuleBook.Entry, _ db: GatewayTransaction) throws {
        try db.execute(
            sql: """
                INSERT INTO ruleState(trackable, rule, holds, since, isTold) VALUES(?, ?, ?, ?, ?)
                ON CONFLICT (trackable, rule)
                DO UPDATE SET holds = excluded.holds, since = excluded.since, isTold = excluded.isTold
                """,
            arguments: [
                entry.trackable.rawValue, entry.rule, entry.state.holds, entry.state.since?.seconds,
                entry.state.isReported,
            ])
    }

    private static func write(
        _ last: RecordName, of id: TrackableID, to table: NameTable, _ db: GatewayTransaction
    ) throws {
        try db.execute(
            sql: """
                INSERT INTO \(table.rawValue)(trackable, stream, seq) VALUES(?, ?, ?)
                ON CONFLICT (trackable) DO UPDATE SET stream = excluded.stream, seq = excluded.seq
                """,
            arguments: [id.rawValue, last.stream.rawValue, Int64(last.seq)])
    }
}
