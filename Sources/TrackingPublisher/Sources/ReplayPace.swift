public import TrackingCore

/// The speed at which a recording is replayed (`--speed`).
public enum ReplayPace: Hashable, Sendable {
    /// A multiple of the recorded speed, 0.001 to 1,000,000, by the times of the fixes. The replay is thinned to the
    /// resolution in force.
    case times(Double)
    /// As fast as the caller accepts the fixes. Every fix is delivered, whatever the resolution.
    case maximum

    /// The pace that replays a recording as fast as it was recorded (factor 1).
    public static let recorded = ReplayPace.times(1)

    /// Parses the text of a pace.
    ///
    /// - Parameter text: `max`, or a multiple of the recorded speed from 0.001 to 1,000,000.
    /// - Throws: `invalidConfiguration` for any other text.
    public static func parse(_ text: String) throws(TrackingError) -> ReplayPace {
        if text == "max" { return .maximum }
        guard let factor = Double(text), (0.001...1_000_000).contains(factor) else {
            throw TrackingError(
                .invalidConfiguration,
                "speed must be max or 0.001 to 1000000, like 10 for ten times as fast, not '\(text)'")
        }
        return .times(factor)
    }
}
