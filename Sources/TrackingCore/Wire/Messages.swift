/// Which side of a trackable a member is on.
public enum MemberKind: String, Hashable, Sendable, CaseIterable {
    case publisher = "PUBLISHER"
    case subscriber = "SUBSCRIBER"
}

/// A member says that it is on a trackable (`publisher/{client}`, `subscriber/{client}`).
public struct Presence: Hashable, Sendable {
    /// Publisher or subscriber; disagreeing with the topic makes a bad message.
    public var kind: MemberKind
    /// The run of the client program that is present.
    public var session: SessionID
    /// Counts the reconnects of the session, from 0.
    public var connection: Int
    /// How long a heartbeat is believed; whole seconds, 1…86,400.
    public var lease: Duration
    /// When the member came: set once, kept over reconnects. Among publishers the latest owns the trackable.
    public var since: UnixTime
    /// A publisher's current stream of the live lane.
    public var stream: StreamID?
    /// Whether a publisher also sends raw locations.
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

/// A client says that it lives, or that it is gone (`_clients/{client}`).
public struct Liveness: Hashable, Sendable {
    /// Alive for a lease, or gone.
    public enum Status: Hashable, Sendable {
        /// Alive; the heartbeat is believed for `lease`: whole seconds, 1…86,400.
        case online(lease: Duration)
        /// Gone: an orderly goodbye, or the will.
        case offline
    }

    /// Alive or gone.
    public var status: Status
    /// The run of the client program.
    public var session: SessionID
    /// Counts the reconnects of the session, from 0.
    public var connection: Int

    /// Makes a liveness.
    public init(status: Status, session: SessionID, connection: Int) {
        self.status = status
        self.session = session
        self.connection = connection
    }
}

/// A subscriber asks for a resolution (`request/{client}`).
public struct ResolutionRequest: Hashable, Sendable {
    /// The run of the client program that asks.
    public var session: SessionID
    /// What it asks for.
    public var resolution: Resolution

    /// Makes a request.
    public init(session: SessionID, resolution: Resolution) {
        self.session = session
        self.resolution = resolution
    }
}

/// Which of the two distances between updates must be reached.
public enum FilterRule: String, Hashable, Sendable, CaseIterable {
    /// The interval and the displacement.
    case both
    /// The interval or the displacement, as Ably's SDKs did.
    case either
}

/// A publisher's state for one trackable.
public enum PublisherState: String, Hashable, Sendable, CaseIterable {
    /// No connection, or not authorised.
    case offline = "OFFLINE"
    /// Connected, not yet online.
    case publishing = "PUBLISHING"
    /// Its own liveness and presence came back on this connection and an update was acknowledged on it.
    case online = "ONLINE"
    /// Taken over, collision, or a name refused; final until the trackable is removed and added again.
    case failed = "FAILED"
}

/// The resolution in force, and why (`resolution`).
public struct ResolutionInForce: Hashable, Sendable {
    /// What the publisher samples and sends at.
    public var resolution: Resolution
    /// Whether the trackable is near its destination.
    public var isNear: Bool
    /// How many subscribers are present.
    public var subscribers: Int
    /// Whether the battery is known and below the threshold.
    public var isLowBattery: Bool
    /// The publisher's state.
    public var state: PublisherState
    /// The rule of the update filter.
    public var filter: FilterRule
    /// The longest time without an update; zero means there is no such limit.
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

/// Something that happened to a trackable (`event`). It is a record: it has a number in its stream.
public struct TrackingEvent: Hashable, Sendable {
    /// A random UUID, in lower case.
    public var id: String
    /// The stream that `seq` counts in.
    public var stream: StreamID
    /// The record's number in its stream, from 1.
    public var seq: UInt64
    /// When it happened.
    public var time: UnixTime
    /// What happened; the protocol's list is open.
    public var kind: Kind
    /// What there is to say about it.
    public var detail: [String: DetailValue]
    /// Where it happened, where known.
    public var location: Location?

    /// A kind of event: one of the protocol's, or one made up later.
    public struct Kind: Hashable, Sendable, RawRepresentable {
        /// The text on the wire.
        public let rawValue: String
        /// Makes a kind.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The battery sank below the threshold.
        public static let lowBattery = Kind(rawValue: "LOW_BATTERY")
        /// The device's clock or the receiver's date was wrong.
        public static let clockJump = Kind(rawValue: "CLOCK_JUMP")
        /// Another publisher owns the trackable now.
        public static let collision = Kind(rawValue: "COLLISION")
        /// Records were dropped unsent, to keep to the log's limits.
        public static let dropped = Kind(rawValue: "DROPPED")
        /// The source of fixes broke; it is tried again.
        public static let sourceLost = Kind(rawValue: "SOURCE_LOST")
        /// A command was carried out or refused; the detail is its answer, see ``CommandAnswer``.
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
