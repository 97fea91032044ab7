/// Decides which fixes (measured positions) of one trackable are published at once as its newest position.
/// `docs/reference/resolution.md`, "The update filter", contains the rule.
///
/// The filter compares a new fix with the reference, the last fix that was published. ``consider(_:now:wallClock:)``
/// only decides. A fix becomes the reference when the caller calls ``sent(_:now:)`` after publishing it, because a
/// newer fix may replace one that still waits.
public struct LocationFilter: Sendable {
    /// The decision whether a fix is published, with the reason. The filter checks the reasons in the order of the
    /// cases and returns the first that applies; ``sent`` comes last.
    public enum Verdict: Hashable, Sendable, CaseIterable {
        /// Not published: the fix cannot be shown as the current position, for example because its time is in the
        /// future (``LivePosition``). Or the publisher publishes no current positions at all. Later fixes are never
        /// compared with such a fix.
        case notLive
        /// Published: there is no earlier published fix to compare with. Either no fix was published yet, or the
        /// device's clock was set.
        case first
        /// Published: the last update was at least ``LocationFilter/effectiveMaximumSilence`` ago, the longest time
        /// that may pass without an update.
        case silence
        /// Not published: the fix is older than the last published fix.
        case outOfOrder
        /// Not published: less than the desired interval, shortened by a tolerance of at most 100 ms, has passed since
        /// the last published fix. If interval *or* distance suffices (rule `either`), the distance is also too short.
        case tooSoon
        /// Not published: the interval has passed, but the trackable moved less than the minimum displacement. This
        /// result occurs only when both are required (rule `both`).
        case tooClose
        /// Published: the time and the distance since the last published fix reach the resolution's interval and
        /// displacement, or one of them, as the filter's rule requires.
        case sent

        /// `true` when the fix is published now. A fix that is not published now may be added to the next update as a
        /// skipped position.
        public var isSent: Bool {
            switch self {
            case .first, .silence, .sent: true
            case .notLive, .outOfOrder, .tooSoon, .tooClose: false
            }
        }
    }

    /// The time and the position of the fix that the publisher published last. The filter compares the next fix with
    /// them.
    private struct Reference: Sendable {
        let time: UnixTime
        let coordinate: Coordinate
    }

    /// The resolution of the trackable in force. The filter compares the time and the distance since the last published
    /// fix with its desired interval and its minimum displacement.
    public var resolution: Resolution
    /// The rule that combines the resolution's interval and displacement: both must be reached before a fix is
    /// published, or only one of them.
    public var rule: FilterRule
    /// The longest time that may pass without a published update of the trackable; zero means no limit. With `nil`, the
    /// limit is ten times ``ownInterval``, but at least ``shortestSilence``.
    public var maximumSilence: Duration?
    /// The desired interval of the device's own resolution, without the requests of subscribers, ≥ 0. It determines the
    /// default of the longest time without an update. A request for a long interval therefore does not lengthen that
    /// time.
    public var ownInterval: Duration
    /// The least value of the default for the longest time without an update. It applies only when ``maximumSilence``
    /// is `nil`.
    public var shortestSilence = Self.usualSilence

    /// The usual value of ``shortestSilence``, the least default of the longest time without an update: 60 s.
    public static let usualSilence: Duration = .seconds(60)

    private var reference: Reference?
    private var lastSent: MonotonicTime?

    /// Makes a filter for the fixes of one trackable, of which none was published yet. The interval of `resolution`
    /// becomes ``ownInterval``.
    public init(resolution: Resolution, rule: FilterRule = .both, maximumSilence: Duration? = nil) {
        self.resolution = resolution
        self.rule = rule
        self.maximumSilence = maximumSilence
        self.ownInterval = resolution.desiredInterval
    }

    /// The longest time without an update that applies now: ``maximumSilence`` or, if that is `nil`, ten times
    /// ``ownInterval``, but at least ``shortestSilence``. After this time, the position is published again. Zero means
    /// no limit.
    public var effectiveMaximumSilence: Duration {
        max(.zero, self.maximumSilence ?? max(self.shortestSilence, self.ownInterval * 10))
    }

    /// The time at which the last update must be published again, unless another fix is published before. `nil` before
    /// the first published fix, or when the time without an update is not limited.
    public var silenceDeadline: MonotonicTime? {
        let silence = self.effectiveMaximumSilence
        return silence == .zero ? nil : self.lastSent?.advanced(by: silence)
    }

    /// Decides whether a fix is to be published. The filter itself does not change.
    ///
    /// - Parameters:
    ///   - fix: The newest fix of the source.
    ///   - now: The time on the monotonic clock, which measures the time since the last update.
    ///   - wallClock: The time on the device's wall clock; `nil` when it is unknown or not trusted. With `nil`, no fix
    ///     is rejected for a time in the future.
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

    /// Stores that `fix` was published at `now`. Later fixes are compared with it.
    public mutating func sent(_ fix: Location, now: MonotonicTime) {
        self.reference = Reference(time: fix.time, coordinate: fix.coordinate)
        self.lastSent = now
    }

    /// Stores that the last update was published again, unchanged, at `now`. The time without an update begins again.
    /// Later fixes are still compared with the same fix as before.
    public mutating func repeated(now: MonotonicTime) { self.lastSent = now }

    /// Forgets the last published fix after the device's clock was set. Times before and after that are not comparable.
    /// The next fix is therefore treated as the first one.
    public mutating func clockStepped() { self.reference = nil }

    /// The minimum time between two published fixes: the desired interval, shortened by a tenth but by at most 100 ms.
    /// Without this tolerance, a receiver that delivers about one fix a second would lose every second fix.
    private var leastInterval: Duration {
        let interval = self.resolution.desiredInterval
        return interval - min(interval / 10, .milliseconds(100))
    }
}
