public import TrackingCore

/// The state of a publisher at one moment, for display: its connection, its tracked trackables, the last fix and the
/// battery.
public struct PublisherSnapshot: Hashable, Sendable {
    /// The state of the publisher's connection to the broker.
    public struct Link: Hashable, Sendable {
        /// `true` while the publisher has a connection to the broker.
        public var isUp = false
        /// The time at which the connection to the broker was made or lost, by the device's clock. Before the first
        /// connection, the time at which the first attempt failed; `nil` before that.
        public var since: UnixTime?
        /// The reason why there is no connection to the broker; `nil` while there is one, or if the reason is not
        /// known.
        public var reason: String?
    }

    /// The state of one tracked trackable at the moment of the snapshot.
    public struct Trackable: Hashable, Sendable {
        /// The id of the tracked trackable.
        public var id: TrackableID
        /// The state of the trackable, such as `ONLINE`, as the caller received it last.
        public var state: PublisherState
        /// The reason why the trackable failed and is no longer published; `nil` if it did not fail.
        public var failure: TrackingError?
        /// The resolution by which the trackable is published now, and the reasons for it.
        public var resolution: ResolutionInForce
        /// The destination of the trackable; `nil` where there is none.
        public var destination: Coordinate?
        /// The present trip of the trackable, or else its last trip that ended in this run of the program; `nil` if
        /// there is neither.
        public var trip: Trip?
    }

    /// The records in the log that a recorder has not acknowledged. A recorder is a program that stores the history.
    public struct Unrecorded: Hashable, Sendable {
        /// The number of records in the log that a recorder has not acknowledged.
        public var count: Int
        /// The time for which the records in the log have waited for a recorder without progress.
        ///
        /// It counts from the last acknowledgement by a recorder, or else from the time at which the oldest record
        /// began to wait. It is at least 60 s if such records belong to a trackable that is not tracked.
        public var wait: Duration
        /// The recorders that must acknowledge the records; empty when any recorder may acknowledge them.
        public var recorders: [ClientID]
    }

    /// The moment at which the snapshot of the publisher was taken, by the device's clock.
    public var time: UnixTime
    /// The state of the publisher's connection to the broker.
    public var link: Link
    /// The tracked trackables, in order of name.
    public var trackables: [Trackable]
    /// The resolution that the publisher last requested from the source of fixes; `nil` before the first request.
    public var sensorResolution: Resolution?
    /// The recorded fix with the latest time, of all tracked trackables; `nil` while there is none.
    public var lastFix: Location?
    /// The charge of the device's battery in percent, 0…100; `nil` is unknown.
    public var battery: Double?
    /// The number of records in the log that recorders have not acknowledged, and their waiting time. `nil` if the log
    /// has no records, or if no recorder must acknowledge them.
    public var unrecorded: Unrecorded?
}

/// A command that an operator sent through the broker. The program carries it out and answers it.
public struct ReceivedCommand: Hashable, Sendable {
    /// The trackable on whose command topic the command was published.
    public var trackable: TrackableID
    /// The command as the operator sent it: its id, its name, and the time at which it was issued.
    public var command: Command
    /// The response topic of the command (MQTT 5), one of this trackable's answer topics. `nil` when the command has
    /// none, or one that is not an answer topic of this trackable: the answer is then only among the trackable's
    /// events.
    public var responseTopic: String?
    /// The correlation data of the command (MQTT 5), which the answer repeats; `nil` if the command has none.
    public var correlationData: [UInt8]?

    /// Returns the MQTT message that publishes an answer on the command's response topic; `nil` when the command has no
    /// response topic, or the answer is too large for a message.
    func message(of answer: CommandAnswer) -> OutgoingMessage? {
        guard let topic = self.responseTopic, let bytes = try? CommandCodec.encode(answer) else { return nil }
        var properties = MessageProperties()
        properties.contentType = "application/json"
        properties.correlationData = self.correlationData
        return OutgoingMessage(topic: topic, payload: bytes, isRetained: false, properties: properties)
    }
}
