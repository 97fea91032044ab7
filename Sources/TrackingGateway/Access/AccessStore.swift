package import TrackingCore
package import TrackingRules
import TrackingStore

/// Stores the tokens, share links and sessions of a gateway in its database. Checking a secret takes the same steps and
/// the same time whether it is valid or not: one hash, one database query and one comparison.
package struct AccessStore: Sendable {
    private let database: GatewayDatabase
    /// The person or program that the audit names as the author of the changes.
    private let actor: AuditActor

    /// Creates access to the tokens, share links and sessions in a gateway's database.
    ///
    /// - Parameter actor: The person or program that makes the changes, for the audit.
    package init(_ database: GatewayDatabase, by actor: AuditActor = .commandLine) {
        self.database = database
        self.actor = actor
    }

    /// Returns a store of the same database whose changes the audit attributes to another person or program.
    package func acting(as actor: AuditActor) -> AccessStore { AccessStore(self.database, by: actor) }

    // MARK: - Callers

    /// Returns the caller with a token or the secret of a share link; `nil` if the secret is invalid, not valid yet,
    /// expired or revoked, or a one-time token that was used.
    ///
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    package func caller(presenting text: String, now: UnixTime) async throws(TrackingError) -> Caller? {
        try await self.caller(
            presenting: text,
            sql: """
                SELECT \(Self.columns), t.hash AS kept FROM token t \
                WHERE t.lookup = ? AND coalesce(t.once, '') <> '\(AccessGrant.Once.used.rawValue)'
                """, now: now)
    }

    /// Returns the caller for a session's secret; `nil` if there is no such session, or if the session or its token has
    /// expired or was revoked.
    ///
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    package func caller(ofSession text: String, now: UnixTime) async throws(TrackingError) -> Caller? {
        var caller = try await self.caller(
            presenting: text,
            sql: """
                SELECT \(Self.columns), s.hash AS kept FROM session s JOIN token t ON t.number = s.token \
                WHERE s.lookup = ? AND s.ends > \(now.seconds)
                """, now: now)
        caller?.session = SecretHash(of: text).lookup
        return caller
    }

    /// The validity of a caller's access: valid as before, valid for other trackables than before, or over.
    enum Validity: Hashable, Sendable {
        /// The access was revoked or has expired, or its session was ended.
        case over
        /// The access is valid, but the members of a group have changed. The value is the set of trackables that the
        /// caller may now read, which differs from the earlier one.
        case changed(TrackableScope)
        /// The access is valid for the same trackables as before, until the given time; `nil` for no end.
        case valid(until: UnixTime?)
    }

    /// Returns `true` while the caller's grant and session are valid, and the caller may still read every trackable
    /// that it could read before. The code that writes a long answer calls this function repeatedly.
    ///
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    package func stillHolds(_ caller: Caller, now: UnixTime) async throws(TrackingError) -> Bool {
        switch try await self.validity(of: caller, now: now) {
        case .over: false
        case .changed(let reads): reads.includes(caller.reads)
        case .valid: true
        }
    }

    /// Returns the validity of the caller's grant and session. A caller without a stored grant is always valid.
    ///
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    func validity(of caller: Caller, now: UnixTime) async throws(TrackingError) -> Validity {
        guard let number = caller.grant else { return .valid(until: nil) }
        return try await self.database.read { db in
            guard let grant = try Self.grants(db, "t.number = ?", [number]).first,
                let present = try Self.caller(with: grant, at: now, db)
            else { return .over }
            guard present.reads == caller.reads else { return .changed(present.reads) }
            guard let session = caller.session else { return .valid(until: grant.ends) }
            let stored = try Double.fetchOne(
                db, sql: "SELECT ends FROM session WHERE lookup = ? AND token = ?", arguments: [session, number])
            guard let ends = stored, ends > now.seconds else { return .over }
            return .valid(until: min(grant.ends ?? UnixTime(ends), UnixTime(ends)))
        }
    }

    /// Returns the grant of a share link, also of one that has expired or was revoked; `nil` if there is no link with
    /// this secret.
    ///
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    func shareLink(presenting text: String) async throws(TrackingError) -> AccessGrant? {
        let hash = SecretHash(of: text)
        let sql = "SELECT \(Self.columns), t.hash AS kept FROM token t WHERE t.kind = 1 AND t.lookup = ?"
        return try await self.database.read { db in try Self.grant(with: hash, sql, db) }
    }

    private func caller(
        presenting text: String, sql: String, now: UnixTime
    ) async throws(TrackingError) -> Caller? {
        let hash = SecretHash(of: text)
        return try await self.database.read { db in
            try Self.grant(with: hash, sql, db).flatMap { try Self.caller(with: $0, at: now, db) }
        }
    }

    private static func grant(with hash: SecretHash, _ sql: String, _ db: GatewayTransaction) throws -> AccessGrant? {
        let row = try GatewayRow.fetchOne(db, sql: sql, arguments: [hash.lookup])
        let isTheOne = hash.matches(row.map { $0["kept"] as [UInt8] })
        let grant = row.map(AccessGrant.init)
        return isTheOne ? grant : nil
    }

    /// Returns the caller with a grant; `nil` if the grant is not valid at `now`. The caller may also read the present
    /// members of the grant's groups.
    private static func caller(with grant: AccessGrant, at now: UnixTime, _ db: GatewayTransaction) throws -> Caller? {
        guard var caller = grant.caller(at: now), case .only(let ids) = grant.reads, !grant.readGroups.isEmpty else {
            return grant.caller(at: now)
        }
        let names = grant.readGroups.sorted()
        let marks = names.map { _ in "?" }.joined(separator: ", ")
        let members = try String.fetchAll(
            db, sql: "SELECT DISTINCT trackable FROM trackableGroup WHERE name IN (\(marks))",
            arguments: names)
        caller.reads = .only(ids.union(try members.map { try TrackableID($0) }))
        return caller
    }

    // MARK: - Tokens and share links

    /// Creates a token with the given permissions, and stores its hash and its permissions. An expired token of the same
    /// name is revoked.
    ///
    /// - Parameter grant: The permissions of the token. Its validity begins now.
    /// - Returns: The token, which the gateway does not store.
    /// - Throws: `invalidConfiguration` when a valid token of this name exists; `storeFailed` or, for a damaged database,
    ///   `storeUnusable`.
    package func makeToken(_ grant: AccessGrant) async throws(TrackingError) -> AccessSecret {
        guard try await self.freeName(of: grant) else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot create the token: there is a token '\(grant.name)' already. Use another name, or revoke the existing token first"
            )
        }
        return try await self.make(grant, .token).secret
    }

    /// Revokes an expired token with the name of a new one.
    ///
    /// - Returns: `false` if a valid token has the name.
    private func freeName(of grant: AccessGrant) async throws(TrackingError) -> Bool {
        let actor = self.actor
        return try await self.database.write { db in
            let formers = try Self.grants(db, "t.kind = 0 AND t.revoked IS NULL AND t.name = ?", [grant.name])
            guard formers.allSatisfy({ $0.state(at: grant.begins) == .expired }) else { return false }
            for former in formers { try Self.revoke(former, .revokeToken, grant.begins, by: actor, db) }
            return true
        }
    }

    /// Creates a share link, which shows the live position of one trackable from `now` on.
    ///
    /// - Parameters:
    ///   - trackable: The trackable to show.
    ///   - now: The beginning of the link's validity.
    ///   - time: The duration of the link's validity.
    ///   - stop: The id of the stop of the journey whose arrival the link shows; `nil` for the last stop.
    /// - Returns: The secret of the link, which the gateway does not store.
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    package func share(
        _ trackable: TrackableID, from now: UnixTime, for time: Duration, stop: String? = nil
    ) async throws(TrackingError) -> AccessSecret {
        try await self.makeShare(of: trackable, from: now, for: time, stop: stop).secret
    }

    /// Creates a share link, as ``share(_:from:for:stop:)`` does, and returns its grant too.
    ///
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    package func makeShare(
        of trackable: TrackableID, from now: UnixTime, for time: Duration, stop: String? = nil
    ) async throws(TrackingError) -> (secret: AccessSecret, grant: AccessGrant) {
        var grant = AccessGrant(
            number: 0, kind: .share, name: "share of \(trackable.rawValue)", publishes: .only([]),
            reads: .only([trackable]), isAdmin: false, begins: now, ends: now.advanced(by: time))
        grant.stop = stop
        return try await self.make(grant, .share)
    }

    private func make(
        _ grant: AccessGrant, _ kind: AccessSecret.Kind
    ) async throws(TrackingError) -> (secret: AccessSecret, grant: AccessGrant) {
        var generator = SystemRandomNumberGenerator()
        let secret = AccessSecret(kind, using: &generator)
        let hash = SecretHash(of: secret.text)
        let actor = self.actor
        let stored = try await self.database.write { db in
            let number = try Int64.fetchOne(
                db,
                sql: """
                    INSERT INTO token (lookup, hash, kind, name, publishes, reads, admin, begins, ends, rate, body, \
                    readGroups, stop, once) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number
                    """,
                arguments: [
                    hash.lookup, Array(hash.bytes), grant.kind.rawValue, grant.name, grant.publishes.json,
                    grant.reads.json, grant.isAdmin, grant.begins.seconds, grant.ends?.seconds,
                    grant.limits.requestsPerSecond, grant.limits.bodyBytes, grant.groupsJSON, grant.stop,
                    grant.once?.rawValue,
                ])
            var stored = grant
            stored.number = number ?? 0
            try AuditLog.add(kind == .share ? .createShare : .createToken, stored.object, by: actor, to: db)
            return stored
        }
        return (secret, stored)
    }

    /// Returns share links, the newest first. Expired and revoked ones are included.
    ///
    /// - Parameters:
    ///   - trackable: The trackable that the links show; `nil` for the links of all trackables.
    ///   - number: The links have lower numbers than this one.
    ///   - limit: The largest number of links.
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    package func shares(
        of trackable: TrackableID?, below number: Int64 = .max, limit: Int
    ) async throws(TrackingError) -> [AccessGrant] {
        let reads = trackable.map { TrackableScope.only([$0]).json }
        return try await self.database.read { db in
            try GatewayRow.fetchAll(
                db,
                sql: """
                    SELECT \(Self.columns) FROM token t WHERE t.kind = 1 AND t.number < ?1 \
                    AND t.reads = coalesce(?2, t.reads) ORDER BY t.number DESC LIMIT ?3
                    """, arguments: [number, reads, limit]
            ).map(AccessGrant.init)
        }
    }

    /// Returns the grants of all tokens, or of all share links, in order of creation. Expired and revoked ones are
    /// included.
    ///
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    package func grants(_ kind: AccessGrant.Kind) async throws(TrackingError) -> [AccessGrant] {
        try await self.database.read { db in try Self.grants(db, "t.kind = ?", [kind.rawValue]) }
    }

    /// Revokes the token of this name. From now on the token and all sessions that were signed in with it are invalid.
    ///
    /// - Returns: `true` if there was such a token that was not revoked yet.
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    package func revokeToken(_ name: String, now: UnixTime) async throws(TrackingError) -> Bool {
        try await self.revoke(.revokeToken, "t.kind = 0 AND t.name = ?", [name], now)
    }

    /// Revokes the share link of this number. From now on the link and all sessions that were signed in with it are
    /// invalid.
    ///
    /// - Returns: `true` if there was a share link of this number that was not revoked yet.
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    package func revokeShare(_ number: Int64, now: UnixTime) async throws(TrackingError) -> Bool {
        try await self.revoke(.revokeShare, "t.kind = 1 AND t.number = ?", [number], now)
    }

    private func revoke(
        _ action: AuditLog.Action, _ condition: String, _ value: [(any GatewayValueConvertible)?], _ now: UnixTime
    ) async throws(TrackingError) -> Bool {
        let actor = self.actor
        return try await self.database.write { db in
            let grants = try Self.grants(db, "t.revoked IS NULL AND \(condition)", value)
            for grant in grants { try Self.revoke(grant, action, now, by: actor, db) }
            return !grants.isEmpty
        }
    }

    private static func revoke(
        _ grant: AccessGrant, _ action: AuditLog.Action, _ now: UnixTime, by actor: AuditActor, _ db: GatewayTransaction
    ) throws {
        try db.execute(sql: "UPDATE token SET revoked = ? WHERE number = ?", arguments: [now.seconds, grant.number])
        try AuditLog.add(action, grant.object, by: actor, to: db)
    }

    private static let columns =
        """
        t.number, t.kind, t.name, t.publishes, t.reads, t.admin, t.begins, t.ends, t.revoked, t.rate, t.body, \
        t.readGroups, t.stop, t.once
        """

    private static func grants(
        _ db: GatewayTransaction, _ condition: String, _ arguments: [(any GatewayValueConvertible)?]
    ) throws -> [AccessGrant] {
        try GatewayRow.fetchAll(
            db, sql: "SELECT \(self.columns) FROM token t WHERE \(condition) ORDER BY t.number", arguments: arguments
        ).map(AccessGrant.init)
    }

    // MARK: - Sessions

    /// The longest duration of a session: 30 days. A session never outlives its token.
    package static let longestSession = Duration.seconds(30 * 86_400)
    /// The largest number of sessions of one token. If a token has more, those with the earliest end are deleted.
    private static let maximumSessions = 100

    /// Begins a session for a caller who presented a token or the secret of a share link.
    ///
    /// - Returns: The session's secret, and the duration of the session.
    /// - Throws: `notAuthorized` if the caller's one-time token has begun a session already; `storeFailed` or, for a
    ///   damaged database, `storeUnusable`.
    package func beginSession(
        _ caller: Caller, now: UnixTime
    ) async throws(TrackingError) -> (secret: AccessSecret, time: Duration) {
        var generator = SystemRandomNumberGenerator()
        let secret = AccessSecret(.session, using: &generator)
        let hash = SecretHash(of: secret.text)
        let (number, isOnce) = (caller.grant, caller.isOnce)
        let last = now.advanced(by: Self.longestSession)
        let ends = try await self.database.write { db in
            if isOnce { try Self.use(number, db) }
            let ends = try Double.fetchOne(db, sql: "SELECT ends FROM token WHERE number = ?", arguments: [number])
            let end = min(ends ?? .infinity, last.seconds)
            try db.execute(sql: "DELETE FROM session WHERE ends <= ?", arguments: [now.seconds])
            try db.execute(
                sql: "INSERT INTO session (lookup, hash, token, ends) VALUES (?, ?, ?, ?)",
                arguments: [hash.lookup, Array(hash.bytes), number, end])
            try db.execute(
                sql: """
                    DELETE FROM session WHERE token = ?1 AND lookup NOT IN \
                    (SELECT lookup FROM session WHERE token = ?1 ORDER BY ends DESC, lookup = ?2 DESC LIMIT ?3)
                    """, arguments: [number, hash.lookup, Self.maximumSessions])
            return end
        }
        return (secret, UnixTime(ends).since(now))
    }

    /// Marks a one-time token as used.
    ///
    /// - Throws: `notAuthorized` if the token was used already, also by a request at the same time.
    private static func use(_ number: Int64?, _ db: GatewayTransaction) throws {
        try db.execute(
            sql: "UPDATE token SET once = ? WHERE number = ? AND once = ?",
            arguments: [AccessGrant.Once.used.rawValue, number, AccessGrant.Once.unused.rawValue])
        guard db.changesCount > 0 else {
            throw TrackingError(.notAuthorized, "cannot sign in: the one-time token was used already")
        }
    }

    /// Ends the session with this secret. Does nothing if there is no such session.
    ///
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`.
    package func endSession(_ text: String) async throws(TrackingError) {
        let hash = SecretHash(of: text)
        try await self.database.write { db in
            try db.execute(
                sql: "DELETE FROM session WHERE lookup = ? AND hash = ?", arguments: [hash.lookup, Array(hash.bytes)])
        }
    }
}

extension AccessGrant {
    /// Creates a grant from a row of the database table `token`.
    fileprivate init(_ row: GatewayRow) {
        self.init(
            number: row["number"], kind: Kind(rawValue: row["kind"]) ?? .share, name: row["name"],
            publishes: TrackableScope(json: row["publishes"]), reads: TrackableScope(json: row["reads"]),
            isAdmin: row["admin"],
            limits: TokenLimits(requestsPerSecond: row["rate"], bodyBytes: row["body"]),
            begins: UnixTime(row["begins"]), ends: (row["ends"] as Double?).map { UnixTime($0) },
            revoked: (row["revoked"] as Double?).map { UnixTime($0) })
        self.readGroups = Self.groups(json: row["readGroups"])
        self.stop = row["stop"]
        self.once = (row["once"] as String?).flatMap { Once(rawValue: $0) }
    }

    /// The text that names the grant in an entry of the audit: the name of a token, or the number and the trackable of
    /// a share link.
    fileprivate var object: String {
        self.kind == .token ? self.name : "\(self.number) of \(self.reads.description)"
    }

    /// The names of the grant's groups as JSON text, as it is stored in the database; `nil` if the grant has no groups.
    fileprivate var groupsJSON: String? {
        guard !self.readGroups.isEmpty else { return nil }
        let names = self.readGroups.sorted().map { JSONValue.text($0) }
        return String(decoding: JSONValue.list(names).json, as: UTF8.self)
    }

    /// Reads the names of a grant's groups from the JSON text that the database stores. Invalid text gives no groups,
    /// which allows nothing.
    private static func groups(json: String?) -> Set<String> {
        let list = json.flatMap { try? JSONValue(json: $0.utf8) }?.list
        return Set(list?.compactMap(\.text) ?? [])
    }
}
