/// Detects when the battery's charge falls below a threshold. After a detection, the next one is possible only after
/// the charge has risen to the threshold plus ``margin``, at most 100 %.
public struct LowBatteryDetector: Hashable, Sendable {
    /// The distance above the threshold, in percentage points, that the charge must reach before another fall below the
    /// threshold is reported: 3. So a charge that fluctuates around the threshold is reported once.
    public static let margin = 3.0

    /// The charge in percent, 0…100, below which the battery is low. A charge equal to the threshold is not low, so a
    /// threshold of 0 is never crossed.
    public let threshold: Double
    /// `true` from the moment the charge falls below the threshold until the charge has risen to the threshold plus
    /// ``margin``, at most 100 %.
    public private(set) var isLow = false

    /// Makes a detector for the battery's fall below `threshold`, in percent. It has not read a charge yet.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when the threshold is outside 0…100.
    public init(threshold: Double) throws(TrackingError) {
        guard (0...100).contains(threshold) else {
            throw TrackingError(
                .invalidConfiguration, "the threshold of a low battery must be 0 to 100 percent, not \(threshold)")
        }
        self.threshold = threshold
    }

    /// The state of the detector to store, so that a low battery is not reported again after a restart of the program;
    /// `nil` while the battery is not low.
    public var kept: [UInt8]? { self.isLow ? Array(self.threshold.description.utf8) : nil }

    /// Restores the state that ``kept`` returned before a restart of the program: the battery is low, and this was
    /// reported. A state that was stored with another threshold counts as "not low".
    public mutating func restore(_ kept: [UInt8]) { self.isLow = kept == Array(self.threshold.description.utf8) }

    /// Returns the charge in percent, rounded to a tenth of a percent, as events contain it.
    public static func rounded(_ percent: Double) -> Double { (percent * 10).rounded() / 10 }

    /// Processes a reading of the battery's charge in percent. A reading of `nil` or outside 0…100 is ignored, because
    /// the charge is then unknown.
    ///
    /// - Returns: `true` when the charge has just fallen below the threshold, or is below it at the first reading.
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
