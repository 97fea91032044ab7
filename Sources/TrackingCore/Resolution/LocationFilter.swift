/// Decides which fixes of one trackable are sent on the live lane (`docs/resolution.md`, "The update filter").
///
/// A fix is compared with the last one *sent*, acknowledged or still in flight. Considering does not make a fix the
/// reference: the caller says ``sent(_:now:)`` when the update goes out, since one that waits may yet be replaced.
public struct LocationFilter: Sendable {
    /// What is to be done with a fix, and why. The reasons are found in the order of the cases, ``sent`` last.
    public enum Verdict: Hashable, Sendable, CaseIterable {
        /// Not a live update: ``LivePosition`` forbids it, or there is no live lane. It must never become the reference.
        case notLive
        /// Sent: there is no reference, because nothing was sent yet or the clock was stepped.
        case first
        /// Sent: nothing was for ``LocationFilter/effectiveMaximumSilence``.
        case silence
        /// Skipped: older than the last sent.
        case outOfOrder
        /// Skipped: the interval has not passed. With the rule `either`: nor was the displacement reached.
        case tooSoon
        /// Skipped: the interval has passed, but the displacement was not reached. Never with the rule `either`.
        case tooClose
        /// Sent: the rule is met.
        case sent

        /// Whether the fix is sent now; otherwise it is skipped, and rides along with the next update.
        public var isSent: Bool {
            switch self {
            case .first, .silence, .sent: true
            case .notLive, .outOfOrder, .tooSoon, .tooClose: false
            }
        }
    }

    /// What the last sent fix is remembered by.
    private struct Reference: Sendable {
        let time: UnixTime
        let coordinate: Coordinate
    }

    /// The resolution that is kept.
    public var resolution: Resolution
    /// Whether the interval and the displacement must both be reached, or one of them.
    public var rule: FilterRule
    /// The longest time without an update; zero means never, `nil` the larger of ``shortestSilence`` and ten times
    /// ``ownInterval``.
    public var maximumSilence: Duration?
    /// The interval of the device's own resolution, ≥ 0. Requests play no part in it, so that a coarse request cannot make a
    /// silent device look alive.
    public var ownInterval: Duration
    /// What silence lasts at least where nothing is said about it.
    public var shortestSilence = Self.usualSilence

    /// ``shortestSilence`` where nothing is held back.
    public static let usualSilence: Duration = .seconds(60)

    private var reference: Reference?
    private var lastSent: MonotonicTime?

    /// Makes a filter that has sent nothing, with the interval of `resolution` as the device's own.
    public init(resolution: Resolution, rule: FilterRule = .both, maximumSilence: Duration? = nil) {
        self.resolution = resolution
        self.rule = rule
        self.maximumSilence = maximumSilence
        self.ownInterval = resolution.desiredInterval
    }

    /// The longest time without an update that is in force; zero means that there is none.
    public var effectiveMaximumSilence: Duration {
        max(.zero, self.maximumSilence ?? max(self.shortestSilence, self.ownInterval * 10))
    }

    /// When the last update is to be published again if no fix comes before; `nil` while nothing was sent, or never.
    public var silenceDeadline: MonotonicTime? {
        let silence = self.effectiveMaximumSilence
        return silence == .zero ? nil : self.lastSent?.advanced(by: silence)
    }

    /// What is to be done with `fix`, and why.
    ///
    /// - Parameters:
    ///   - fix: the newest fix of the source.
    ///   - now: the monotonic clock, which silence is measured on.
    ///   - wallClock: the device's clock; `nil` when it is unknown or not trusted, so that no fix is ahead of it.
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

    /// An update with `fix` went out at `now`: it is the reference of the next.
    public mutating func sent(_ fix: Location, now: MonotonicTime) {
        self.reference = Reference(time: fix.time, coordinate: fix.coordinate)
        self.lastSent = now
    }

    /// The last update went out again at `now`: that ends a silence, and is no new reference.
    public mutating func repeated(now: MonotonicTime) { self.lastSent = now }

    /// The device's clock was set: times before and after cannot be compared, so the next fix is a first one.
    public mutating func clockStepped() { self.reference = nil }

    /// The interval less the tolerance: a tenth of it, at most 100 ms, keeps a sensor at 1 Hz ± jitter from being halved.
    private var leastInterval: Duration {
        let interval = self.resolution.desiredInterval
        return interval - min(interval / 10, .milliseconds(100))
    }
}
