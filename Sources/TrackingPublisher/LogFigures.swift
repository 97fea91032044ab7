public import TrackingCore

/// How the log stands, and how sending goes.
public struct LogFigures: Hashable, Sendable {
    /// What waits, by trackable; also of those that are not carried any more.
    public var trackables: [TrackableID: SpoolAmount] = [:]
    /// All that waits.
    public var total = SpoolAmount()
    /// How many records a limit has cost, in the life of the log.
    public var dropped = 0
    /// How many records were refused for good and are set aside.
    public var quarantined = 0
    /// How sending goes.
    public var sending = SendingFigures()
    /// Why the log could not be asked: what it holds is not known then.
    public var failure: TrackingError?

    /// Makes figures of an empty log.
    public init() {}
}

/// How sending goes, since the program began.
public struct SendingFigures: Hashable, Sendable {
    /// When an update or a batch was last sent, by the device's clock.
    public var lastAttempt: UnixTime?
    /// When one was last acknowledged.
    public var lastAcknowledged: UnixTime?
    /// Why the broker does not take what is sent, by trackable; nothing where it does.
    public var refusals: [TrackableID: TrackingError]

    /// Makes figures; nothing was sent where nothing is said.
    public init(
        lastAttempt: UnixTime? = nil, lastAcknowledged: UnixTime? = nil, refusals: [TrackableID: TrackingError] = [:]
    ) {
        self.lastAttempt = lastAttempt
        self.lastAcknowledged = lastAcknowledged
        self.refusals = refusals
    }
}
