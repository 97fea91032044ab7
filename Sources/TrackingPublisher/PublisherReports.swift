public import TrackingCore

/// A change of a trackable's state, such as from `OFFLINE` to `ONLINE`, or of the reason for the state.
public struct TrackableStateChange: Hashable, Sendable {
    /// The trackable whose state changed.
    public let trackable: TrackableID
    /// The new state of the trackable, such as `ONLINE`.
    public let state: PublisherState
    /// The reason for the trackable's state, such as a rejection by the broker; `nil` where no reason is known.
    public let reason: TrackingError?
}

/// A tracking event, such as `LOW_BATTERY`, and the trackable to which it happened.
public struct TrackableEvent: Hashable, Sendable {
    /// The trackable to which the event happened.
    public let trackable: TrackableID
    /// The tracking event. It includes the number of its record in the device's log.
    public let event: TrackingEvent
}

/// A fix that the publisher recorded for one trackable, and if it is published live.
public struct CapturedFix: Hashable, Sendable {
    /// The trackable for which the fix was recorded.
    public let trackable: TrackableID
    /// The recorded fix, with its stream and its number in the device's log.
    public let fix: Location
    /// The decision of the update filter: the fix is published live, or the reason why it is not.
    public let verdict: LocationFilter.Verdict
}

/// A change of a trackable's resolution, or of a reason for it.
public struct TrackableResolutionChange: Hashable, Sendable {
    /// The trackable whose resolution changed.
    public let trackable: TrackableID
    /// The trackable's resolution that is now in force, and the reasons for it.
    public let inForce: ResolutionInForce
}
