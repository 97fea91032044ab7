/// A publisher's claim to a trackable. Of several claims the greatest wins: the one with the latest `since`, and among
/// equal times the one with the greatest session id. Every member compares claims in this way, so all agree on the
/// owner.
public struct PublisherClaim: Hashable, Comparable, Sendable {
    /// The time at which the publisher began to publish the trackable.
    public var since: UnixTime
    /// The session id of the publisher, which identifies one run of its program.
    public var session: SessionID

    /// Makes a claim.
    public init(since: UnixTime, session: SessionID) {
        self.since = since
        self.session = session
    }

    /// Returns `true` when `right` wins against `left`: a later `since`, or at equal times a greater session id.
    public static func < (left: Self, right: Self) -> Bool {
        (left.since, left.session) < (right.since, right.session)
    }
}

extension Presence {
    /// The claim that a publisher makes with this presence. It has no meaning for a subscriber.
    public var claim: PublisherClaim { PublisherClaim(since: self.since, session: self.session) }
}
