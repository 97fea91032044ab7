public import TrackingCore

/// How things stand with a publisher at one moment.
public struct PublisherSnapshot: Hashable, Sendable {
    /// The connection.
    public struct Link: Hashable, Sendable {
        /// Whether it stands.
        public var isUp = false
        /// Since when it has stood or been missing, by the device's clock; `nil` before the first try.
        public var since: UnixTime?
        /// Why it is missing, as far as somebody said.
        public var reason: String?
    }

    /// One trackable that is carried.
    public struct Trackable: Hashable, Sendable {
        /// Its name.
        public var id: TrackableID
        /// Its state.
        public var state: PublisherState
        /// Why it failed; `nil` where it did not.
        public var failure: TrackingError?
        /// The resolution in force, and why.
        public var resolution: ResolutionInForce
        /// Where it goes.
        public var destination: Coordinate?
        /// The trip under way as it is at this moment, else the last one of this run.
        public var trip: Trip?
    }

    /// The records of the log that wait for a recorder.
    public struct Unrecorded: Hashable, Sendable {
        /// The number of records.
        public var count: Int
        /// The time since a record was last acknowledged, or since the oldest began to wait.
        public var wait: Duration
        /// The recorders that must acknowledge them; empty where any recorder may.
        public var recorders: [ClientID]
    }

    /// When this was so.
    public var time: UnixTime
    /// The connection.
    public var link: Link
    /// What is carried, in order of name.
    public var trackables: [Trackable]
    /// What is asked of the source.
    public var sensorResolution: Resolution?
    /// The last fix that was recorded.
    public var lastFix: Location?
    /// The charge of the battery in percent.
    public var battery: Double?
    /// The records that wait for a recorder; `nil` where none waits.
    public var unrecorded: Unrecorded?
}

/// A command that came from the broker and is to be carried out.
public struct ReceivedCommand: Hashable, Sendable {
    /// Whose topic it came on.
    public var trackable: TrackableID
    /// The command.
    public var command: Command
    /// Where an answer is expected beside the trackable's events (MQTT 5); always a topic for answers of this trackable.
    public var responseTopic: String?
    /// What that answer repeats.
    public var correlationData: [UInt8]?
}
