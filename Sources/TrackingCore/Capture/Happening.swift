/// Something that a decider of the capture found, to be told as an event. It never has a position: whoever tells it adds the
/// last one that may be shown.
public struct Happening: Hashable, Sendable {
    /// What happened.
    public var kind: TrackingEvent.Kind
    /// What there is to say about it.
    public var detail: [String: TrackingEvent.DetailValue]

    /// Makes one.
    public init(_ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue] = [:]) {
        self.kind = kind
        self.detail = detail
    }
}

extension TrackingEvent.Kind {
    /// Recording paused because the trackable stands.
    public static let paused = Self(rawValue: "PAUSED")
    /// It left the place where recording paused.
    public static let resumed = Self(rawValue: "RESUMED")
    /// A stay that has ended: when it began and ended.
    public static let visit = Self(rawValue: "VISIT")
    /// A zone was entered or left.
    public static let zone = Self(rawValue: "ZONE")
    /// A trip began.
    public static let tripStarted = Self(rawValue: "TRIP_STARTED")
    /// A trip ended.
    public static let tripEnded = Self(rawValue: "TRIP_ENDED")
    /// The agent began to track, where lifecycle events are asked for.
    public static let started = Self(rawValue: "STARTED")
    /// The agent ends in order, where lifecycle events are asked for.
    public static let stopping = Self(rawValue: "STOPPING")
}
