/// The role of a member of a trackable: publisher or subscriber.
public enum MemberKind: String, Hashable, Sendable, CaseIterable {
    case publisher = "PUBLISHER"
    case subscriber = "SUBSCRIBER"
}

/// The announcement that a member is present on a trackable (topics `publisher/{client}` and `subscriber/{client}`).
public struct Presence: Hashable, Sendable {
    /// The role of the member. A message whose role differs from the role in its topic is invalid.
    public var kind: MemberKind
    /// The session id of the member, which identifies one run of its program.
    public var session: SessionID
    /// The number of reconnects of the session so far.
    public var connection: Int
    /// The time after a heartbeat for which the member counts as present, in whole seconds, 1…86,400.
    public var lease: Duration
    /// The time at which the member first became present in this session; reconnects do not change it. The publisher
    /// with the latest time owns the trackable.
    public var since: UnixTime
    /// The stream that numbers the positions that the publisher publishes; `nil` for subscribers.
    public var stream: StreamID?
    /// `true` when the publisher also sends raw locations; `nil` when unknown.
    public var rawLocations: Bool?

    /// Makes a presence.
    public init(
        kind: MemberKind, session: SessionID, connection: Int, lease: Duration, since: UnixTime,
        stream: StreamID? = nil, rawLocations: Bool? = nil
    ) {
        self.kind = kind
        self.session = session
        self.connection = connection
        self.lease = lease
        self.since = since
        self.stream = stream
        self.rawLocations = rawLocations
    }
}

/// The announcement that a client is connected or has left (topic `_clients/{client}`).
public struct Liveness: Hashable, Sendable {
    /// The state of a client: connected for a lease, or gone.
    public enum Status: Hashable, Sendable {
        /// The client is connected. Its heartbeat is valid for `lease`, in whole seconds, 1…86,400.
        case online(lease: Duration)
        /// The client has left in order, or the broker published its will.
        case offline
    }

    /// The state of the client.
    public var status: Status
    /// The session id of the client, which identifies one run of its program.
    public var session: SessionID
    /// The number of reconnects of the session so far.
    public var connection: Int

    /// Makes a liveness message.
    public init(status: Status, session: SessionID, connection: Int) {
        self.status = status
        self.session = session
        self.connection = connection
    }
}

/// A subscriber's request for a resolution (topic `request/{client}`).
public struct ResolutionRequest: Hashable, Sendable {
    /// The session id of the subscriber, which identifies one run of its program.
    public var session: SessionID
    /// The requested resolution.
    public var resolution: Resolution

    /// Makes a request.
    public init(session: SessionID, resolution: Resolution) {
        self.session = session
        self.resolution = resolution
    }
}

/// The rule that combines the interval and the displacement between two updates.
public enum FilterRule: String, Hashable, Sendable, CaseIterable {
    /// Both the interval and the displacement must be reached.
    case both
    /// The interval or the displacement must be reached, as in Ably's SDKs.
    case either
}

/// A publisher's state for one trackable.
public enum PublisherState: String, Hashable, Sendable, CaseIterable {
    /// The publisher is not connected, or not authorized.
    case offline = "OFFLINE"
    /// The publisher is connected, but the broker has not confirmed all that ``online`` requires.
    case publishing = "PUBLISHING"
    /// The publisher publishes: on this connection, the broker has returned the publisher's own liveness and presence,
    /// and has acknowledged an update.
    case online = "ONLINE"
    /// Another publisher took over, the client id collided, or the broker rejected a name. The state is final until the
    /// trackable is removed and added again.
    case failed = "FAILED"
}

/// The resolution in force for a trackable, with the conditions that led to it (topic `resolution`).
public struct ResolutionInForce: Hashable, Sendable {
    /// The resolution at which the publisher samples and sends.
    public var resolution: Resolution
    /// `true` while the trackable is near its destination.
    public var isNear: Bool
    /// The number of present subscribers.
    public var subscribers: Int
    /// `true` while the charge of the device's battery is known and below the threshold for a longer interval.
    public var isLowBattery: Bool
    /// The publisher's state.
    public var state: PublisherState
    /// The rule by which the publisher combines interval and displacement between two updates.
    public var filter: FilterRule
    /// The longest time without an update, after which the publisher repeats the last one; zero for no limit.
    public var maximumSilence: Duration

    /// Makes a resolution in force.
    public init(
        resolution: Resolution, isNear: Bool, subscribers: Int, isLowBattery: Bool, state: PublisherState,
        filter: FilterRule, maximumSilence: Duration
    ) {
        self.resolution = resolution
        self.isNear = isNear
        self.subscribers = subscribers
        self.isLowBattery = isLowBattery
        self.state = state
        self.filter = filter
        self.maximumSilence = maximumSilence
    }
}

/// An event of a trackable (topic `event`). It is a record with a number in its stream.
public struct TrackingEvent: Hashable, Sendable {
    /// A random UUID, in lower case.
    public var id: String
    /// The stream that numbers this event.
    public var stream: StreamID
    /// The record's number in its stream, from 1.
    public var seq: UInt64
    /// The time of the event.
    public var time: UnixTime
    /// The kind of event. The protocol's list of kinds is open.
    public var kind: Kind
    /// The details of the event, by name.
    public var detail: [String: DetailValue]
    /// The position at the event; `nil` when unknown.
    public var location: Location?

    /// A kind of event: one of the protocol's kinds, or a kind of a later version.
    public struct Kind: Hashable, Sendable, RawRepresentable {
        /// The word in the message.
        public let rawValue: String
        /// Makes a kind.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The battery's charge fell below the threshold.
        public static let lowBattery = Kind(rawValue: "LOW_BATTERY")
        /// The device's clock was set, or the receiver's date was wrong.
        public static let clockJump = Kind(rawValue: "CLOCK_JUMP")
        /// Another publisher owns the trackable now.
        public static let collision = Kind(rawValue: "COLLISION")
        /// Records were dropped before they were sent, to comply with the limits of the device's log.
        public static let dropped = Kind(rawValue: "DROPPED")
        /// The source of fixes failed. The publisher tries it again.
        public static let sourceLost = Kind(rawValue: "SOURCE_LOST")
        /// A command was executed or rejected. The detail is a ``CommandAnswer``.
        public static let command = Kind(rawValue: "COMMAND")
    }

    /// One value of an event's detail.
    public typealias DetailValue = JSONValue

    /// Makes an event.
    public init(
        id: String, stream: StreamID, seq: UInt64, time: UnixTime, kind: Kind, detail: [String: DetailValue] = [:],
        location: Location? = nil
    ) {
        self.id = id
        self.stream = stream
        self.seq = seq
        self.time = time
        self.kind = kind
        self.detail = detail
        self.location = location
    }
}
