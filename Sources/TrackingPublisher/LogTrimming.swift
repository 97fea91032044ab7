import TrackingCore

/// Decides when a log is trimmed to its limits.
///
/// Trimming is due when the log was opened and when the limits change. The size is also checked after each write.
/// Ages are also checked periodically, because records grow older without any write.
struct LogTrimming: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The longest time between two checks for records that are older than the log's limit of age.
    private static let longestPause: Duration = .seconds(3600)
    /// The shortest time between two checks for records that are older than the log's limit of age.
    private static let shortestPause: Duration = .seconds(1)

    private var limits = SpoolLimits()
    /// The time of the next check of the records' ages; `nil` if the limits of the log contain no limit of age.
    private var agesDue: Instant?
    private var alarm: Instant?

    /// Returns the limits to which the log must be trimmed now; `nil` when no trimming is due. The limit of age is left
    /// out until the next check of the records' ages is due.
    ///
    /// - Parameters:
    ///   - limits: The limits in force.
    ///   - grew: `true` after records were written.
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

    /// Returns the time at which the log's worker must be woken for the next check of the records' ages. `nil` if no
    /// check is planned, or if the worker is woken by that time already.
    mutating func takeAlarm(now: Instant) -> Instant? {
        if let alarm = self.alarm, alarm <= now { self.alarm = nil }
        guard let agesDue = self.agesDue, self.alarm.map({ agesDue < $0 }) ?? true else { return nil }
        self.alarm = agesDue
        return agesDue
    }

    /// Returns the time between two checks for records that are too old: a tenth of the age limit, but at least one
    /// second and at most one hour.
    private static func pause(for age: Duration) -> Duration {
        min(self.longestPause, max(self.shortestPause, age / 10))
    }
}
