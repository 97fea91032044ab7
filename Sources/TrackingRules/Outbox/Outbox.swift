package import TrackingCore
package import TrackingStore

/// The outbox: a queue of messages in the gateway's database. The messages wait to be delivered to webhooks, or to be
/// published on MQTT event topics.
///
/// A reader of the outbox is a webhook, or the publisher of rule events. Each reader has its own place in the queue,
/// which survives restarts.
package struct Outbox: Sendable {
    /// The content of a message in the outbox: an event, a trip, or a position of a trackable.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case event, trip, position
    }

    /// A message in the outbox: an event, a trip or a position of a trackable.
    package struct Entry: Hashable, Sendable {
        /// The place of the message in the order of the outbox, ascending. If the database is restored from a backup, a
        /// place can be assigned a second time.
        package var place: Int64
        /// The unique identifier of the message, ascending. It is never assigned again, not even after the database was
        /// restored from a backup.
        package var id: Int64
        /// The trackable that the outbox message is about.
        package var trackable: TrackableID
        /// The kind of the outbox message: event, trip or position.
        package var kind: Kind
        /// `true` for an event that one of this gateway's rules produced.
        package var isOwn: Bool
        /// The time at which the gateway received the outbox message, or at which a rule produced it.
        package var time: UnixTime
        /// The event, trip or position as JSON text, in the form of the tracking protocol.
        package var payload: String
    }

    /// A message that is to be added to the outbox.
    package struct Draft: Hashable, Sendable {
        /// The trackable of the event, trip or position in the outbox message.
        package var trackable: TrackableID
        /// The kind of the message: event, trip or position.
        package var kind: Kind
        /// `true` for an event that one of this gateway's rules produced.
        package var isOwn = false
        /// The time at which the gateway received the message, or at which a rule produced it.
        package var time: UnixTime
        /// The event, trip or position as JSON text, in the form of the tracking protocol.
        package var payload: String
        /// The name (stream and number) of the record in the message. The message is not added if a message of the same
        /// record was added before and is still remembered (see ``Outbox/add(_:to:)``). With `nil`, the message is
        /// always added.
        package var record: RecordName?
    }

    /// The largest number of messages in the outbox. Above it, the oldest messages are removed, whether they were
    /// delivered or not.
    package static let maximumCount: Int64 = 1_000_000
    /// The age at which a message is removed from the outbox, whether it was delivered or not: 7 days.
    package static let maximumAge: Duration = .seconds(7 * 86_400)
    /// The largest size of the outbox in bytes: the payloads of all messages plus ``entryBytes`` for each message; 1
    /// GiB.
    package static let maximumBytes: Int64 = 1 << 30
    /// The approximate number of bytes that a message takes in the database in addition to its payload.
    static let entryBytes = 256

    private let database: GatewayDatabase

    /// Creates access to the outbox in a gateway's database.
    package init(_ database: GatewayDatabase) { self.database = database }

    /// Returns a stream that yields after each commit to the gateway's database, also one that does not change the
    /// outbox.
    func changes() -> AsyncStream<Void> { self.database.changes() }

    /// Ensures that the ids of later messages are above all earlier ids, even after the database was restored from a
    /// backup. Ids follow the clock in microseconds; they stay ascending below a million messages per second.
    ///
    /// - Parameter now: The present time of the wall clock.
    package func beginRange(now: UnixTime) async throws(TrackingError) {
        let microseconds = Int64(max(0, min(now.seconds * 1e6, 4e15)))
        try await self.database.write { db in
            try db.execute(
                sql: """
                    UPDATE outboxBase SET value = ?1 - (SELECT place FROM outboxEnd)
                    WHERE value < ?1 - (SELECT place FROM outboxEnd)
                    """, arguments: [microseconds])
        }
    }

    /// Returns the streams (random ids) of the rule events in the outbox that a reader has not read.
    func ownStreams(unreadBy reader: String) async throws(TrackingError) -> Set<StreamID> {
        try await self.database.read { db in
            let payloads = try String.fetchAll(
                db,
                sql: """
                    SELECT payload FROM outbox
                    WHERE isOwn <> 0 AND place > (SELECT place FROM outboxReader WHERE name = ?)
                    """, arguments: [reader])
            return Set(payloads.compactMap { try? MessageCodec.decodeEvent($0.utf8).stream })
        }
    }

    /// Adds a reader at the end of the outbox, so that it reads later messages only. A reader that exists keeps its
    /// place.
    package func begin(_ reader: String) async throws(TrackingError) {
        try await self.database.write { db in
            try db.execute(
                sql: """
                    INSERT INTO outboxReader(name, place) SELECT ?, place FROM outboxEnd
                    WHERE true ON CONFLICT (name) DO NOTHING
                    """, arguments: [reader])
        }
    }

    /// Removes all readers of the outbox except the given ones.
    package func removeReaders(except readers: [String]) async throws(TrackingError) {
        try await self.database.write { db in
            for name in try String.fetchAll(db, sql: "SELECT name FROM outboxReader") where !readers.contains(name) {
                try db.execute(sql: "DELETE FROM outboxReader WHERE name = ?", arguments: [name])
            }
        }
    }

    /// Returns the next messages that a reader of the outbox has not read.
    ///
    /// - Parameters:
    ///   - reader: The name of the reader.
    ///   - kinds: The kinds of messages to return.
    ///   - ownAlone: `true` to return only the events that rules produced.
    ///   - limit: The largest number of messages, ≥ 1.
    /// - Returns: The messages, and the place to which the reader is to be moved once it has handled them.
    /// - Throws: `storeFailed`, `storeUnusable`.
    package func next(
        _ reader: String, kinds: Set<Kind>, ownAlone: Bool, limit: Int
    ) async throws(TrackingError) -> (entries: [Entry], through: Int64) {
        try await self.database.read { db in
            let place = try Int64.fetchOne(
                db, sql: "SELECT place FROM outboxReader WHERE name = ?", arguments: [reader])
            let names = kinds.map { "'\($0.rawValue)'" }.sorted().joined(separator: ",")
            let rows = try GatewayRow.fetchAll(
                db,
                sql: """
                    SELECT place, trackable, kind, isOwn, time, payload, base FROM outbox
                    WHERE place > ? AND kind IN (\(names)) AND isOwn >= ? ORDER BY place LIMIT ?
                    """, arguments: [place ?? 0, ownAlone ? 1 : 0, limit])
            let entries = try rows.map(Self.entry)
            if entries.count == limit, let last = entries.last { return (entries, last.place) }
            let end = try Int64.fetchOne(db, sql: "SELECT max(place) FROM outbox") ?? place ?? 0
            return (entries, max(end, entries.last?.place ?? 0))
        }
    }

    /// Moves a reader of the outbox forward to a place, because it has handled all messages up to it. Writes nothing
    /// when the reader is at that place or beyond it.
    package func advance(_ reader: String, to place: Int64) async throws(TrackingError) {
        let former = try await self.database.read { db in
            try Int64.fetchOne(db, sql: "SELECT place FROM outboxReader WHERE name = ?", arguments: [reader])
        }
        guard let former, former < place else { return }
        try await self.database.write { db in
            try db.execute(
                sql: "UPDATE outboxReader SET place = ?1 WHERE name = ?2 AND place < ?1", arguments: [place, reader])
        }
    }

    /// Returns the approximate number of messages of all kinds in the outbox that a reader has not read.
    package func backlog(_ reader: String) async throws(TrackingError) -> Int64 {
        try await self.database.read { db in
            let place = try Int64.fetchOne(
                db, sql: "SELECT place FROM outboxReader WHERE name = ?", arguments: [reader])
            let last = try Int64.fetchOne(db, sql: "SELECT max(place) FROM outbox")
            guard let place, let last else { return 0 }
            return max(0, last - place)
        }
    }

    /// Removes from the outbox the messages that all readers have read, and the messages beyond ``maximumCount`` or
    /// ``maximumAge``.
    ///
    /// - Returns: The number of removed messages that at least one reader had not read.
    package func trim(now: UnixTime) async throws(TrackingError) -> Int {
        try await self.database.write { db in
            let read = try Int64.fetchOne(db, sql: "SELECT min(place) FROM outboxReader") ?? .max
            try db.execute(sql: "DELETE FROM outbox WHERE place <= ?", arguments: [read])
            let last = try Int64.fetchOne(db, sql: "SELECT max(place) FROM outbox") ?? 0
            let oldest = now.advanced(by: .zero - Self.maximumAge).seconds
            try db.execute(
                sql: "DELETE FROM outbox WHERE place <= ? OR time < ?", arguments: [last - Self.maximumCount, oldest])
            return db.changesCount
        }
    }

    /// Removes messages from the outbox, within a transaction, if its size exceeds a limit in bytes. First removes all
    /// messages that every reader has read. If the size still exceeds the limit, removes the oldest other messages,
    /// down to 5 % below the limit.
    ///
    /// - Returns: The number of removed messages that at least one reader had not read.
    package static func trim(toBytes most: Int64 = Self.maximumBytes, in db: GatewayTransaction) throws -> Int {
        let bytes = try Int64.fetchOne(db, sql: "SELECT bytes FROM outboxSize") ?? 0
        guard bytes > most else { return 0 }
        let read = try Int64.fetchOne(db, sql: "SELECT min(place) FROM outboxReader") ?? .max
        try db.execute(sql: "DELETE FROM outbox WHERE place <= ?", arguments: [read])
        let left = try Int64.fetchOne(db, sql: "SELECT bytes FROM outboxSize") ?? 0
        guard left > most else { return 0 }
        // Removes 5 % more than necessary, so that the next messages do not exceed the limit at once.
        let last = try Self.place(after: left - most + most / 20, in: db)
        try db.execute(sql: "DELETE FROM outbox WHERE place <= ?", arguments: [last])
        return db.changesCount
    }

    /// Returns the place of the last message that must be removed from the outbox to free a number of bytes, if the
    /// oldest messages are removed first. If all messages together have fewer bytes, it is the place of the newest one.
    private static func place(after bytes: Int64, in db: GatewayTransaction) throws -> Int64 {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT coalesce(
                    (SELECT place FROM (
                        SELECT place, sum(octet_length(payload) + \(Self.entryBytes)) OVER (ORDER BY place) AS total
                        FROM outbox) AS sums WHERE total >= ? ORDER BY place LIMIT 1),
                    (SELECT max(place) FROM outbox), 0)
                """, arguments: [bytes]) ?? 0
    }

    /// Returns the trackables of the messages that at least one reader of the outbox has not read.
    package func unreadTrackables() async throws(TrackingError) -> Set<TrackableID> {
        try await self.database.read { db in
            let ids = try String.fetchAll(
                db,
                sql: """
                    SELECT DISTINCT trackable FROM outbox
                    WHERE place > (SELECT coalesce(min(place), 0) FROM outboxReader)
                    """)
            return Set(try ids.map { try TrackableID($0) })
        }
    }

    /// Removes from the outbox the messages of a trackable that are older than a time, within a transaction.
    package static func remove(_ id: TrackableID, before time: UnixTime, from db: GatewayTransaction) throws {
        try db.execute(
            sql: "DELETE FROM outbox WHERE trackable = ? AND time < ?", arguments: [id.rawValue, time.seconds])
    }

    /// Adds messages to the outbox, within a transaction. Skips a message if the outbox remembers that a message of the
    /// same record was added: in the last ``maximumAge``, and among the last ``maximumCount`` records.
    package static func add(_ drafts: [Draft], to db: GatewayTransaction) throws {
        for draft in drafts where try Self.isNew(draft, db) {
            try db.execute(
                sql: """
                    INSERT INTO outbox(trackable, kind, isOwn, time, payload, base)
                    VALUES(?, ?, ?, ?, ?, (SELECT value FROM outboxBase))
                    """,
                arguments: [
                    draft.trackable.rawValue, draft.kind.rawValue, draft.isOwn, draft.time.seconds, draft.payload,
                ])
        }
    }

    /// Returns `true` if the message has no record, or if no message of the same record is remembered as added to the
    /// outbox. Remembers the record as added.
    private static func isNew(_ draft: Draft, _ db: GatewayTransaction) throws -> Bool {
        guard let record = draft.record else { return true }
        try db.execute(
            sql: """
                INSERT INTO outboxRecord(trackable, kind, stream, seq, time) SELECT ?1, ?2, ?3, ?4, ?5
                WHERE NOT EXISTS (
                    SELECT 1 FROM outboxRecord WHERE trackable = ?1 AND kind = ?2 AND stream = ?3 AND seq = ?4)
                """,
            arguments: [
                draft.trackable.rawValue, draft.kind.rawValue, record.stream.rawValue, Int64(clamping: record.seq),
                draft.time.seconds,
            ])
        return db.changesCount > 0
    }

    /// Removes all messages of a trackable from the outbox, within a transaction.
    package static func remove(_ id: TrackableID, from db: GatewayTransaction) throws {
        try db.execute(sql: "DELETE FROM outbox WHERE trackable = ?", arguments: [id.rawValue])
    }

    private static func entry(_ row: GatewayRow) throws -> Entry {
        let (place, base): (Int64, Int64) = (row[0], row[6])
        return Entry(
            place: place, id: base + place, trackable: try TrackableID(row[1]),
            kind: Kind(rawValue: row[2]) ?? .event, isOwn: row[3], time: UnixTime(row[4]), payload: row[5])
    }
}
