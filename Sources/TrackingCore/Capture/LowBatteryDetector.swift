/// Detects when the battery's charge falls below a threshold. It reports the next crossing only after the charge has
/// risen well above the threshold.
public struct LowBatteryDetector: Hashable, Sendable {
    /// The charge above the threshold that ends a low battery: 3 percentage points. Readings that fluctuate around the
    /// threshold are therefore one crossing.
    public static let margin = 3.0

    /// The charge in percent, 0…100, below which the battery is low. The comparison is strict, so a threshold of 0 is
    /// never crossed.
    public let threshold: Double
    /// `true` from a crossing until the charge has risen above the threshold plus ``margin``.
    public private(set) var isLow = false

    /// Makes a detector without readings.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when the threshold is outside 0…100.
    public init(threshold: Double) throws(TrackingError) {
        guard (0...100).contains(threshold) else {
            throw TrackingError(
                .invalidConfiguration, "the threshold of a low battery must be 0 to 100 percent, not \(threshold)")
        }
        self.threshold = threshold
    }

    /// The state to store, so that a crossing is not reported again after a restart; `nil` while the battery is not
    /// low.
    public var kept: [UInt8]? { self.isLow ? Array(self.threshold.description.utf8) : nil }

    /// Restores a stored state. It is ignored when it was stored with another threshold.
    public mutating func restore(_ kept: [UInt8]) { self.isLow = kept == Array(self.threshold.description.utf8) }

    /// Returns a charge in percent rounded to a tenth, as it appears in events.
    public static func rounded(_ percent: Double) -> Double { (percent * 10).rounded() / 10 }

    /// Processes a reading of the battery's charge in percent. `nil` and values outside 0…100 mean that the charge is
    /// unknown, and are ignored.
    ///
    /// - Returns: `true` when the charge has just fallen below the threshold.
    public mutating func read(_ percent: Double?) -> Bool {
        guard let percent, (0...100).contains(percent) else { return false }
        if self.isLow {
            // With a threshold near 100, a full battery ends the low state.
            if percent >= min(100, self.threshold + Self.margin) { self.isLow = false }
            return false
        }
        self.isLow = percent < self.threshold
        return self.isLow
    }
}
