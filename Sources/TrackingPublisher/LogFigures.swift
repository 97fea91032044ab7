public import TrackingCore

/// The contents of the device's log of records, and the publisher's progress of sending records to the broker.
public struct LogFigures: Hashable, Sendable {
    /// The unacknowledged records of each trackable: their numbers by kind, their size and their age. Trackables that
    /// are no longer tracked are included.
    public var trackables: [TrackableID: SpoolAmount] = [:]
    /// The unacknowledged records of all trackables together: their numbers by kind, their size and their age.
    public var total = SpoolAmount()
    /// The number of records that were removed because the log exceeded its limits, since the log was created.
    public var dropped = 0
    /// The number of records that could not be written to the log, as on a full disk, since the program started. They
    /// are lost, unless they were published live.
    public var unwritten = 0
    /// The reason why the newest record could not be written to the log; `nil` if it was written.
    public var writeFailure: TrackingError?
    /// The number of quarantined records: records that were set aside because they can never be accepted.
    public var quarantined = 0
    /// The publisher's progress of sending positions and records to the broker.
    public var sending = SendingFigures()
    /// The reason why the device's log could not be read; `nil` if it was read. With a reason, the log's contents are
    /// unknown.
    public var failure: TrackingError?

    /// Makes the figures of an empty log from which nothing was sent.
    public init() {}
}

/// The publisher's progress of sending positions and records to the broker since the program started.
public struct SendingFigures: Hashable, Sendable {
    /// The time at which the publisher last published a position or a batch of records, by the device's clock; `nil` if
    /// it published none.
    public var lastAttempt: UnixTime?
    /// The time at which the broker last acknowledged a position or a batch of records, by the device's clock; `nil` if
    /// it acknowledged none.
    public var lastAcknowledged: UnixTime?
    /// The reason why the broker rejects a trackable's messages, by trackable. It is empty if the broker rejects none.
    public var refusals: [TrackableID: TrackingError]

    /// Makes the figures of a publisher's sending. With the default values, the publisher has sent nothing.
    ///
    /// - Parameters:
    ///   - lastAttempt: The time at which a position or a batch of records was last published, by the device's clock.
    ///   - lastAcknowledged: The time at which the broker last acknowledged a position or a batch, by the device's
    ///     clock.
    ///   - refusals: The broker's reasons for rejecting messages, by trackable.
    public init(
        lastAttempt: UnixTime? = nil, lastAcknowledged: UnixTime? = nil, refusals: [TrackableID: TrackingError] = [:]
    ) {
        self.lastAttempt = lastAttempt
        self.lastAcknowledged = lastAcknowledged
        self.refusals = refusals
    }
}
