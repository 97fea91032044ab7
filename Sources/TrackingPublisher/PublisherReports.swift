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
    /// The event, with its number in the stream.
    public let event: TrackingEvent
}

/// A captured fix.
public struct CapturedFix: Hashable, Sendable {
    /// The trackable.
    public let trackable: TrackableID
    /// The fix, with its name in the stream.
    public let fix: Location
    /// The verdict of the update filter: sent on the live lane, or the reason why not.
    public let verdict: LocationFilter.Verdict
}

/// A change of a trackable's resolution, or of a reason for it.
public struct TrackableResolutionChange: Hashable, Sendable {
    /// The trackable.
    public let trackable: TrackableID
    /// The resolution in force, and its reasons.
    public let inForce: ResolutionInForce
}
