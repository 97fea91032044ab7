public import TrackingCore

/// A change of a trackable's state.
public struct TrackableStateChange: Hashable, Sendable {
    /// The trackable.
    public let trackable: TrackableID
    /// The state from now on.
    public let state: PublisherState
    /// The reason; `nil` where there is none.
    public let reason: TrackingError?
}

/// An event of a trackable.
public struct TrackableEvent: Hashable, Sendable {
    /// The trackable.
    public let trackable: TrackableID
    /// The event. It includes the number of its record in the device's log.
    public let event: TrackingEvent
}

/// A fix that the publisher recorded for one trackable.
public struct CapturedFix: Hashable, Sendable {
    /// The trackable.
    public let trackable: TrackableID
    /// The fix, with its stream and its number in the device's log.
    public let fix: Location
    /// The decision of the update filter: the fix is published live, or the reason why it is not.
    public let verdict: LocationFilter.Verdict
}

/// A change of a trackable's resolution, or of a reason for it.
public struct TrackableResolutionChange: Hashable, Sendable {
    /// The trackable.
    public let trackable: TrackableID
    /// The resolution now in force, and the reasons for it.
    public let inForce: ResolutionInForce
}
