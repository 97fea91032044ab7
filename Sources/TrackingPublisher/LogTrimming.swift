import TrackingCore

/// Decides when a log is looked at for what is above its limits: at once when it was opened and when they change; for its size
/// whenever it grew; for ages now and then, for records grow older though nothing is added.
struct LogTrimming: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Between two looks at the ages, at the most.
    private static let longestPause: Duration = .seconds(3600)
    /// And at the least.
    private static let shortestPause: Duration = .seconds(1)

    private var limits = SpoolLimits()
    /// When ages are looked at next; `nil` where they do not matter.
    private var agesDue: Instant?
    private var alarm: Instant?

    /// The limits to keep to now; `nil` where nothing is to be looked at.
    ///
    /// - Parameters:
    ///   - limits: As they are now.
    ///   - grew: Whether something was added.
    mutating func due(_ limits: SpoolLimits, grew: Bool, now: Instant) -> SpoolLimits? {
        let isNew = limits != self.limits
        self.limits = limits
        let looksAtAges = isNew || self.agesDue.map { $0 <= now } ?? false
        guard grew || looksAtAges else { return nil }
        var due = limits
        if looksAtAges {
            self.agesDue = limits.maximumAge.map { now.advanced(by: Self.pause(for: $0)) }
        } else {
            due.maximumAge = nil
        }
        return due == SpoolLimits() ? nil : due
    }

    /// When to look at ages though nothing happens; `nil` where somebody waits for that already.
    mutating func takeAlarm(now: Instant) -> Instant? {
        if let alarm = self.alarm, alarm <= now { self.alarm = nil }
        guard let agesDue = self.agesDue, self.alarm.map({ agesDue < $0 }) ?? true else { return nil }
        self.alarm = agesDue
        return agesDue
    }

    /// A tenth of the age: records stay a tenth longer than was asked for at the most.
    private static func pause(for age: Duration) -> Duration {
        min(self.longestPause, max(self.shortestPause, age / 10))
    }
}
