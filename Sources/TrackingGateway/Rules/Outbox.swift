package import GRDB
package import TrackingCore

/// What is to be told elsewhere, in order, until everyone who is to be told has been: each reader has a place of its own, which lasts
/// over restarts.
package struct Outbox: Sendable {
    /// What kind of message it is.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case event, trip, position
    }

    /// One message.
    package struct Entry: Hashable, Sendable {
        /// Where it stands in this file; later ones have higher places.
        package var place: Int64
        /// Names it for ever, whatever becomes of the file; later ones have higher ids.
        package var id: Int64
        /// Of which trackable.
        package var trackable: TrackableID
        /// What it is.
        package var kind: Kind
        /// Whether a rule of this gateway made it.
        package var isOwn: Bool
        /// When it came.
        package var time: UnixTime
        /// The protocol's payload.
        package var payload: String
    }

    /// A message that has no place yet.
    package struct Draft: Hashable, Sendable {
        package var trackable: TrackableID
        package var kind: Kind
        package var isOwn = false
        package var time: UnixTime
        package var payload: String
        /// The record that it tells, where that is to be told once; `nil` where it is told however often it comes.
        package var record: RecordName?
    }

    /// The most messages that are kept for readers that do not come to read, and for how long.
    package static let maximumCount: Int64 = 1_000_000
    package static let maximumAge: Duration = .seconds(7 * 86_400)
    /// The most bytes of their payloads that are kept, each with ``entryBytes`` more: 1 GiB.
    package static let maximumBytes: Int64 = 1 << 30
    /// The bytes of a message beside its payload, about.
    static let entryBytes = 256

    private let database: GatewayDatabase

    package init(_ database: GatewayDatabase) { self.database = database }

    /// Ids go on above all that were given, also where the file was put back to an earlier state: with the clock, in microseconds, as
    /// long as there were fewer than a million messages a second.
    package func beginRange(now: UnixTime) async throws(TrackingError) {
        let microseconds = Int64(max(0, min(now.seconds * 1e6, 4e15)))
        try await self.database.write { db in
            try db.execute(
                sql: """
                    UPDATE outboxBase SET value =
                    max(value, ? - coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0))
                    """, arguments: [microseconds])
        }
    }

    /// The streams of rules' events that a reader has not come to.
    func ownStreams(unreadBy reader: String) async throws(TrackingError) -> Set<StreamID> {
        try await self.database.read { db in
            let payloads = try String.fetchAll(
                db,
                sql: """
                    SELECT payload FROM outbox
                    WHERE isOwn AND place > (SELECT place FROM outboxReader WHERE name = ?)
                    """, arguments: [reader])
            return Set(payloads.compactMap { try? MessageCodec.decodeEvent($0.utf8).stream })
        }
    }

    /// Lets a reader begin where the outbox ends now, unless it has a place already.
    package func begin(_ reader: String) async throws(TrackingError) {
        try await self.database.write { db in
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO outboxReader(name, place)
                    SELECT ?, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0)
                    """, arguments: [reader])
        }
    }

    /// Forgets readers that nobody reads for any more: all but these.
    package func keep(readers: [String]) async throws(TrackingError) {
        try await self.database.write { db in
            for name in try String.fetchAll(db, sql: "SELECT name FROM outboxReader") where !readers.contains(name) {
                try db.execute(sql: "DELETE FROM outboxReader WHERE name = ?", arguments: [name])
            }
        }
    }

    /// The next messages of a reader, at most `limit` of some kinds, rules' alone or all, behind its place; and the place up to
    /// which it has then read.
    package func next(
        _ reader: String, kinds: Set<Kind>, ownAlone: Bool, limit: Int
    ) async throws(TrackingError) -> (entries: [Entry], through: Int64) {
        try await self.database.read { db in
            let place = try Int64.fetchOne(
                db, sql: "SELECT place FROM outboxReader WHERE name = ?", arguments: [reader])
            let names = kinds.map { "'\($0.rawValue)'" }.sorted().joined(separator: ",")
            let rows = try Row.fetchAll(
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

    /// A reader has told everything up to a place. Nothing is written where it was that far before.
    package func told(_ reader: String, through place: Int64) async throws(TrackingError) {
        let former = try await self.database.read { db in
            try Int64.fetchOne(db, sql: "SELECT place FROM outboxReader WHERE name = ?", arguments: [reader])
        }
        guard let former, former < place else { return }
        try await self.database.write { db in
            try db.execute(
                sql: "UPDATE outboxReader SET place = max(place, ?) WHERE name = ?", arguments: [place, reader])
        }
    }

    /// About how many messages a reader has not come to yet: those of kinds that it does not tell are among them.
    package func backlog(_ reader: String) async throws(TrackingError) -> Int64 {
        try await self.database.read { db in
            let place = try Int64.fetchOne(
                db, sql: "SELECT place FROM outboxReader WHERE name = ?", arguments: [reader])
            let last = try Int64.fetchOne(db, sql: "SELECT max(place) FROM outbox")
            guard let place, let last else { return 0 }
            return max(0, last - place)
        }
    }

    /// Removes what everyone has read, and what nobody came to read in time.
    ///
    /// - Returns: How many of the latter there were that some reader had not read.
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

    /// Removes the oldest messages, within a transaction, until at most so many bytes are left.
    ///
    /// - Returns: The number of removed messages that some reader had not read.
    package static func trim(toBytes most: Int64 = Self.maximumBytes, in db: Database) throws -> Int {
        let bytes = try Int64.fetchOne(db, sql: "SELECT bytes FROM outboxSize") ?? 0
        guard bytes > most else { return 0 }
        let read = try Int64.fetchOne(db, sql: "SELECT min(place) FROM outboxReader") ?? .max
        try db.execute(sql: "DELETE FROM outbox WHERE place <= ?", arguments: [read])
        let left = try Int64.fetchOne(db, sql: "SELECT bytes FROM outboxSize") ?? 0
        guard left > most else { return 0 }
        // A twentieth more, so that not each new message costs a look.
        let last = try Self.place(after: left - most + most / 20, in: db)
        try db.execute(sql: "DELETE FROM outbox WHERE place <= ?", arguments: [last])
        return db.changesCount
    }

    /// The place up to which the oldest messages take so many bytes.
    private static func place(after bytes: Int64, in db: Database) throws -> Int64 {
        let rows = try Row.fetchCursor(
            db, sql: "SELECT place, length(CAST(payload AS BLOB)) FROM outbox ORDER BY place")
        var (last, rest): (Int64, Int64) = (0, bytes)
        while rest > 0, let row = try rows.next() {
            let (place, size): (Int64, Int64) = (row[0], row[1])
            rest -= size + Int64(Self.entryBytes)
            last = place
        }
        return last
    }

    /// The trackables of messages that some reader has not come to.
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

    /// Removes what of a trackable came before a time, told or not, within a transaction.
    package static func remove(_ id: TrackableID, before time: UnixTime, from db: Database) throws {
        try db.execute(
            sql: "DELETE FROM outbox WHERE trackable = ? AND time < ?", arguments: [id.rawValue, time.seconds])
    }

    /// Adds messages, within a transaction; none of a record that was added within the last ``maximumAge``.
    package static func add(_ drafts: [Draft], to db: Database) throws {
        for draft in drafts where try Self.isNews(draft, db) {
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

    /// Whether nothing tells a draft's record yet; it counts as told then.
    private static func isNews(_ draft: Draft, _ db: Database) throws -> Bool {
        guard let record = draft.record else { return true }
        try db.execute(
            sql: "INSERT OR IGNORE INTO outboxRecord(trackable, kind, stream, seq, time) VALUES(?, ?, ?, ?, ?)",
            arguments: [
                draft.trackable.rawValue, draft.kind.rawValue, record.stream.rawValue, Int64(clamping: record.seq),
                draft.time.seconds,
            ])
        return db.changesCount > 0
    }

    /// Removes everything of a trackable, told or not, within a transaction.
    package static func remove(_ id: TrackableID, from db: Database) throws {
        try db.execute(sql: "DELETE FROM outbox WHERE trackable = ?", arguments: [id.rawValue])
    }

    private static func entry(_ row: Row) throws -> Entry {
        let (place, base): (Int64, Int64) = (row[0], row[6])
        return Entry(
            place: place, id: base + place, trackable: try TrackableID(row[1]),
            kind: Kind(rawValue: row[2]) ?? .event, isOwn: row[3], time: UnixTime(row[4]), payload: row[5])
    }
}
