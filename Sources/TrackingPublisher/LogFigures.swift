public import TrackingCore

/// The contents of the log, and the progress of sending.
public struct LogFigures: Hashable, Sendable {
    /// The backlog by trackable, of trackables that are not tracked any more as well.
    public var trackables: [TrackableID: SpoolAmount] = [:]
    /// The whole backlog.
    public var total = SpoolAmount()
    /// The number of records that were removed to keep a limit, in the life of the log.
    public var dropped = 0
    /// The number of quarantined records.
    public var quarantined = 0
    /// The progress of sending.
    public var sending = SendingFigures()
    /// The reason why the log could not be read, so that its contents are not known; `nil` where it was read.
    public var failure: TrackingError?

    /// Makes figures of an empty log.
    public init() {}
}

/// The progress of sending, since the program started.
public struct SendingFigures: Hashable, Sendable {
    /// The time at which an update or a batch was last published, by the device's clock.
    public var lastAttempt: UnixTime?
    /// The time at which an update or a batch was last acknowledged, by the device's clock.
    public var lastAcknowledged: UnixTime?
    /// The broker's reasons for rejecting messages, by trackable; empty where it accepts all.
    public var refusals: [TrackableID: TrackingError]

    /// Makes figures; the defaults are those of a program that has sent nothing.
    ///
    /// - Parameters:
    ///   - lastAttempt: The time at which an update or a batch was last published, by the device's clock.
    ///   - lastAcknowledged: The time at which an update or a batch was last acknowledged, by the device's clock.
    ///   - refusals: The broker's reasons for rejecting messages, by trackable.
    public init(
        lastAttempt: UnixTime? = nil, lastAcknowledged: UnixTime? = nil, refusals: [TrackableID: TrackingError] = [:]
    ) {
        self.lastAttempt = lastAttempt
        self.lastAcknowledged = lastAcknowledged
        self.refusals = refusals
    }
}
