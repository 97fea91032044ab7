/// An event that the capture detected, to be published. It has no position: the publisher adds the last position that
/// may be shown.
public struct Happening: Hashable, Sendable {
    /// The kind of the event, for example `PAUSED`.
    public var kind: TrackingEvent.Kind
    /// The details of the event, by name.
    public var detail: [String: TrackingEvent.DetailValue]

    /// Makes an event of a kind.
    public init(_ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue] = [:]) {
        self.kind = kind
        self.detail = detail
    }
}

extension TrackingEvent.Kind {
    /// Recording paused because the trackable is stationary.
    public static let paused = Self(rawValue: "PAUSED")
    /// The trackable left the place where recording had paused.
    public static let resumed = Self(rawValue: "RESUMED")
    /// A stay ended. The detail contains its begin and end.
    public static let visit = Self(rawValue: "VISIT")
    /// A zone was entered or left.
    public static let zone = Self(rawValue: "ZONE")
    /// A trip began.
    public static let tripStarted = Self(rawValue: "TRIP_STARTED")
    /// A trip ended.
    public static let tripEnded = Self(rawValue: "TRIP_ENDED")
    /// The agent began to track. Published when lifecycle events are enabled.
    public static let started = Self(rawValue: "STARTED")
    /// The agent ends in order. Published when lifecycle events are enabled.
    public static let stopping = Self(rawValue: "STOPPING")
}
