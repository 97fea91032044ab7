public import TrackingCore

/// A trackable's state changed.
public struct TrackableStateChange: Hashable, Sendable {
    /// Which trackable.
    public let trackable: TrackableID
    /// Its state now.
    public let state: PublisherState
    /// Why, where there is something to say.
    public let reason: TrackingError?
}

/// Something happened to a trackable.
public struct TrackableEvent: Hashable, Sendable {
    /// Which trackable.
    public let trackable: TrackableID
    /// What happened, with its number in the stream.
    public let event: TrackingEvent
}

/// A fix was captured.
public struct CapturedFix: Hashable, Sendable {
    /// For which trackable.
    public let trackable: TrackableID
    /// The fix, with its name in the stream.
    public let fix: Location
    /// Whether it is sent on the live lane, and if not, why.
    public let verdict: LocationFilter.Verdict
}

/// A trackable's resolution, or a reason for it, changed.
public struct TrackableResolutionChange: Hashable, Sendable {
    /// Which trackable.
    public let trackable: TrackableID
    /// The resolution in force, and why.
    public let inForce: ResolutionInForce
}
