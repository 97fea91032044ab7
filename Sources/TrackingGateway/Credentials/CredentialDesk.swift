package import TrackingCore
package import TrackingRules
import TrackingRuntime

/// Issues, revokes and withdraws the credentials of apps. The gateway and the commands `godwit credentials` use it.
package struct CredentialDesk: Sendable {
    let store: CredentialStore
    private let issuer: CredentialIssuer
    private let root: TopicRoot
    private let broker: [String]

    /// Creates a desk without credentials of its own; they are in the store.
    ///
    /// - Parameters:
    ///   - store: The credentials that were issued, without their passwords.
    ///   - issuer: The connection to the broker that checks the credentials.
    ///   - root: The topic root of the trackables.
    ///   - broker: The addresses of the broker for apps; empty if they are not known.
    package init(store: CredentialStore, issuer: CredentialIssuer, root: TopicRoot, broker: [String]) {
        self.store = store
        self.issuer = issuer
        self.root = root
        self.broker = broker
    }

    /// Issues a credential. It is stored first, so that it is withdrawn also after a failure or a restart.
    ///
    /// - Throws: `overloaded` if too many credentials are valid; the errors of the issuer and of the store.
    package func issue(
        _ request: CredentialRequest, now: UnixTime, by actor: AuditActor
    ) async throws(TrackingError) -> IssuedCredential {
        var generator = SystemRandomNumberGenerator()
        let name = "app-\(UUIDText.random(using: &generator).filter { $0 != "-" }.prefix(20))"
        let credential = AppCredential(
            id: try ClientID(name), kind: self.issuer.kind, reads: request.reads, begins: now, for: request.time)
        guard try await self.store.add(credential, by: actor) else {
            throw TrackingError(
                .overloaded,
                "cannot issue a credential: \(CredentialStore.maximumValid) credentials are valid. Revoke some, or wait until they expire"
            )
        }
        let begin = DeviceClock.now
        do throws(TrackingError) {
            let password = try await self.issuer.issue(credential, root: self.root)
            // A credential that ended meanwhile may have been withdrawn before the broker added it.
            let end = now.advanced(by: begin.duration(to: DeviceClock.now))
            guard try await self.store.isValid(credential.id, at: end) else {
                try await self.issuer.withdraw([credential.id])
                throw TrackingError(
                    .brokerUnreachable,
                    "cannot issue a credential: it ended before the broker had added it. Request a longer lifetime, or check the connection to the broker"
                )
            }
            return IssuedCredential(credential: credential, password: password, broker: self.broker)
        } catch {
            _ = try? await self.store.revoke(name, now: now, by: actor)
            throw error
        }
    }

    /// Revokes a credential, and ends its connections.
    ///
    /// - Returns: `false` if no valid credential has this id.
    /// - Throws: The errors of the store; the errors of the issuer, which ``withdraw(now:)`` then tries again.
    package func revoke(_ id: String, now: UnixTime, by actor: AuditActor) async throws(TrackingError) -> Bool {
        guard try await self.store.revoke(id, now: now, by: actor) != nil else { return false }
        _ = try await self.withdraw(now: now)
        return true
    }

    /// Withdraws the credentials that have expired or were revoked.
    ///
    /// - Returns: The time of the next call; `nil` if no credential requires one.
    /// - Throws: The errors of the store and of the issuer. A later call tries again.
    @discardableResult
    package func withdraw(now: UnixTime) async throws(TrackingError) -> UnixTime? {
        var (ended, closing, next): ([ClientID], [ClientID], UnixTime?) = ([], [], nil)
        for credential in try await self.store.open(self.issuer.kind) {
            let time: UnixTime?
            switch credential.work(at: now) {
            case .none(let until): time = until
            case .withdraw:
                ended.append(credential.id)
                time = nil
            case .closeConnections(let again):
                closing.append(credential.id)
                time = again
            }
            if let time { next = min(next ?? time, time) }
        }
        guard !ended.isEmpty || !closing.isEmpty else { return next }
        try await self.issuer.withdraw(ended + closing)
        try await self.store.setWithdrawn(ended, now: now)
        return next
    }
}
