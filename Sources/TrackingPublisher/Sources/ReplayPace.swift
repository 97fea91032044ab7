public import TrackingCore

/// How fast a recording is replayed (`--speed`).
public enum ReplayPace: Hashable, Sendable {
    /// This many times as fast as it was recorded, by the fixes' own times; 0.001 to 1,000,000. Thinned to the resolution in force.
    case times(Double)
    /// As fast as what follows takes the fixes in. A bulk read: every fix is delivered, whatever the resolution.
    case maximum

    /// As it was recorded.
    public static let recorded = ReplayPace.times(1)

    /// Reads `max` or a number from 0.001 to 1,000,000.
    ///
    /// - Throws: `invalidConfiguration` for anything else.
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
