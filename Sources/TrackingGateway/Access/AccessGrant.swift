package import TrackingCore

/// A grant: the permissions that the gateway stores for one token or one share link.
package struct AccessGrant: Hashable, Sendable {
    /// The kind of secret that a grant belongs to: a token or a share link.
    package enum Kind: Int64, Sendable {
        /// A token for a person or a program, created by an operator.
        case token = 0
        /// A link that shows one trackable on the map for a limited time.
        case share = 1
    }

    /// The use of a one-time token, which begins one session and does nothing else. The database stores the raw value.
    package enum Once: String, Sendable {
        /// The token has not begun its session.
        case unused
        /// The token has begun its session. The token itself is not valid any more; the session is.
        case used
    }

    /// The number of the grant, in order of creation; 0 before the grant is stored.
    package var number: Int64
    /// The kind of secret that the grant belongs to.
    package var kind: Kind
    /// The name of the grant for people, such as the name of a token.
    package var name: String
    /// The trackables for which a caller with this grant may publish records.
    package var publishes: TrackableScope
    /// The trackables that a caller with this grant may read, in addition to the members of ``readGroups``.
    package var reads: TrackableScope
    /// The names of groups. A caller with this grant may also read every trackable that is a member of one of these
    /// groups at the time of the request.
    package var readGroups: Set<String> = []
    /// The id of the stop of the journey whose arrival a share link shows; `nil` for the last stop, and for a token.
    package var stop: String?
    /// The use of a one-time token; `nil` for any other token, and for a share link.
    package var once: Once?
    /// `true` for the token of an administrator, who may change names, fences, rules and share links, and send commands
    /// to devices.
    package var isAdmin: Bool
    /// The limits of the grant's token: the requests per second, and the bytes of a request's body. A limit without a
    /// value is the gateway's default.
    package var limits: TokenLimits
    /// The time at which the grant becomes valid.
    package var begins: UnixTime
    /// The time at which the grant expires; `nil` for never.
    package var ends: UnixTime?
    /// The time at which the grant was revoked; `nil` if it was not.
    package var revoked: UnixTime?

    /// Creates the grant of a new token or share link: by default, of a token without permissions. ``AccessStore``
    /// assigns the number of the grant when it stores the grant.
    package init(
        number: Int64 = 0, kind: Kind = .token, name: String, publishes: TrackableScope = .only([]),
        reads: TrackableScope = .only([]), isAdmin: Bool = false, limits: TokenLimits = TokenLimits(),
        begins: UnixTime, ends: UnixTime? = nil, revoked: UnixTime? = nil
    ) {
        self.number = number
        self.kind = kind
        self.name = name
        self.publishes = publishes
        self.reads = reads
        self.isAdmin = isAdmin
        self.limits = limits
        self.begins = begins
        self.ends = ends
        self.revoked = revoked
    }

    /// The validity of a grant: valid, expired or revoked.
    package enum State: String, Sendable {
        case valid, expired, revoked
    }

    /// Returns the validity of the grant at a moment: revoked, expired, or otherwise valid. A grant that has not begun
    /// yet counts as valid here.
    package func state(at now: UnixTime) -> State {
        if self.revoked != nil { return .revoked }
        return self.ends.map { $0 <= now } == true ? .expired : .valid
    }

    /// Returns the caller with this grant; `nil` if the grant is revoked, expired or not yet begun at `now`.
    package func caller(at now: UnixTime) -> Caller? {
        guard self.state(at: now) == .valid, self.begins <= now else { return nil }
        var caller = Caller(
            name: self.name, publishes: self.publishes, reads: self.reads, isAdmin: self.isAdmin, grant: self.number)
        caller.limits = self.limits
        caller.stop = self.stop
        caller.isOnce = self.once != nil
        if self.kind == .share, let ends = self.ends { caller.span = self.begins..<ends }
        return caller
    }
}

extension TrackableScope {
    /// The set of trackables as JSON: `"*"` for all, otherwise a list of ids.
    package var value: JSONValue {
        switch self {
        case .all: .text("*")
        case .only(let ids): .list(ids.map(\.rawValue).sorted().map { .text($0) })
        }
    }

    /// The set of trackables as JSON text, as it is stored in the database.
    var json: String { String(decoding: self.value.json, as: UTF8.self) }

    /// Reads a set of trackables from the JSON text that the database stores. Invalid text gives the empty set, which
    /// allows nothing.
    init(json: String) {
        guard let value = try? JSONValue(json: json.utf8) else {
            self = .only([])
            return
        }
        let ids = value.list?.compactMap { $0.text.flatMap { try? TrackableID($0) } }
        self = value.text == "*" ? .all : .only(Set(ids ?? []))
    }

    /// The trackables to which a token or share link gives access, as text for a list or a message: `all`, the sorted
    /// ids, or `–` for none.
    package var description: String {
        switch self {
        case .all: "all"
        case .only(let ids): ids.isEmpty ? "–" : ids.map(\.rawValue).sorted().joined(separator: ", ")
        }
    }
}
