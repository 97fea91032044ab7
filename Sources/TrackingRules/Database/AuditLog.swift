package import TrackingCore
import TrackingRuntime
package import TrackingStore

/// The person or program that changes the data of a gateway, or sends a command to a device.
package struct AuditActor: Hashable, Sendable {
    /// The name of the token with which the change was made, or `command line`.
    package var name: String
    /// The number of the token with which the change was made; `nil` for a change by a command of `godwit`.
    package var token: Int64?
    /// The IP address of the client that made the change; `nil` for a change by a command of `godwit`.
    package var address: String?

    /// Creates the actor of a change from the name and the number of a token, and the address of the client.
    package init(name: String, token: Int64? = nil, address: String? = nil) {
        self.name = name
        self.token = token
        self.address = address
    }

    /// The actor for changes that a command of `godwit` makes on the machine of the gateway.
    package static let commandLine = AuditActor(name: "command line")
}

/// The audit of a gateway: the changes that administrators made and the commands that they sent, with the person, the
/// time and the address.
///
/// An entry is written in the transaction of its change, so that neither exists without the other. An entry contains no
/// secrets and no coordinates. The number of entries is limited; the oldest are removed.
package struct AuditLog: Sendable {
    /// The kind of a change. Its raw value is the text of the change for people.
    package enum Action: String, Hashable, Sendable, CaseIterable {
        case setFence = "set fence"
        case removeFence = "remove fence"
        case setRule = "set rule"
        case removeRule = "remove rule"
        case setLabel = "set label"
        case createToken = "create token"
        case revokeToken = "revoke token"
        case createShare = "create share link"
        case revokeShare = "revoke share link"
        case sendCommand = "send command"
        case setJourney = "set journey"
        case clearJourney = "clear journey"
        case issueCredential = "issue credential"
        case revokeCredential = "revoke credential"
    }

    /// An entry of the audit, which names one change of the gateway's data or one command to a device.
    package struct Entry: Hashable, Sendable {
        /// The number of the entry in the audit. A later entry has a greater number.
        package var number: Int64
        /// The time at which this entry of the audit was written, that of the change or the command.
        package var time: UnixTime
        /// The person or program that made the change, or sent the command.
        package var actor: AuditActor
        /// The kind of the change, as text for people. A newer version of Godwit may write other kinds.
        package var action: String
        /// The name of the object that was changed, such as the name of a fence.
        package var object: String
    }

    /// The largest number of entries in the audit. Each further entry replaces the oldest one.
    package static let maximum: Int64 = 100_000

    /// The migrations that create the table of the audit.
    package static let migrations = [
        GatewayDatabase.Migration(
            "audit-1",
            [
                """
                CREATE TABLE audit(
                    number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, name TEXT NOT NULL, token INTEGER,
                    address TEXT, action TEXT NOT NULL, object TEXT NOT NULL) STRICT
                """
            ])
    ]

    private let database: GatewayDatabase

    /// Creates access to the audit in a gateway's database.
    package init(_ database: GatewayDatabase) { self.database = database }

    /// Writes an entry to the audit, within the database transaction of the change, and removes the oldest entry if
    /// there are too many.
    ///
    /// - Parameters:
    ///   - action: The kind of the change.
    ///   - object: The changed object, without secrets and coordinates.
    ///   - actor: The person or program that makes the change.
    package static func add(_ action: Action, _ object: String, by actor: AuditActor, to db: GatewayTransaction) throws
    {
        let number = try Int64.fetchOne(
            db,
            sql: """
                INSERT INTO audit(time, name, token, address, action, object) VALUES(?, ?, ?, ?, ?, ?) RETURNING number
                """,
            arguments: [
                DeviceClock.wall.seconds, actor.name, actor.token, actor.address, action.rawValue, object,
            ])
        try db.execute(sql: "DELETE FROM audit WHERE number <= ?", arguments: [(number ?? 0) - Self.maximum])
    }

    /// Writes an entry to the audit about an action that changes no row of the database, such as a command to a device.
    /// Call this function before the action.
    ///
    /// - Throws: `storeFailed`, `storeUnusable`; the action must then not be performed.
    package func add(_ action: Action, _ object: String, by actor: AuditActor) async throws(TrackingError) {
        try await self.database.write { db in try Self.add(action, object, by: actor, to: db) }
    }

    /// Returns a page of the audit's entries, the oldest first.
    ///
    /// - Parameters:
    ///   - time: The time from which entries are returned; `nil` for all.
    ///   - number: The number of the last entry of the page before; 0 for the first page.
    ///   - limit: The largest number of entries.
    /// - Throws: `storeFailed`, `storeUnusable`.
    package func entries(
        since time: UnixTime? = nil, after number: Int64 = 0, limit: Int = 1000
    ) async throws(TrackingError) -> [Entry] {
        try await self.database.read { db in
            try GatewayRow.fetchAll(
                db, sql: "SELECT * FROM audit WHERE number > ? AND time >= ? ORDER BY number LIMIT ?",
                arguments: [number, time?.seconds ?? -.infinity, limit]
            ).map { row in
                Entry(
                    number: row["number"], time: UnixTime(row["time"]),
                    actor: AuditActor(name: row["name"], token: row["token"], address: row["address"]),
                    action: row["action"], object: row["object"])
            }
        }
    }
}
