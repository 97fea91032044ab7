/// The role of a member of a trackable: publisher or subscriber.
public enum MemberKind: String, Hashable, Sendable, CaseIterable {
    case publisher = "PUBLISHER"
    case subscriber = "SUBSCRIBER"
}

/// The announcement that a member is present on a trackable (topics `publisher/{client}` and `subscriber/{client}`).
public struct Presence: Hashable, Sendable {
    /// The role of the member. A role that differs from the topic makes the message invalid.
    public var kind: MemberKind
    /// The run of the client program that is present.
    public var session: SessionID
    /// The number of reconnects of the session so far.
    public var connection: Int
    /// The validity of a heartbeat, in whole seconds, 1…86,400.
    public var lease: Duration
    /// The time at which the member first became present in this session; reconnects do not change it. The publisher
    /// with the latest time owns the trackable.
    public var since: UnixTime
    /// The publisher's current stream of the live lane; `nil` for subscribers.
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
    /// The run of the client program.
    public var session: SessionID
    /// The number of reconnects of the session so far.
    public var connection: Int

    /// Makes a liveness.
    public init(status: Status, session: SessionID, connection: Int) {
        self.status = status
        self.session = session
        self.connection = connection
    }
}

/// A subscriber's request for a resolution (topic `request/{client}`).
public struct ResolutionRequest: Hashable, Sendable {
    /// The run of the client program that makes the request.
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
    /// The publisher is connected, but not yet online.
    case publishing = "PUBLISHING"
    /// On this connection, the broker returned the publisher's own liveness and presence and acknowledged an update.
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
    /// `true` while the battery's charge is known and below the threshold.
    public var isLowBattery: Bool
    /// The publisher's state.
    public var state: PublisherState
    /// The rule of the update filter.
    public var filter: FilterRule
    /// The longest time without an update; zero for no limit.
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
        /// The text on the wire.
        public let rawValue: String
        /// Makes a kind.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The battery's charge fell below the threshold.
        public static let lowBattery = Kind(rawValue: "LOW_BATTERY")
        /// The device's clock or the receiver's date was wrong.
        public static let clockJump = Kind(rawValue: "CLOCK_JUMP")
        /// Another publisher owns the trackable now.
        public static let collision = Kind(rawValue: "COLLISION")
        /// Records were dropped unsent, to keep to the log's limits.
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
