/// The threshold for being near the destination: a distance, a time to arrival, or both. Where both are given, either
/// suffices.
public struct ProximityThreshold: Hashable, Sendable {
    /// The distance to the destination below which a trackable is near, > 0; `nil` when distance is ignored.
    public let spatial: Meters?
    /// The time to arrival below which a trackable is near, > 0; `nil` when time is ignored.
    public let temporal: Duration?

    /// Makes a threshold of one or two measures.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when both measures are `nil`, or one is not finite or not
    ///   above zero.
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
