package import TrackingCore

/// A set of trackables that a permission applies to.
package enum TrackableScope: Hashable, Sendable {
    /// Every one.
    case all
    /// These alone; none where it is empty.
    case only(Set<TrackableID>)

    /// Returns `true` if the scope includes a trackable.
    package func contains(_ id: TrackableID) -> Bool {
        switch self {
        case .all: true
        case .only(let ids): ids.contains(id)
        }
    }
}

/// The authenticated caller of a request, with its permissions.
package struct Caller: Hashable, Sendable {
    /// The name of the token; never the token.
    package var name: String
    /// The trackables that the caller may publish.
    package var publishes: TrackableScope
    /// The trackables that the caller may read.
    package var reads: TrackableScope
    /// `true` if the caller may change shared data: names, fences, rules, tokens.
    package var isAdmin: Bool
    /// The token's own limits.
    package var limits = TokenLimits()
    /// The time span that a share link shows; `nil` for no limit.
    package var span: Range<UnixTime>?
    /// The number of the caller's grant, see ``AccessStore/stillHolds(_:now:)``.
    package var grant: Int64?
    /// The number of the caller's session; `nil` for a caller that presents a token itself.
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
