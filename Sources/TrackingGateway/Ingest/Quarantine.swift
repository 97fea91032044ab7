package import TrackingCore
package import TrackingRules
import TrackingStore

/// The quarantine: the invalid pieces of requests, stored in the gateway's database for an operator to inspect. Their
/// number is limited. If a piece arrives again, only its counter increases.
package struct Quarantine: Sendable {
    private let database: GatewayDatabase

    /// The largest number of quarantined pieces of one trackable: 1,000. When more arrive, the oldest are removed.
    package static let maximumOfTrackable = 1000
    /// The largest number of quarantined pieces of all trackables together: 10,000. When more arrive, the oldest are
    /// removed.
    package static let maximum = 10_000

    static let migrations = [
        GatewayDatabase.Migration(
            "clients-1",
            [
                """
                CREATE TABLE refused (number INTEGER PRIMARY KEY, trackable TEXT NOT NULL, digest BLOB NOT NULL, \
                client TEXT NOT NULL, reason TEXT NOT NULL, bytes BLOB NOT NULL, first REAL NOT NULL, \
                last REAL NOT NULL, times INTEGER NOT NULL, UNIQUE (trackable, digest)) STRICT
                """
            ])
    ]

    /// An invalid piece of a phone's request in the quarantine: its bytes, the reason, and the times of its arrival.
    package struct Entry: Hashable, Sendable {
        /// The number of the quarantined piece, an invalid part of a phone's request. A piece that is added later has a
        /// greater number.
        package let number: Int64
        /// The trackable of the phone's request that contained the quarantined piece.
        package let trackable: String
        /// The `User-Agent` of the program whose request first contained the quarantined piece.
        package let client: String
        /// The reason for which the gateway rejected the quarantined piece as invalid.
        package let reason: String
        /// The bytes of the quarantined piece, at most the first 4,096.
        package let bytes: [UInt8]
        /// The time at which the quarantined piece arrived for the first time.
        package let first: UnixTime
        /// The time at which the quarantined piece arrived most recently.
        package let last: UnixTime
        /// The number of requests in which the same quarantined piece arrived.
        package let times: Int
    }

    /// Creates access to the quarantine in a gateway's database.
    package init(database: GatewayDatabase) { self.database = database }

    /// Adds invalid pieces of a request to the quarantine, at most the first ``maximumOfTrackable``. They are durable
    /// when the function returns.
    ///
    /// - Parameters:
    ///   - pieces: The invalid pieces.
    ///   - trackable: The trackable of the request.
    ///   - client: The name of the program that sent the request.
    ///   - time: The time of arrival.
    /// - Throws: `storeFailed`, `storeUnusable`.
    package func add(
        _ pieces: [RefusedPiece], of trackable: TrackableID, from client: String, at time: UnixTime
    ) async throws(TrackingError) {
        guard !pieces.isEmpty else { return }
        let id = trackable.rawValue
        try await self.database.write { db in
            for piece in pieces.prefix(Self.maximumOfTrackable) {
                try db.execute(
                    sql: """
                        INSERT INTO refused (trackable, digest, client, reason, bytes, first, last, times) \
                        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, 1) ON CONFLICT (trackable, digest) \
                        DO UPDATE SET times = refused.times + 1, last = \
                        CASE WHEN refused.last > excluded.last THEN refused.last ELSE excluded.last END
                        """,
                    arguments: [
                        id, Array(ContentSum(of: piece.reason, piece.bytes).bytes.prefix(16)), client, piece.reason,
                        piece.bytes, time.seconds,
                    ])
            }
            try db.execute(
                sql: """
                    DELETE FROM refused WHERE trackable = ?1 AND number <= \
                    (SELECT number FROM refused WHERE trackable = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
                    """, arguments: [id, Self.maximumOfTrackable])
            try db.execute(
                sql: """
                    DELETE FROM refused WHERE number <= \
                    (SELECT number FROM refused ORDER BY number DESC LIMIT 1 OFFSET ?)
                    """, arguments: [Self.maximum])
        }
    }

    /// The functions with which the erasure of records includes the quarantine. One lists the trackables with
    /// quarantined pieces, and the other removes the pieces of an erased trackable.
    static let erasable = ErasableRecords(
        trackables: { db in
            Set(try String.fetchAll(db, sql: "SELECT DISTINCT trackable FROM refused").map { try TrackableID($0) })
        },
        remove: { try Quarantine.remove($0, before: $1, from: $2) })

    /// Removes quarantined pieces of a trackable from the gateway's database, within a transaction: those that last
    /// arrived before `time`, or all of them (`nil`). The pieces may contain positions that are being erased.
    static func remove(_ id: TrackableID, before time: UnixTime? = nil, from db: GatewayTransaction) throws {
        try db.execute(
            sql: "DELETE FROM refused WHERE trackable = ? AND last < ?",
            arguments: [id.rawValue, time?.seconds ?? .infinity])
    }

    /// Returns the quarantined pieces with the highest numbers below a number, the newest first.
    ///
    /// - Parameters:
    ///   - limit: The largest number of pieces.
    ///   - number: The pieces have lower numbers than this one.
    /// - Throws: `storeFailed`, `storeUnusable`.
    package func entries(
        limit: Int, below number: Int64 = .max
    ) async throws(TrackingError) -> [Entry] {
        try await self.database.read { db in
            try GatewayRow.fetchAll(
                db, sql: "SELECT * FROM refused WHERE number < ? ORDER BY number DESC LIMIT ?",
                arguments: [number, limit]
            ).map { row in
                Entry(
                    number: row["number"], trackable: row["trackable"], client: row["client"], reason: row["reason"],
                    bytes: row["bytes"], first: UnixTime(row["first"]),
                    last: UnixTime(row["last"]),
                    times: row["times"])
            }
        }
    }
}
