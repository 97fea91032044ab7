private import SystemLibrary

/// The ratio between the time that a trackable needs for its way and the time that the routing engine expects.
///
/// The ratio is an exponentially weighted mean over about ten minutes of travel. It begins at 1, and the first two
/// minutes count half, so that one traffic light does not change all arrival times. At the start of a journey, all earlier
/// travel counts as two minutes: it was on other roads, and at another time of the day.
struct TravelPace: Sendable {
    /// The time constant of the mean, in seconds of expected travel.
    private static let timeConstant = 600.0
    /// The weight of the ratio 1, in seconds of expected travel.
    private static let prior = 120.0
    /// The expected travel, in seconds, after which the ratio changes.
    private static let step = 10.0
    /// The greatest weight of the travel before a journey, in seconds of expected travel.
    private static let memory = 120.0
    /// The greatest ratio within one step. A longer time is a stop, which says nothing about the pace.
    private static let slowest = 3.0

    private var expected = 0.0
    private var actual = 0.0
    private var step = (expected: 0.0, actual: 0.0)

    /// The ratio of the actual time to the expected time: above 1 for a trackable that is slower than expected.
    var ratio: Double { (self.actual + Self.prior) / (self.expected + Self.prior) }

    /// Lowers the weight of the earlier travel at the start of a journey.
    mutating func beganJourney() {
        guard self.expected > Self.memory else { return }
        self.actual *= Self.memory / self.expected
        self.expected = Self.memory
    }

    /// Adds a part of the way.
    ///
    /// - Parameters:
    ///   - expected: The time that the routing engine expects for the part, in seconds.
    ///   - actual: The time that the trackable needed, in seconds.
    mutating func travelled(expected: Double, actual: Double) {
        self.step.expected = max(0, self.step.expected + expected)
        self.step.actual += max(0, actual)
        guard self.step.expected >= Self.step else { return }
        let decay = exp(-self.step.expected / Self.timeConstant)
        let actual = max(self.step.expected / Self.slowest, min(self.step.expected * Self.slowest, self.step.actual))
        self.expected = self.expected * decay + self.step.expected
        self.actual = self.actual * decay + actual
        self.step = (0, 0)
    }
}
