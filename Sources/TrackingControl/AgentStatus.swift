public import TrackingCore

/// The state of a running agent: its broker connection, trackables, unacknowledged records, last fix and battery.
public struct AgentStatus: Hashable, Sendable {
    /// The state of the agent's connection to the broker.
    public struct Connection: Hashable, Sendable {
        /// `true` while the agent is connected to the broker.
        public var isUp: Bool
        /// The addresses of the broker, separated by spaces, without user and password.
        public var broker: String
        /// The time since which the agent has been connected or disconnected, by the device's clock; `nil` if it is
        /// unknown.
        public var since: UnixTime?
        /// The reason why the agent is not connected to the broker; `nil` while it is connected or if no reason is
        /// known.
        public var reason: String?

        /// Creates a description of the agent's connection to the broker.
        public init(isUp: Bool, broker: String, since: UnixTime? = nil, reason: String? = nil) {
            self.isUp = isUp
            self.broker = broker
            self.since = since
            self.reason = reason
        }
    }

    /// The state of one trackable that the agent tracks, among others its resolution, its pending records and its trip.
    public struct Trackable: Hashable, Sendable {
        /// The id of the trackable.
        public var id: TrackableID
        /// The state in which the trackable is published: offline, publishing, online or failed.
        public var state: PublisherState
        /// The resolution (accuracy, interval, displacement) by which the trackable is published now, with the
        /// conditions that led to it; `nil` while none is decided.
        public var resolution: ResolutionInForce?
        /// The destination of the trackable in degrees; `nil` for none.
        public var destination: Coordinate?
        /// The number and the size of the trackable's records that wait in the log because they are not acknowledged
        /// yet.
        public var queue: SpoolAmount
        /// The trackable's current trip, or its last one if no trip is in progress; `nil` if it had no trip.
        public var trip: Trip?
        /// The reason why the trackable failed, or why the broker rejects its positions or records; `nil` if there is
        /// no such problem.
        public var refusal: String?

        /// Creates a description of the state of a trackable.
        public init(
            id: TrackableID, state: PublisherState, resolution: ResolutionInForce? = nil,
            destination: Coordinate? = nil, queue: SpoolAmount = SpoolAmount(), trip: Trip? = nil,
            refusal: String? = nil
        ) {
            self.id = id
            self.state = state
            self.resolution = resolution
            self.destination = destination
            self.queue = queue
            self.trip = trip
            self.refusal = refusal
        }
    }

    /// The time at which this status was made, by the device's clock.
    public var time: UnixTime
    /// `true` while the agent is switched on: it then samples and sends positions.
    public var isOn: Bool
    /// The state of the agent's connection to the broker.
    public var connection: Connection
    /// The recorders, the clients that store records in a database, that must acknowledge a record before the agent
    /// removes it. Empty if the broker's acknowledgement is enough.
    public var recorders: [ClientID] = []
    /// The tracking mode of the device, which sets how often it records without a subscriber's request: `active`,
    /// `balanced`, `passive` or `custom`.
    public var mode: TrackingMode
    /// The resolution (accuracy, interval, displacement) that the agent requests from the GPS receiver; `nil` while it
    /// requests none.
    public var sensorResolution: Resolution?
    /// The time until which the GPS receiver sleeps between two fixes, by the device's clock; `nil` while it is awake.
    public var receiverAsleepUntil: UnixTime?
    /// The trackables that the agent tracks.
    public var trackables: [Trackable] = []
    /// The number and the size of all records without an acknowledgement yet, including those of trackables that are no
    /// longer tracked.
    public var queue = SpoolAmount()
    /// The number of records that the log dropped to stay within its limits, counted since the log was created.
    public var dropped = 0
    /// The number of records that could not be written to the log, as on a full disk, since the agent started. They are
    /// lost, unless they were published live.
    public var unwritten = 0
    /// The reason why the newest record could not be written to the log; `nil` if it was written.
    public var writeFailure: String?
    /// The number of quarantined records in the log: records that were rejected for good and set aside.
    public var quarantined = 0
    /// The time at which the agent last sent a batch of records or a live position; `nil` for never.
    public var lastAttempt: UnixTime?
    /// The time at which the broker last acknowledged a batch of records or a live position of the agent; `nil` for
    /// never.
    public var lastAcknowledged: UnixTime?
    /// The newest fix that the agent has recorded for any of its trackables; `nil` for none.
    public var lastFix: Location?
    /// The charge of the battery, 0…1; `nil` if it is unknown.
    public var battery: Double?

    /// Creates a status with the required values only. The optional values are `nil`, and counts and lists are empty.
    public init(time: UnixTime, isOn: Bool, connection: Connection, mode: TrackingMode) {
        self.time = time
        self.isOn = isOn
        self.connection = connection
        self.mode = mode
    }

    /// The current trip of the first trackable in the list that has one. If no trip is under way, the trip that began
    /// last; `nil` if there was none.
    public var trip: Trip? {
        let trips = self.trackables.compactMap(\.trip)
        return trips.first { $0.state == .active } ?? trips.max { $0.start < $1.start }
    }
}
