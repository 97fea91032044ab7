/// A publisher's claim to publish a trackable. Of several claims the greatest wins: the one with the latest `since`,
/// and among equal times the one with the greatest session id. All publishers and subscribers of a trackable compare
/// claims in this way, so all agree on the owner, the publisher that is entitled to publish.
public struct PublisherClaim: Hashable, Comparable, Sendable {
    /// The time at which the publisher began to publish the trackable in this run of its program.
    public var since: UnixTime
    /// The session id of the publisher, which identifies one run of the publisher's program.
    public var session: SessionID

    /// Makes a publisher's claim from the time at which it began to publish the trackable, and its session id.
    public init(since: UnixTime, session: SessionID) {
        self.since = since
        self.session = session
    }

    /// Returns `true` when the claim `right` is greater than `left`: it has a later `since`, or at equal times a
    /// greater session id.
    public static func < (left: Self, right: Self) -> Bool {
        (left.since, left.session) < (right.since, right.session)
    }
}

extension Presence {
    /// The claim to the trackable that a publisher makes with this presence message. For a subscriber it has no
    /// meaning.
    public var claim: PublisherClaim { PublisherClaim(since: self.since, session: self.session) }
}
