package import TrackingCore

/// The short-lived right of an app to watch some trackables at the broker, as the gateway stores it: without its
/// password.
package struct AppCredential: Hashable, Sendable {
    /// The way in which the broker checks a credential.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A client of Mosquitto's dynamic security plugin, which exists until the credential is withdrawn.
        case dynamicSecurity = "dynsec"
        /// A JSON Web Token, which the broker accepts until it expires.
        case token = "jwt"
    }

    /// The validity of a credential: valid, expired or revoked.
    package enum State: String, Sendable {
        case valid, expired, revoked
    }

    /// The work that a credential requires at the broker.
    package enum Work: Hashable, Sendable {
        /// The credential is withdrawn, or must stay; the next work is due at the given time, if there is one.
        case none(until: UnixTime?)
        /// The credential must be withdrawn now, and never again.
        case withdraw
        /// The connections of the credential must be closed now, and again at the given time, because the broker still
        /// accepts the token.
        case closeConnections(again: UnixTime)
    }

    /// The id of the credential, which is also its user name and the client id of the app's connection.
    package var id: ClientID
    /// The way in which the broker checks the credential.
    package var kind: Kind
    /// The trackables that the app may watch.
    package var reads: [TrackableID]
    /// The time at which the credential was issued.
    package var begins: UnixTime
    /// The time at which the credential expires, in whole seconds.
    package var ends: UnixTime
    /// The time at which the credential was revoked; `nil` if it was not.
    package var revoked: UnixTime?
    /// The time at which the credential was withdrawn from the broker; `nil` before.
    package var withdrawn: UnixTime?

    /// The time for which the connections of an expired token are closed, because the clock of the broker may be behind.
    static let grace = Duration.seconds(2)
    /// The time between two closings of the connections of a token that was revoked.
    static let pause = Duration.seconds(1)

    /// Creates a credential that is valid from `begins` on for at least the given time.
    package init(id: ClientID, kind: Kind, reads: [TrackableID], begins: UnixTime, for time: Duration) {
        self.id = id
        self.kind = kind
        self.reads = reads
        self.begins = begins
        self.ends = UnixTime(begins.advanced(by: time).seconds.rounded(.up))
    }

    /// Returns the validity of the credential at a moment.
    package func state(at now: UnixTime) -> State {
        if self.revoked != nil { return .revoked }
        return self.ends <= now ? .expired : .valid
    }

    /// Returns the work that the credential requires at a moment.
    package func work(at now: UnixTime) -> Work {
        guard self.withdrawn == nil else { return .none(until: nil) }
        guard self.state(at: now) != .valid else { return .none(until: self.ends) }
        guard self.kind == .token, now < self.ends.advanced(by: Self.grace) else { return .withdraw }
        return .closeConnections(again: now.advanced(by: Self.pause))
    }

    /// The members of the credential in answers of the HTTP API and in lists, without a password.
    package func members(at now: UnixTime) -> [String: JSONValue] {
        [
            "id": .text(self.id.description), "issuer": .text(self.kind.rawValue),
            "read": .list(self.reads.map { .text($0.rawValue) }), "begins": .number(self.begins.seconds),
            "expires": .number(self.ends.seconds), "state": .text(self.state(at: now).rawValue),
        ]
    }
}

/// A request for a credential: the trackables to watch, and the lifetime.
package struct CredentialRequest: Hashable, Sendable {
    /// The trackables that the app may watch, sorted and without duplicates.
    package let reads: [TrackableID]
    /// The lifetime of the credential.
    package let time: Duration

    /// The largest number of trackables of one credential.
    package static let maximumTrackables = 20
    /// The longest lifetime of a credential: one day.
    package static let longest = Duration.seconds(86_400)

    /// Checks the trackables and the lifetime of a requested credential.
    ///
    /// - Throws: `invalidConfiguration` for no or too many trackables, or a lifetime outside of 1 s to one day;
    ///   `invalidName` for an invalid id.
    package init(reads: [String], for time: Duration) throws(TrackingError) {
        var ids: Set<TrackableID> = []
        for text in reads.prefix(Self.maximumTrackables + 1) { ids.insert(try TrackableID(text)) }
        guard !reads.isEmpty, reads.count <= Self.maximumTrackables else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot issue a credential for \(reads.count) trackables: give 1 to \(Self.maximumTrackables). Issue several credentials for more"
            )
        }
        guard (.seconds(1)...Self.longest).contains(time) else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot issue a credential for \(time.components.seconds) s: its lifetime must be 1 to 86400 s")
        }
        self.reads = ids.sorted()
        self.time = time
    }
}

/// A credential that was issued just now, with its password. The password is shown once, and not stored.
package struct IssuedCredential: Sendable {
    /// The stored part of the credential, without the password.
    package let credential: AppCredential
    /// The password of the credential; a JSON Web Token for the issuer `jwt`.
    package let password: String
    /// The addresses of the broker for the app; empty if they are not known.
    package let broker: [String]

    /// The credential with its password as JSON.
    package var json: JSONValue {
        let id = JSONValue.text(self.credential.id.description)
        var members: [String: JSONValue] = [
            "id": id, "username": id, "clientID": id, "password": .text(self.password),
            "expires": .number(self.credential.ends.seconds),
            "read": .list(self.credential.reads.map { .text($0.rawValue) }),
        ]
        members["broker"] = self.broker.first.map { .text($0) }
        return .object(members)
    }
}
