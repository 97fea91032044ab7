public import TrackingCore

/// What is known of a source before it runs.
public struct SourceFacts: Hashable, Sendable {
    /// The source as its user wrote it, for logs and events: `gpsd://127.0.0.1:2947`. Never a credential.
    public var name: String
    /// What the fixes it tells are marked with.
    public var kind: SourceKind
    /// Whether it ends by itself: a recording does, a receiver does not.
    public var isFinite: Bool
    /// Whether it is a receiver that tells where the device is now, as opposed to a recording or a simulation: only a live
    /// source's dates are examined, and only a live source is tried again when it breaks.
    public var isLive: Bool
    /// The class of accuracy that it reaches and costs: the cheapest source that suffices is the one that runs.
    public var accuracy: Resolution.Accuracy

    /// Collects the facts of a source.
    public init(
        name: String, kind: SourceKind, isFinite: Bool, isLive: Bool, accuracy: Resolution.Accuracy = .high
    ) {
        self.name = name
        self.kind = kind
        self.isFinite = isFinite
        self.isLive = isLive
        self.accuracy = accuracy
    }
}
