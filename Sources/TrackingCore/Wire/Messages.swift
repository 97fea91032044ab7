/// The role of a member, a client that is present on a trackable: publisher or subscriber.
public enum MemberKind: String, Hashable, Sendable, CaseIterable {
    case publisher = "PUBLISHER"
    case subscriber = "SUBSCRIBER"
}

/// The announcement that a publisher or a subscriber, here called a member, is present on a trackable. The topics are
/// `publisher/{client}` and `subscriber/{client}`.
public struct Presence: Hashable, Sendable {
    /// The role of the member. A message whose role differs from the role in its topic is invalid.
    public var kind: MemberKind
    /// The session id of the member, which identifies one run of its program.
    public var session: SessionID
    /// The number of reconnects of the session so far; 0 on its first connection.
    public var connection: Int
    /// The time without a heartbeat after which the member counts as gone, in whole seconds, 1…86,400.
    public var lease: Duration
    /// The time at which the member first became present in this session. A reconnect does not change it. Among the
    /// publishers of a trackable, the one with the latest time is the owner.
    public var since: UnixTime
    /// The stream of the publisher, the id of its numbered sequence of records; `nil` for subscribers.
    public var stream: StreamID?
    /// `true` when the publisher also publishes raw updates, which contain unfiltered fixes; `nil` when unknown.
    public var rawLocations: Bool?
    /// The publisher's text about the trackable, for people and programs that subscribe to it: 1 to 1,024 bytes without
    /// control characters and without characters that change the direction of text. `nil` for none.
    public var metadata: String?
    /// `false` when the publisher publishes no resolution in force; `nil` and `true` when it does.
    public var sendsResolution: Bool?

    /// Makes the announcement that a publisher or subscriber is present on a trackable.
    public init(
        kind: MemberKind, session: SessionID, connection: Int, lease: Duration, since: UnixTime,
        stream: StreamID? = nil, rawLocations: Bool? = nil, metadata: String? = nil, sendsResolution: Bool? = nil
    ) {
        self.kind = kind
        self.session = session
        self.connection = connection
        self.lease = lease
        self.since = since
        self.stream = stream
        self.rawLocations = rawLocations
        self.metadata = metadata
        self.sendsResolution = sendsResolution
    }
}

/// The announcement that a client is connected or has left (topic `_clients/{client}`).
public struct Liveness: Hashable, Sendable {
    /// The state of a client: connected, or gone.
    public enum Status: Hashable, Sendable {
        /// The client is connected. It counts as gone after the time `lease` without a heartbeat, in whole seconds,
        /// 1…86,400.
        case online(lease: Duration)
        /// The client is gone: it disconnected in order, or its connection broke and the broker published its MQTT
        /// will.
        case offline
    }

    /// The state of the client: connected, with its lease, or gone.
    public var status: Status
    /// The session id of the client, which identifies one run of its program.
    public var session: SessionID
    /// The number of reconnects of the session so far; 0 on its first connection.
    public var connection: Int
    /// The time for which the client still counts as online after this message, in whole seconds, 1…86,400. Only the
    /// will of a client has it, with the status ``Status/offline``; `nil` for no such time.
    public var remainsPresentFor: Duration?
    /// The group of enhancers to which the client belongs; `nil` for any other client.
    public var group: EnhancerGroup?

    /// Makes the message that a client is connected or gone, from its status, its session, its number of reconnects,
    /// the time for which it still counts as online, and its group of enhancers.
    public init(
        status: Status, session: SessionID, connection: Int, remainsPresentFor: Duration? = nil,
        group: EnhancerGroup? = nil
    ) {
        self.status = status
        self.session = session
        self.connection = connection
        self.remainsPresentFor = remainsPresentFor
        self.group = group
    }
}

/// A subscriber's request for a resolution: the accuracy, interval and displacement at which the trackable shall
/// publish. The topic is `request/{client}`.
public struct ResolutionRequest: Hashable, Sendable {
    /// The session id of the subscriber, which identifies one run of its program.
    public var session: SessionID
    /// The requested resolution: accuracy, interval and displacement.
    public var resolution: Resolution

    /// Makes a subscriber's request for a resolution of a trackable, in the session with this id.
    public init(session: SessionID, resolution: Resolution) {
        self.session = session
        self.resolution = resolution
    }
}

/// The rule by which a publisher combines two limits for the next update: the time since the last update (interval) and
/// the distance from it (displacement).
public enum FilterRule: String, Hashable, Sendable, CaseIterable {
    /// A new update is sent once both the interval has passed and the displacement is reached.
    case both
    /// A new update is sent once the interval has passed or the displacement is reached, as in Ably's SDKs.
    case either
}

