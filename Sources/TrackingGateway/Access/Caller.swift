package import TrackingCore

/// Which trackables somebody may do something with.
package enum TrackableScope: Hashable, Sendable {
    /// Every one.
    case all
    /// These alone; none where it is empty.
    case only(Set<TrackableID>)

    /// Whether it has this trackable.
    package func contains(_ id: TrackableID) -> Bool {
        switch self {
        case .all: true
        case .only(let ids): ids.contains(id)
        }
    }
}

/// Who asks, and what they may.
package struct Caller: Hashable, Sendable {
    /// What the token is called; never the token.
    package var name: String
    /// The trackables that they may publish.
    package var publishes: TrackableScope
    /// The trackables that they may read.
    package var reads: TrackableScope
    /// Whether they may change what concerns everyone: names, fences, rules, tokens.
    package var isAdmin: Bool
    /// What they may at the most.
    package var limits = TokenLimits()
    /// Nothing from before is shown to them, and nothing from after: a share link's span. `nil` is no limit.
    package var span: Range<UnixTime>?
    /// The number of what let them in, see ``AccessStore/stillHolds(_:now:)``.
    package var grant: Int64?
    /// The number of the session that they signed in to; `nil` where they present a token itself.
    package var session: Int64?

    /// The same, however they let themselves in.
    package var holder: Caller {
        var holder = self
        holder.session = nil
        return holder
    }

    /// Makes a caller.
    package init(
        name: String, publishes: TrackableScope = .only([]), reads: TrackableScope = .only([]), isAdmin: Bool = false,
        span: Range<UnixTime>? = nil, grant: Int64? = nil
    ) {
        self.name = name
        self.publishes = publishes
        self.reads = reads
        self.isAdmin = isAdmin
        self.span = span
        self.grant = grant
    }
}
