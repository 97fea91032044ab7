public import TrackingCore

/// The state of an agent.
public struct AgentStatus: Hashable, Sendable {
    /// The connection to the broker.
    public struct Connection: Hashable, Sendable {
        /// `true` while the agent is connected.
        public var isUp: Bool
        /// The broker's address, without credentials.
        public var broker: String
        /// The time from which the agent has been connected or disconnected, by the device's clock.
        public var since: UnixTime?
        /// The reason why there is no connection.
        public var reason: String?

        /// Creates a value.
        public init(isUp: Bool, broker: String, since: UnixTime? = nil, reason: String? = nil) {
            self.isUp = isUp
            self.broker = broker
            self.since = since
            self.reason = reason
        }
    }

    /// One tracked trackable.
    public struct Trackable: Hashable, Sendable {
        /// The trackable's name.
        public var id: TrackableID
        /// The publisher's state for it.
        public var state: PublisherState
        /// The resolution in force, and its reason.
        public var resolution: ResolutionInForce?
        /// The destination; `nil` for none.
        public var destination: Coordinate?
        /// The trackable's pending records.
        public var queue: SpoolAmount
        /// The current trip, or the last one.
        public var trip: Trip?
        /// The failure of the trackable, or the reason for which the broker refuses its positions or records; `nil` for
        /// none.
        public var refusal: String?

        /// Creates a value.
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

    /// The time of the status, by the device's clock.
    public var time: UnixTime
    /// `true` while the agent samples and sends.
    public var isOn: Bool
    /// The connection to the broker.
    public var connection: Connection
    /// The tracking mode of the device.
    public var mode: TrackingMode
    /// The resolution that the agent requests from the receiver.
    public var sensorResolution: Resolution?
    /// The tracked trackables.
    public var trackables: [Trackable] = []
    /// All pending records, including those of trackables that are no longer tracked.
    public var queue = SpoolAmount()
    /// The number of records that were dropped because of a limit, over the life of the log.
    public var dropped = 0
    /// The number of quarantined records.
    public var quarantined = 0
    /// The time at which a batch or an update was last sent.
    public var lastAttempt: UnixTime?
    /// The time at which a batch or an update was last acknowledged.
    public var lastAcknowledged: UnixTime?
    /// The last fix that was accepted.
    public var lastFix: Location?
    /// The charge of the battery, 0…1.
    public var battery: Double?

    /// Creates a status without optional values.
    public init(time: UnixTime, isOn: Bool, connection: Connection, mode: TrackingMode) {
        self.time = time
        self.isOn = isOn
        self.connection = connection
        self.mode = mode
    }

    /// The current trip of a trackable, or the last one.
    public var trip: Trip? {
        let trips = self.trackables.compactMap(\.trip)
        return trips.first { $0.state == .active } ?? trips.max { $0.start < $1.start }
    }
}
