/// An event that was detected while capturing fixes, and that is to be published. It contains no position: the
/// publisher adds the last position that may be shown.
public struct Happening: Hashable, Sendable {
    /// The kind of the event, for example `PAUSED`.
    public var kind: TrackingEvent.Kind
    /// The details that the event will contain, by name. For example, `PAUSED` contains `since`, the begin of the stay.
    public var detail: [String: TrackingEvent.DetailValue]

    /// Makes an event that was detected while capturing fixes, from its kind, such as `PAUSED`, and its details.
    public init(_ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue] = [:]) {
        self.kind = kind
        self.detail = detail
    }
}

extension TrackingEvent.Kind {
    /// The event that recording paused, because the trackable is stationary.
    public static let paused = Self(rawValue: "PAUSED")
    /// The event that recording resumed, because the trackable left the place of the pause.
    public static let resumed = Self(rawValue: "RESUMED")
    /// The event that the trackable left a place where it had stayed. Its details contain the times of arrival and
    /// departure.
    public static let visit = Self(rawValue: "VISIT")
    /// The event that the trackable entered or left a privacy zone. Its details contain the name of the zone and the
    /// direction, never a position.
    public static let zone = Self(rawValue: "ZONE")
    /// The event that a trip began.
    public static let tripStarted = Self(rawValue: "TRIP_STARTED")
    /// The event that a trip ended.
    public static let tripEnded = Self(rawValue: "TRIP_ENDED")
    /// The event that the publisher began to track the trackable. It is published only if the publisher is configured
    /// to record the start and the end of tracking.
    public static let started = Self(rawValue: "STARTED")
    /// The event that tracking ends, because the publisher stops regularly and not by a crash. It is published only if
    /// the publisher is configured to record the start and the end of tracking.
    public static let stopping = Self(rawValue: "STOPPING")
}
