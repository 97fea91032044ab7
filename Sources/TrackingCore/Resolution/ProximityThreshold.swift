/// What counts as near the destination. At least one measure is given; where both are, either one suffices.
public struct ProximityThreshold: Hashable, Sendable {
    /// Nearer than this to the destination.
    public let spatial: Meters?
    /// Sooner than this at the destination.
    public let temporal: Duration?

    /// Makes a threshold of the measures that are given.
    ///
    /// - Throws: `invalidConfiguration` when none is given, or one is not above zero (nothing is nearer than that) or not
    ///   finite.
    public init(spatial: Meters? = nil, temporal: Duration? = nil) throws(TrackingError) {
        guard spatial != nil || temporal != nil else {
            throw TrackingError(
                .invalidConfiguration, "a proximity threshold needs a distance, a time to arrival, or both")
        }
        if let spatial, !(spatial.value > 0 && spatial.value.isFinite) {
            throw TrackingError(
                .invalidConfiguration, "the spatial proximity threshold must be above 0 m, not \(spatial.value)")
        }
        if let temporal, temporal <= .zero {
            throw TrackingError(
                .invalidConfiguration, "the temporal proximity threshold must be above 0 s, not \(temporal)")
        }
        self.spatial = spatial
        self.temporal = temporal
    }
}
