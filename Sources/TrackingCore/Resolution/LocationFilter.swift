/// Decides which fixes of one trackable are sent on the live lane (`docs/reference/resolution.md`, "The update
/// filter").
///
/// The filter compares a fix with the last *sent* fix, acknowledged or in flight. ``consider(_:now:wallClock:)`` alone
/// does not make a fix the reference: call ``sent(_:now:)`` when its update is published, because a newer fix may
/// replace one that still waits.
public struct LocationFilter: Sendable {
    /// The decision about a fix, with its reason. The reasons are checked in the order of the cases, except ``sent``,
    /// which is last.
    public enum Verdict: Hashable, Sendable, CaseIterable {
        /// Not sent: ``LivePosition`` rejects the fix, or nothing is sent on the live lane (the trackable's retained
        /// position topic). Such a fix must never become the reference.
        case notLive
        /// Sent: there is no reference, because no fix was sent yet or the clock was stepped.
        case first
        /// Sent: no update was sent for at least ``LocationFilter/effectiveMaximumSilence``.
        case silence
        /// Skipped: the fix is older than the last sent fix.
        case outOfOrder
        /// Skipped: the interval has not passed. With the rule `either`, the displacement is not reached either.
        case tooSoon
        /// Skipped: the interval has passed, but the displacement is not reached. Never the result with the rule
        /// `either`.
        case tooClose
        /// Sent: interval and displacement satisfy the rule.
        case sent

        /// `true` when the fix is sent now. A skipped fix is sent among the skipped points of the next update.
        public var isSent: Bool {
            switch self {
            case .first, .silence, .sent: true
            case .notLive, .outOfOrder, .tooSoon, .tooClose: false
            }
        }
    }

    /// The time and the position of the last sent fix.
    private struct Reference: Sendable {
        let time: UnixTime
        let coordinate: Coordinate
    }

    /// The resolution in force.
    public var resolution: Resolution
    /// The rule that combines interval and displacement: both must be reached, or one of them.
    public var rule: FilterRule
    /// The longest time without an update; zero for no limit. With `nil`, it is the larger of ``shortestSilence`` and
    /// ten times ``ownInterval``.
    public var maximumSilence: Duration?
    /// The interval of the device's own resolution, ≥ 0. Requests do not change it, so that a coarse request cannot
    /// make a silent device appear alive.
    public var ownInterval: Duration
    /// The lower limit of the maximum silence when ``maximumSilence`` is `nil`.
    public var shortestSilence = Self.usualSilence

    /// The value of ``shortestSilence`` while sending is not deferred.
    public static let usualSilence: Duration = .seconds(60)

    private var reference: Reference?
    private var lastSent: MonotonicTime?

    /// Makes a filter without a sent fix. The interval of `resolution` is the device's own.
    public init(resolution: Resolution, rule: FilterRule = .both, maximumSilence: Duration? = nil) {
        self.resolution = resolution
        self.rule = rule
        self.maximumSilence = maximumSilence
        self.ownInterval = resolution.desiredInterval
    }

    /// The longest time without an update that is in force: ``maximumSilence``, or its default. Zero means no limit.
    public var effectiveMaximumSilence: Duration {
        max(.zero, self.maximumSilence ?? max(self.shortestSilence, self.ownInterval * 10))
    }

    /// The time at which the last update is published again unless a fix is sent before; `nil` before the first sent
    /// fix, or without a maximum silence.
    public var silenceDeadline: MonotonicTime? {
        let silence = self.effectiveMaximumSilence
        return silence == .zero ? nil : self.lastSent?.advanced(by: silence)
    }

    /// Decides about a fix without making it the reference.
    ///
    /// - Parameters:
    ///   - fix: The newest fix of the source.
    ///   - now: The time on the monotonic clock, which measures silence.
    ///   - wallClock: The time on the device's clock; `nil` when it is unknown or not trusted. Then no fix counts as
    ///     ahead of it.
    public func consider(_ fix: Location, now: MonotonicTime, wallClock: UnixTime?) -> Verdict {
        if LivePosition.fault(of: fix, at: wallClock) != nil { return .notLive }
        guard let reference = self.reference else { return .first }
        if let deadline = self.silenceDeadline, now >= deadline { return .silence }
        if fix.time < reference.time { return .outOfOrder }
        let isLater = fix.time.since(reference.time) >= self.leastInterval
        let isFarther = fix.coordinate.distance(to: reference.coordinate) >= self.resolution.minimumDisplacement
        switch self.rule {
        case .both: return !isLater ? .tooSoon : !isFarther ? .tooClose : .sent
        case .either: return isLater || isFarther ? .sent : .tooSoon
        }
    }

    /// Makes `fix` the reference: its update was published at `now`.
    public mutating func sent(_ fix: Location, now: MonotonicTime) {
        self.reference = Reference(time: fix.time, coordinate: fix.coordinate)
        self.lastSent = now
    }

    /// Records that the last update was published again at `now`. That ends the silence and does not change the
    /// reference.
    public mutating func repeated(now: MonotonicTime) { self.lastSent = now }

    /// Forgets the reference after the device's clock was set. Times before and after the step are not comparable, so
    /// the next fix counts as the first.
    public mutating func clockStepped() { self.reference = nil }

    /// The time that must pass between two sent fixes: the interval less a tenth of it, at most 100 ms less. Without
    /// this tolerance, a sensor that delivers about one fix a second would lose every second fix.
    private var leastInterval: Duration {
        let interval = self.resolution.desiredInterval
        return interval - min(interval / 10, .milliseconds(100))
    }
}
