/// Decides which fixes are sent on the live lane (docs/resolution.md, "The update filter").
///
/// A fix is compared with the last one sent, acknowledged or still in flight.
public struct LocationFilter: Hashable, Sendable {
    /// What becomes of a fix, and why.
    public enum Verdict: String, Hashable, Sendable, CaseIterable {
        /// Sent: nothing was sent yet.
        case first
        /// Sent: nothing was sent for too long, whatever the fix says.
        case silence
        /// Kept back: more than 60 s ahead of the device's clock, so no live update.
        case ahead
        /// Kept back: older than the last sent.
        case outOfOrder
        /// Kept back: too short a time since the last sent.
        case tooSoon
        /// Kept back: too short a distance from the last sent.
        case tooClose
        /// Sent.
        case sent

        /// Whether the fix is sent.
        public var isSent: Bool {
            switch self {
            case .first, .silence, .sent: true
            case .ahead, .outOfOrder, .tooSoon, .tooClose: false
            }
        }
    }

    /// The resolution in force.
    public var resolution: Resolution
    /// Which of the two distances must be reached.
    public var rule: FilterRule
    /// The longest time without an update; `nil` is the default, zero is never.
    public var maximumSilence: Duration?
    private var reference: Location?
    private var lastSending: MonotonicTime?

    /// How far ahead of the device's clock a fix may be.
    public static let maximumAhead: Duration = .seconds(60)

    /// Makes a filter that has sent nothing yet.
    public init(resolution: Resolution, rule: FilterRule, maximumSilence: Duration? = nil) {
        self.resolution = resolution
        self.rule = rule
        self.maximumSilence = maximumSilence
    }

    /// The longest time without an update: as set, or the larger of 60 s and ten intervals. Zero is never.
    public var effectiveMaximumSilence: Duration {
        self.maximumSilence ?? max(.seconds(60), self.resolution.desiredInterval * 10)
    }

    /// What becomes of a fix. It becomes the reference only when ``sent(_:now:)`` says that it went out.
    ///
    /// - Parameter wallClock: The device's clock; `nil` when it is not to be relied on.
    public func consider(_ fix: Location, now: MonotonicTime, wallClock: UnixTime?) -> Verdict {
        if let wallClock, fix.time.since(wallClock) > Self.maximumAhead { return .ahead }
        guard let lastSending = self.lastSending else { return .first }
        let silence = self.effectiveMaximumSilence
        if silence > .zero, lastSending.duration(to: now) >= silence { return .silence }
        // Without a reference, which a stepped clock takes away, there is nothing to compare with.
        guard let reference = self.reference else { return .first }
        let elapsed = fix.time.since(reference.time)
        if elapsed < .zero { return .outOfOrder }
        return self.compare(elapsed, fix.coordinate.distance(to: reference.coordinate))
    }

    private func compare(_ elapsed: Duration, _ distance: Meters) -> Verdict {
        let interval = self.resolution.desiredInterval
        // Keeps a receiver at 1 Hz with jitter from being halved.
        let isLater = elapsed >= interval - min(interval / 10, .milliseconds(100))
        let isFarther = distance >= self.resolution.minimumDisplacement
        switch self.rule {
        case .both: return isLater ? (isFarther ? .sent : .tooClose) : .tooSoon
        case .either: return isLater || isFarther ? .sent : .tooSoon
        }
    }

    /// This fix went out: the next ones are compared with it.
    public mutating func sent(_ fix: Location, now: MonotonicTime) {
        self.reference = fix
        self.lastSending = now
    }

    /// The device's clock was set: the times of fixes before and after cannot be compared.
    public mutating func clockStepped() { self.reference = nil }
}
