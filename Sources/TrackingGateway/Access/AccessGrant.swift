package import TrackingCore

/// What one secret allows, as it is kept.
package struct AccessGrant: Hashable, Sendable {
    /// What kind of secret it belongs to.
    package enum Kind: Int64, Sendable {
        /// A token of a person or a program.
        case token = 0
        /// A link that shows one trackable for a while.
        case share = 1
    }

    /// Its number, in the order in which they were made.
    package var number: Int64
    /// Token or share link.
    package var kind: Kind
    /// What people call it.
    package var name: String
    /// What may be published with it.
    package var publishes: TrackableScope
    /// What may be read with it.
    package var reads: TrackableScope
    /// Whether it is an administrator's.
    package var isAdmin: Bool
    /// What it may at the most.
    package var limits: TokenLimits
    /// From when on it holds.
    package var begins: UnixTime
    /// When it ends; `nil` for never.
    package var ends: UnixTime?
    /// When it was revoked.
    package var revoked: UnixTime?

    /// Makes a grant; its number is given when it is kept.
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

    /// Where it stands.
    package enum State: String, Sendable {
        case valid, expired, revoked
    }

    /// Where it stands at a moment.
    package func state(at now: UnixTime) -> State {
        if self.revoked != nil { return .revoked }
        return self.ends.map { $0 <= now } == true ? .expired : .valid
    }

    /// Who asks with it; `nil` where it does not hold (any more).
    package func caller(at now: UnixTime) -> Caller? {
        guard self.state(at: now) == .valid, self.begins <= now else { return nil }
        var caller = Caller(
            name: self.name, publishes: self.publishes, reads: self.reads, isAdmin: self.isAdmin, grant: self.number)
        caller.limits = self.limits
        if self.kind == .share, let ends = self.ends { caller.span = self.begins..<ends }
        return caller
    }
}

extension TrackableScope {
    /// As JSON: `"*"`, or a list of ids.
    package var value: JSONValue {
        switch self {
        case .all: .text("*")
        case .only(let ids): .list(ids.map(\.rawValue).sorted().map { .text($0) })
        }
    }

    /// As it is kept.
    var json: String { String(decoding: self.value.json, as: UTF8.self) }

    /// Reads what was kept; what cannot be read allows nothing.
    init(json: String) {
        guard let value = try? JSONValue(json: json.utf8) else {
            self = .only([])
            return
        }
        let ids = value.list?.compactMap { $0.text.flatMap { try? TrackableID($0) } }
        self = value.text == "*" ? .all : .only(Set(ids ?? []))
    }

    /// For people: `all`, ids in their order, or `–`.
    package var description: String {
        switch self {
        case .all: "all"
        case .only(let ids): ids.isEmpty ? "–" : ids.map(\.rawValue).sorted().joined(separator: ", ")
        }
    }
}
