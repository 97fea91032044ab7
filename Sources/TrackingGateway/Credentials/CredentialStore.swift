package import TrackingCore
package import TrackingRules
import TrackingStore

/// Stores the credentials of apps in the gateway's database, without their passwords. Credentials of a gateway that
/// ended are found after its restart, and withdrawn when they end.
package struct CredentialStore: Sendable {
    private let database: GatewayDatabase

    /// The largest number of credentials that are valid at the same time.
    package static let maximumValid = 1000
    /// The time for which a credential is listed after its end.
    private static let memory = Duration.seconds(7 * 86_400)

    static let migrations = [
        GatewayDatabase.Migration(
            "credentials-1",
            [
                """
                CREATE TABLE credential (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, \
                kind TEXT NOT NULL, reads TEXT NOT NULL, begins REAL NOT NULL, ends REAL NOT NULL, revoked REAL, \
                withdrawn REAL) STRICT
                """,
                "CREATE INDEX credential_open ON credential (ends) WHERE withdrawn IS NULL",
            ])
    ]

    /// Creates access to the credentials in a gateway's database.
    package init(_ database: GatewayDatabase) { self.database = database }

    /// Returns a stream that yields after each change of the gateway's database.
    func changes() -> AsyncStream<Void> { self.database.changes() }

    /// Stores a credential and an entry of the audit, and removes credentials that ended long ago.
    ///
    /// - Returns: `false` if too many credentials are valid already. Nothing is stored then.
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    func add(_ credential: AppCredential, by actor: AuditActor) async throws(TrackingError) -> Bool {
        try await self.database.write { db in
            let now = credential.begins
            let count = try Int.fetchOne(
                db, sql: "SELECT count(*) FROM credential WHERE withdrawn IS NULL AND revoked IS NULL AND ends > ?",
                arguments: [now.seconds])
            guard count ?? 0 < Self.maximumValid else { return false }
            try db.execute(
                sql: "DELETE FROM credential WHERE withdrawn IS NOT NULL AND ends < ?",
                arguments: [now.advanced(by: .zero - Self.memory).seconds])
            try db.execute(
                sql: "INSERT INTO credential (id, kind, reads, begins, ends) VALUES (?, ?, ?, ?, ?)",
                arguments: [
                    credential.id.description, credential.kind.rawValue,
                    TrackableScope.only(Set(credential.reads)).json,
                    credential.begins.seconds, credential.ends.seconds,
                ])
            try AuditLog.add(.issueCredential, credential.object, by: actor, to: db)
            return true
        }
    }

    /// Returns the newest credentials, the newest first. Expired and revoked ones are included.
    ///
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    package func newest(limit: Int = 1000) async throws(TrackingError) -> [AppCredential] {
        try await self.database.read { db in
            try GatewayRow.fetchAll(
                db, sql: "SELECT * FROM credential ORDER BY number DESC LIMIT ?", arguments: [limit]
            )
            .compactMap(AppCredential.init)
        }
    }

    /// Returns the credentials of one kind that were not withdrawn from the broker yet. Those that end first come first.
    ///
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    func open(_ kind: AppCredential.Kind) async throws(TrackingError) -> [AppCredential] {
        try await self.database.read { db in
            try GatewayRow.fetchAll(
                db, sql: "SELECT * FROM credential WHERE withdrawn IS NULL AND kind = ? ORDER BY ends",
                arguments: [kind.rawValue]
            ).compactMap(AppCredential.init)
        }
    }

    /// Revokes a credential, and writes an entry of the audit. The broker may accept the credential until it is
    /// withdrawn there.
    ///
    /// - Returns: The revoked credential; `nil` if no valid credential has this id.
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    package func revoke(
        _ id: String, now: UnixTime, by actor: AuditActor
    ) async throws(TrackingError) -> AppCredential? {
        try await self.database.write { db in
            try db.execute(
                sql: "UPDATE credential SET revoked = ?1 WHERE id = ?2 AND revoked IS NULL AND ends > ?1",
                arguments: [now.seconds, id])
            guard db.changesCount == 1,
                let row = try GatewayRow.fetchOne(db, sql: "SELECT * FROM credential WHERE id = ?", arguments: [id]),
                let credential = AppCredential(row)
            else { return nil }
            try AuditLog.add(.revokeCredential, credential.object, by: actor, to: db)
            return credential
        }
    }

    /// Returns `true` if a credential is valid at a moment: it is stored, was not revoked, and has not expired.
    ///
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    func isValid(_ id: ClientID, at now: UnixTime) async throws(TrackingError) -> Bool {
        try await self.database.read { db in
            try Int.fetchOne(
                db, sql: "SELECT 1 FROM credential WHERE id = ? AND revoked IS NULL AND ends > ?",
                arguments: [id.description, now.seconds]) != nil
        }
    }

    /// Records that credentials were withdrawn from the broker.
    ///
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    func setWithdrawn(_ ids: [ClientID], now: UnixTime) async throws(TrackingError) {
        guard !ids.isEmpty else { return }
        try await self.database.write { db in
            for id in ids {
                try db.execute(
                    sql: "UPDATE credential SET withdrawn = ? WHERE id = ?", arguments: [now.seconds, id.description])
            }
        }
    }
}

extension AppCredential {
    /// The text that names the credential in an entry of the audit: its id and its trackables.
    fileprivate var object: String {
        "\(self.id) of \(self.reads.map(\.rawValue).joined(separator: ", "))"
    }

    /// Reads a credential from a row of the database table `credential`. `nil` for a row of another version of Godwit.
    fileprivate init?(_ row: GatewayRow) {
        guard let id = try? ClientID(row["id"] as String), let kind = Kind(rawValue: row["kind"]),
            case .only(let reads) = TrackableScope(json: row["reads"])
        else { return nil }
        self.init(id: id, kind: kind, reads: reads.sorted(), begins: UnixTime(row["begins"]), for: .zero)
        self.ends = UnixTime(row["ends"])
        self.revoked = (row["revoked"] as Double?).map { UnixTime($0) }
        self.withdrawn = (row["withdrawn"] as Double?).map { UnixTime($0) }
    }
}
