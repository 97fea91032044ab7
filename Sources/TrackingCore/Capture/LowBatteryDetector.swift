/// Tells once when the battery sinks below a threshold, and again only after it was charged well above it.
public struct LowBatteryDetector: Hashable, Sendable {
    /// How far the charge must rise above the threshold before another crossing counts: 3 percentage points. A reading that
    /// wavers at the threshold is one crossing.
    public static let margin = 3.0

    /// The charge below which the battery is low, in percent, 0…100; the comparison is strict, so that 0 is never.
    public let threshold: Double
    /// Whether the last crossing still stands.
    public private(set) var isLow = false

    /// Makes a detector that was told nothing.
    ///
    /// - Throws: `invalidConfiguration` when the threshold is outside 0…100.
    public init(threshold: Double) throws(TrackingError) {
        guard (0...100).contains(threshold) else {
            throw TrackingError(
                .invalidConfiguration, "the threshold of a low battery must be 0 to 100 percent, not \(threshold)")
        }
        self.threshold = threshold
    }

    /// What has to be kept so that a crossing that was told is not told again after a restart; `nil` where none stands.
    public var kept: [UInt8]? { self.isLow ? Array(self.threshold.description.utf8) : nil }

    /// Goes on with what was kept: the last crossing of this threshold stands. That of another one is another crossing.
    public mutating func restore(_ kept: [UInt8]) { self.isLow = kept == Array(self.threshold.description.utf8) }

    /// A charge in percent as events tell it: to a tenth, without what a fraction of 1 leaves behind.
    public static func told(_ percent: Double) -> Double { (percent * 10).rounded() / 10 }

    /// The battery was read: 0…100 percent; anything else, and `nil`, is unknown and changes nothing.
    ///
    /// - Returns: Whether it crossed the threshold just now.
    public mutating func read(_ percent: Double?) -> Bool {
        guard let percent, (0...100).contains(percent) else { return false }
        if self.isLow {
            // A threshold near 100 is left behind by a full battery.
            if percent >= min(100, self.threshold + Self.margin) { self.isLow = false }
            return false
        }
        self.isLow = percent < self.threshold
        return self.isLow
    }
}
