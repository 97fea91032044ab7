import GRDB
import TrackingCore

/// What a keeper of rules keeps in one transaction, and how it is found again.
struct RuleRows: Sendable {
    /// Of whom nothing that came before is to be told.
    var cleared: Set<TrackableID>
    /// Of whom somebody cleared the position: nothing that was set aside is to be kept.
    var withdrawn: Set<TrackableID>
    /// How rules stand.
    var states: [RuleBook.Entry]
    /// What stood and counts no more.
    var dropped: Set<RuleBook.Key>
    /// The last number of each trackable's events.
    var streams: [(TrackableID, RecordName)]
    /// The last trip of each trackable that webhooks are told.
    var trips: [(TrackableID, RecordName)] = []
    /// The last record of each stream that webhooks are told.
    var told: [(ToldRecords.Key, ToldRecords.Mark)] = []
    /// Until when they were told everything.
    var toldUntil: UnixTime?
    /// What is to be told.
    var drafts: [Outbox.Draft]

    /// The tables that have one name for each trackable.
    enum NameTable: String {
        case ruleStream, outboxTrip
    }

    /// Whether there is nothing to keep.
    var isEmpty: Bool {
        self.cleared.isEmpty && self.withdrawn.isEmpty && self.states.isEmpty && self.dropped.isEmpty
            && self.streams.isEmpty && self.trips.isEmpty && self.told.isEmpty && self.toldUntil == nil
            && self.drafts.isEmpty
    }

    /// Writes all of it, within a transaction.
    func write(to db: Database) throws {
        for id in self.cleared { try Outbox.remove(id, from: db) }
        for id in self.withdrawn { try Quarantine.remove(id, from: db) }
        for key in self.dropped {
            try db.execute(
                sql: "DELETE FROM ruleState WHERE trackable = ? AND rule = ?",
                arguments: [key.trackable.rawValue, key.rule])
        }
        for entry in self.states { try Self.write(entry, db) }
        for (id, last) in self.streams { try Self.write(last, of: id, to: .ruleStream, db) }
        for (id, last) in self.trips { try Self.write(last, of: id, to: .outboxTrip, db) }
        for (key, mark) in self.told { try Self.write(key, mark, db) }
        if let time = self.toldUntil {
            try db.execute(sql: "DELETE FROM outboxToldUntil")
            try db.execute(sql: "INSERT INTO outboxToldUntil(time) VALUES(?)", arguments: [time.seconds])
        }
        try Outbox.add(self.drafts, to: db)
    }

    /// How rules stood.
    static func entries(_ db: Database) throws -> [RuleBook.Entry] {
        try Row.fetchAll(db, sql: "SELECT trackable, rule, holds, since, isTold FROM ruleState").map { row in
            let since: Double? = row[3]
            return RuleBook.Entry(
                trackable: try TrackableID(row[0]), rule: row[1],
                state: RuleState(holds: row[2], since: since.map { UnixTime($0) }, isTold: row[4]))
        }
    }

    /// Of whom anything is kept that is told, or how a rule stands.
    static func trackables(_ db: Database) throws -> Set<TrackableID> {
        Set(
            try String.fetchAll(db, sql: "SELECT trackable FROM ruleState UNION SELECT trackable FROM outbox")
                .map { try TrackableID($0) })
    }

    /// The names that a table has.
    static func names(_ db: Database, in table: NameTable) throws -> [TrackableID: RecordName] {
        let rows = try Row.fetchAll(db, sql: "SELECT trackable, stream, seq FROM \(table.rawValue)")
        return Dictionary(
            try rows.map { row in
                let seq: Int64 = row[2]
                return (try TrackableID(row[0]), RecordName("\(row[1] as String):\(max(1, seq))"))
            }.compactMap { id, name in name.map { (id, $0) } }, uniquingKeysWith: { $1 })
    }

    /// The last record of each stream that webhooks were told.
    static func told(_ db: Database) throws -> [ToldRecords.Key: ToldRecords.Mark] {
        var marks: [ToldRecords.Key: ToldRecords.Mark] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT trackable, kind, stream, seq, time FROM outboxTold") {
            guard let kind = Outbox.Kind(rawValue: row[1]), let stream = StreamID(row[2] as String) else { continue }
            let seq: Int64 = row[3]
            marks[.init(trackable: try TrackableID(row[0]), kind: kind, stream: stream)] =
                .init(seq: UInt64(max(0, seq)), time: UnixTime(row[4]))
        }
        return marks
    }

    /// Until when webhooks were told everything; `nil` where nobody ever listened for them.
    static func toldUntil(_ db: Database) throws -> UnixTime? {
        try Double.fetchOne(db, sql: "SELECT time FROM outboxToldUntil").map { UnixTime($0) }
    }

    /// Forgets what webhooks were told before a time, or everything of that (`nil`), within a transaction.
    static func forgetTold(before time: UnixTime?, in db: Database) throws {
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

    private static func write(_ key: ToldRecords.Key, _ mark: ToldRecords.Mark, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO outboxTold(trackable, kind, stream, seq, time) VALUES(?, ?, ?, ?, ?)",
            arguments: [
                key.trackable.rawValue, key.kind.rawValue, key.stream.rawValue, Int64(clamping: mark.seq),
                mark.time.seconds,
            ])
    }

    private static func write(_ entry: RuleBook.Entry, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO ruleState(trackable, rule, holds, since, isTold) VALUES(?, ?, ?, ?, ?)",
            arguments: [
                entry.trackable.rawValue, entry.rule, entry.state.holds, entry.state.since?.seconds,
                entry.state.isTold,
            ])
    }

    private static func write(_ last: RecordName, of id: TrackableID, to table: NameTable, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO \(table.rawValue)(trackable, stream, seq) VALUES(?, ?, ?)",
            arguments: [id.rawValue, last.stream.rawValue, Int64(last.seq)])
    }
}
