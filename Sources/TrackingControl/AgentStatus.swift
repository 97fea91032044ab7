public import TrackingCore

/// How things stand with an agent.
public struct AgentStatus: Hashable, Sendable {
    /// The connection to the broker.
    public struct Connection: Hashable, Sendable {
        /// Whether it stands.
        public var isUp: Bool
        /// The broker's address, without credentials.
        public var broker: String
        /// Since when it has stood or been missing, by the device's clock.
        public var since: UnixTime?
        /// Why it is missing.
        public var reason: String?

        /// Makes one.
        public init(isUp: Bool, broker: String, since: UnixTime? = nil, reason: String? = nil) {
            self.isUp = isUp
            self.broker = broker
            self.since = since
            self.reason = reason
        }
    }

    /// One trackable that is carried.
    public struct Trackable: Hashable, Sendable {
        /// Its name.
        public var id: TrackableID
        /// The publisher's state for it.
        public var state: PublisherState
        /// The resolution in force, and why.
        public var resolution: ResolutionInForce?
        /// Where it goes.
        public var destination: Coordinate?
        /// What of it waits.
        public var queue: SpoolAmount
        /// The trip under way, or the last one.
        public var trip: Trip?
        /// Why it failed, or why the broker refuses its positions or records, while it does.
        public var refusal: String?

        /// Makes one.
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

    /// When this was so, by the device's clock.
    public var time: UnixTime
    /// Whether the agent samples and sends.
    public var isOn: Bool
    /// The connection to the broker.
    public var connection: Connection
    /// How the device tracks.
    public var mode: TrackingMode
    /// The resolution at which the receiver is asked for fixes.
    public var sensorResolution: Resolution?
    /// What is carried.
    public var trackables: [Trackable] = []
    /// All that waits, also of what is no longer carried.
    public var queue = SpoolAmount()
    /// How many records a limit has cost, in the life of the log.
    public var dropped = 0
    /// How many records were refused for good and are set aside.
    public var quarantined = 0
    /// When a batch or an update was last sent.
    public var lastAttempt: UnixTime?
    /// When one was last acknowledged.
    public var lastAcknowledged: UnixTime?
    /// The last fix that was accepted.
    public var lastFix: Location?
    /// The charge of the battery, 0…1.
    public var battery: Double?

    /// Makes one that says only what everybody knows.
    public init(time: UnixTime, isOn: Bool, connection: Connection, mode: TrackingMode) {
        self.time = time
        self.isOn = isOn
        self.connection = connection
        self.mode = mode
    }

    /// The trackable whose trip is under way, or whose trip is the last one.
    public var trip: Trip? {
        let trips = self.trackables.compactMap(\.trip)
        return trips.first { $0.state == .active } ?? trips.max { $0.start < $1.start }
    }
}