/// A publisher's state for one trackable: offline, publishing, online or failed.
public enum PublisherState: String, Hashable, Sendable, CaseIterable {
    /// The publisher is not connected to the broker, or the broker does not authorize it.
    case offline = "OFFLINE"
    /// The publisher is connected, but the broker has not yet confirmed everything that the state ``online`` requires.
    case publishing = "PUBLISHING"
    /// The publisher is connected and works. On this connection the broker has returned the publisher's own liveness
    /// and presence messages, and has acknowledged an update.
    case online = "ONLINE"
    /// The publisher has given up this trackable. Another publisher became the owner, another client uses the same
    /// client id, or the broker rejected a name. The state remains until the program removes the trackable and adds it
    /// again.
    case failed = "FAILED"
}

/// The resolution that a publisher uses now for a trackable, with the conditions that led to it. The topic is
/// `resolution`.
public struct ResolutionInForce: Hashable, Sendable {
    /// The resolution (accuracy, interval, displacement) at which the publisher measures and sends positions.
    public var resolution: Resolution
    /// `true` while the trackable is near its destination.
    public var isNear: Bool
    /// The number of subscribers that are present on the trackable, as the publisher counts them.
    public var subscribers: Int
    /// `true` while the device's battery is known to be below the threshold at which the publisher uses a longer
    /// interval.
    public var isLowBattery: Bool
    /// The publisher's state for the trackable, such as online or offline.
    public var state: PublisherState
    /// The rule by which the publisher combines the interval and the displacement to decide if an update is due.
    public var filter: FilterRule
    /// The longest time between two updates of the trackable; zero means no limit. If no fix arrives in this time, the
    /// publisher repeats the last update.
    public var maximumSilence: Duration
    /// The trackable's destination, with the remaining distance and time. `nil` without a destination, or if the
    /// destination must not be published.
    public var approach: Approach?

    /// Makes the description of the resolution that a publisher uses now for a trackable, with the conditions that led
    /// to it.
    public init(
        resolution: Resolution, isNear: Bool, subscribers: Int, isLowBattery: Bool, state: PublisherState,
        filter: FilterRule, maximumSilence: Duration, approach: Approach? = nil
    ) {
        self.resolution = resolution
        self.isNear = isNear
        self.subscribers = subscribers
        self.isLowBattery = isLowBattery
        self.state = state
        self.filter = filter
        self.maximumSilence = maximumSilence
        self.approach = approach
    }
}

/// An event of a trackable, such as a low battery. The topic is `event`. Like each record, it has a number in a stream,
/// the publisher's sequence of records.
public struct TrackingEvent: Hashable, Sendable {
    /// The id of the event, 1 to 64 bytes, for example a random UUID in lower case.
    public var id: String
    /// The id of the stream, the publisher's sequence of records, in which this event has a number.
    public var stream: StreamID
    /// The number of this event in its stream, from 1.
    public var seq: UInt64
    /// The time at which the event happened.
    public var time: UnixTime
    /// The kind of event. Later versions may add kinds.
    public var kind: Kind
    /// The details of the event, by name.
    public var detail: [String: DetailValue]
    /// The position at the event; `nil` when unknown.
    public var location: Location?

    /// A kind of event: one of the protocol's kinds, or a kind of a later version.
    public struct Kind: Hashable, Sendable, RawRepresentable {
        /// The kind of event as it is written in the event message, such as `LOW_BATTERY`.
        public let rawValue: String
        /// Makes a kind of event from its word in the message.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The event that the charge of the device's battery fell below the threshold from which on it is low.
        public static let lowBattery = Kind(rawValue: "LOW_BATTERY")
        /// The event that the device's clock was set to another time, or that the date of its GPS receiver was wrong.
        public static let clockJump = Kind(rawValue: "CLOCK_JUMP")
        /// The event that another publisher owns the trackable now.
        public static let collision = Kind(rawValue: "COLLISION")
        /// The event that the publisher dropped records that were not safely stored elsewhere yet, because the device's
        /// log exceeded its limits.
        public static let dropped = Kind(rawValue: "DROPPED")
        /// The event that the device's source of fixes, such as its GPS receiver, failed. The publisher starts the
        /// source again.
        public static let sourceLost = Kind(rawValue: "SOURCE_LOST")
        /// The event that a command was executed or rejected. The detail is a ``CommandAnswer``.
        public static let command = Kind(rawValue: "COMMAND")
        /// The event that the trackable arrives at the next stop of its journey within about five minutes.
        public static let approaching = Kind(rawValue: "APPROACHING")
        /// The event that the earliest estimated arrival at a stop is after the planned time.
        public static let delayed = Kind(rawValue: "DELAYED")
        /// The event that the trackable has left the route to the next stop of its journey.
        public static let offRoute = Kind(rawValue: "OFF_ROUTE")
    }

    /// A value in the detail of an event: any JSON value except `null`.
    public typealias DetailValue = JSONValue

    /// Makes an event of a trackable from its id, its stream and number, its time, its kind, its details, and its
    /// position.
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
