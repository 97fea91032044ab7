/// Decides which fixes become records of the log (`docs/capture.md`, "What is recorded").
///
/// A fix is compared with the last one that was *recorded*; recording one makes it the reference at once. Time is that of the
/// fixes: two with the same time are two points where no minimum forbids it.
public struct CaptureFilter: Hashable, Sendable {
    /// What is to be done with a fix, and why. The reasons are found in the order of the cases.
    public enum Verdict: Hashable, Sendable, CaseIterable {
        /// Dropped: its radius of accuracy is above ``CaptureFilter/maximumAccuracyRadius``. Unknown is not above.
        case tooInaccurate
        /// Recorded: there is no reference, because nothing was recorded yet or the clock was stepped.
        case first
        /// Recorded: older than the last recorded. What a clock did is no reason to lose a point.
        case wentBack
        /// Recorded: as far from the last recorded as ``SignificantChange`` asks, whatever the minimums say.
        case significant
        /// Dropped: only significant changes are recorded, and this is none.
        case insignificant
        /// Dropped: ``CaptureFilter/minimumTime`` has not passed.
        case tooSoon
        /// Dropped: ``CaptureFilter/minimumDistance`` was not reached.
        case tooClose
        /// Dropped: finer than the resolution in force.
        case tooFine
        /// Recorded: nothing speaks against it.
        case recorded

        /// Whether the fix becomes a record.
        public var isRecorded: Bool {
            switch self {
            case .first, .wentBack, .significant, .recorded: true
            case .tooInaccurate, .insignificant, .tooSoon, .tooClose, .tooFine: false
            }
        }
    }

    /// Whether a long way is recorded out of turn, or nothing but long ways.
    public enum SignificantChange: Hashable, Sendable {
        /// Distance plays no part beyond the minimum.
        case off
        /// A fix so many metres (> 0) from the last recorded is recorded whatever the minimums of time say.
        case also(Meters)
        /// Only fixes ``CaptureFilter/significantDistance`` from the last recorded are.
        case only
    }

    /// What `SignificantChange.only` counts as a change: 500 m.
    public static let significantDistance: Meters = 500

    private struct Reference: Hashable, Sendable {
        let time: UnixTime
        let coordinate: Coordinate
    }

    /// The least distance between two recorded points; zero is no filter.
    public var minimumDistance: Meters
    /// The least time between two recorded points; zero is no filter.
    public var minimumTime: Duration
    /// The largest radius of 68 % confidence, in metres, that is recorded; `nil` is no filter.
    public var maximumAccuracyRadius: Meters?
    /// What of long ways is recorded.
    public var significantChange: SignificantChange
    /// The resolution of the receiver, for those that cannot keep one themselves; `nil` leaves it to the receiver.
    public var resolution: Resolution?
    /// Whether the resolution's interval and displacement must both be reached, or one of them.
    public var rule: FilterRule

    private var reference: Reference?

    /// Makes a filter that has recorded nothing and, by default, records everything.
    ///
    /// - Throws: `invalidConfiguration` when a minimum is negative, or a number is not finite, or a radius or a significant
    ///   distance is not above zero.
    public init(
        minimumDistance: Meters = 0, minimumTime: Duration = .zero, maximumAccuracyRadius: Meters? = nil,
        significantChange: SignificantChange = .off, resolution: Resolution? = nil, rule: FilterRule = .both
    ) throws(TrackingError) {
        guard minimumDistance.value >= 0, minimumDistance.value.isFinite else {
            throw TrackingError(
                .invalidConfiguration, "the minimum distance must be 0 m or more, not \(minimumDistance.value)")
        }
        guard minimumTime >= .zero else {
            throw TrackingError(.invalidConfiguration, "the minimum time must be 0 s or more, not \(minimumTime)")
        }
        if let radius = maximumAccuracyRadius, !(radius.value > 0 && radius.value.isFinite) {
            throw TrackingError(
                .invalidConfiguration, "the maximum accuracy radius must be above 0 m, not \(radius.value)")
        }
        if case .also(let metres) = significantChange, !(metres.value > 0 && metres.value.isFinite) {
            throw TrackingError(.invalidConfiguration, "a significant change must be above 0 m, not \(metres.value)")
        }
        self.minimumDistance = minimumDistance
        self.minimumTime = minimumTime
        self.maximumAccuracyRadius = maximumAccuracyRadius
        self.significantChange = significantChange
        self.resolution = resolution
        self.rule = rule
    }

    /// What is to be done with `fix`, and why; a recorded one is the reference of the next.
    public mutating func consider(_ fix: Location) -> Verdict {
        let verdict = self.verdict(on: fix)
        if verdict.isRecorded { self.reference = Reference(time: fix.time, coordinate: fix.coordinate) }
        return verdict
    }

    /// The last point that `other` recorded is the reference of the next.
    mutating func goOn(from other: CaptureFilter) { self.reference = other.reference }

    /// The clock was set: times before and after cannot be compared, so the next fix is a first one.
    public mutating func clockStepped() { self.reference = nil }

    private func verdict(on fix: Location) -> Verdict {
        if let most = self.maximumAccuracyRadius, let radius = fix.accuracyHorizontal, radius > most.value {
            return .tooInaccurate
        }
        guard let reference = self.reference else { return .first }
        if fix.time < reference.time { return .wentBack }
        let distance = fix.coordinate.distance(to: reference.coordinate)
        switch self.significantChange {
        case .off: break
        case .also(let metres): if distance >= metres { return .significant }
        case .only: return distance >= Self.significantDistance ? .significant : .insignificant
        }
        let elapsed = fix.time.since(reference.time)
        if elapsed < Self.tolerated(self.minimumTime) { return .tooSoon }
        if distance < self.minimumDistance { return .tooClose }
        return self.meetsResolution(elapsed, distance) ? .recorded : .tooFine
    }

    private func meetsResolution(_ elapsed: Duration, _ distance: Meters) -> Bool {
        guard let resolution = self.resolution else { return true }
        let isLater = elapsed >= Self.tolerated(resolution.desiredInterval)
        let isFarther = distance >= resolution.minimumDisplacement
        switch self.rule {
        case .both: return isLater && isFarther
        case .either: return isLater || isFarther
        }
    }

    /// The interval less a tenth of it, at most 100 ms: a receiver at 1 Hz ± jitter is not halved.
    private static func tolerated(_ interval: Duration) -> Duration {
        interval - min(interval / 10, .milliseconds(100))
    }
}
