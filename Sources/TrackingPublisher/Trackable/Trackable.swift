public import TrackingCore

/// The id and the settings of a trackable with which a caller has a publisher track it.
public struct Trackable: Hashable, Sendable {
    /// The id of the trackable, by which its topics are named.
    public var id: TrackableID
    /// The destination of the trackable. It is also published as a journey with one stop, unless an operator has set
    /// another journey.
    ///
    /// Without a destination, the trackable counts as near only by its time to arrival at the next stop of a journey.
    public var destination: Coordinate?
    /// The trackable's own rules for its resolution, such as its own resolutions and thresholds. With `nil`, only
    /// requests, the default resolution and the limits count.
    public var constraints: ResolutionConstraints?
    /// A text of the program about the trackable, for its ``policy`` and for subscribers; `nil` for none.
    ///
    /// Every subscriber of the trackable receives it with the publisher's presence. It must have 1 to 1,024 bytes
    /// (``/TrackingCore/WireLimits/maximumMetadataBytes``), without control characters and without characters that
    /// change the direction of text. Another text is logged, and is not published; the policy receives it all the same.
    public var metadata: String?
    /// The rule that decides the resolution of this trackable, in place of the publisher's policy; `nil` for the
    /// publisher's.
    ///
    /// Two trackables with policies of their own are equal only if one is a copy of the other.
    public var policy: (any ResolutionPolicy)? {
        get { self.ownPolicy?.policy }
        set { self.ownPolicy = newValue.map(OwnPolicy.init) }
    }
    private var ownPolicy: OwnPolicy?
    /// The finest resolution that a request can reach for this trackable, in place of ``PublisherConfiguration/floor``;
    /// ``constraints`` may override it.
    public var floor: Resolution?
    /// The coarsest resolution that a request can reach for this trackable, in place of
    /// ``PublisherConfiguration/ceiling``; ``constraints`` may override it.
    public var ceiling: Resolution?
    /// The rule of the update filter for interval and displacement: an update is published when both are reached, or
    /// when one of them is.
    public var filter = FilterRule.both
    /// The longest time between two published positions, ≥ 0 s; zero sets no limit.
    ///
    /// With `nil`, it is the larger of 60 s and ten intervals of the trackable's own resolution. With
    /// ``PublisherConfiguration/deferral``, 10 minutes take the place of the 60 s.
    public var maximumSilence: Duration?
    /// `true` if the publisher publishes the last position again after the maximum silence.
    var isRepeated = true

    /// Makes a trackable without destination and constraints.
    ///
    /// - Parameter id: The name of the trackable.
    public init(_ id: TrackableID) { self.id = id }
}

/// A trackable's own policy. Policies cannot be compared, so that two of these values are equal only if they are the
/// same object.
private final class OwnPolicy: Hashable, Sendable {
    let policy: any ResolutionPolicy

    init(_ policy: any ResolutionPolicy) { self.policy = policy }

    static func == (one: OwnPolicy, other: OwnPolicy) -> Bool { one === other }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
