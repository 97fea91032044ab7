package import TrackingCore

/// The set of trackables to which a caller's permission applies.
package enum TrackableScope: Hashable, Sendable {
    /// The permission applies to every trackable.
    case all
    /// The permission applies only to the trackables in this set. An empty set allows nothing.
    case only(Set<TrackableID>)

    /// Returns `true` if the permission applies to a trackable.
    package func contains(_ id: TrackableID) -> Bool {
        switch self {
        case .all: true
        case .only(let ids): ids.contains(id)
        }
    }

    /// Returns `true` if this permission applies to every trackable to which the permission `other` applies.
    func includes(_ other: TrackableScope) -> Bool {
        switch (self, other) {
        case (.all, _): true
        case (.only, .all): false
        case (.only(let ids), .only(let others)): others.isSubset(of: ids)
        }
    }
}

/// The authenticated caller of an HTTP request, with its permissions.
package struct Caller: Hashable, Sendable {
    /// The name of the caller's token or share link; never the secret itself.
    package var name: String
    /// The trackables for which the caller may publish records.
    package var publishes: TrackableScope
    /// The trackables that the caller may read.
    package var reads: TrackableScope
    /// `true` if the caller is an administrator, who may change names, fences, rules and share links, and send commands
    /// to devices.
    package var isAdmin: Bool
    /// The limits of the caller's requests, which can differ from the gateway's defaults.
    package var limits = TokenLimits()
    /// The time span whose data a share link shows; `nil` for a token, which has no such limit.
    package var span: Range<UnixTime>?
    /// The id of the stop of the journey whose arrival a share link shows; `nil` for the last stop, and for a token.
    package var stop: String?
    /// `true` for the caller with a one-time token, who may only sign in with it, and for the caller with its session.
    package var isOnce = false
    /// The number of the caller's grant, by which ``AccessStore/stillHolds(_:now:)`` checks its validity; `nil` for a
    /// caller without a stored grant.
    package var grant: Int64?
    /// The key of the caller's session; `nil` for a caller that presents a token or share link itself.
    package var session: Int64?

    /// The same caller without its session. Two callers with the same token then compare as equal, also when one of
    /// them uses a session.
    package var holder: Caller {
        var holder = self
        holder.session = nil
        return holder
    }

    /// Creates the caller of an HTTP request with its permissions: the trackables that it may publish and read, the
    /// rights of an administrator, and the time span that a share link shows. By default, it has no permission.
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
