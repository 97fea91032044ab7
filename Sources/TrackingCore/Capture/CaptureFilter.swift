/// Decides which fixes become records of the log (`docs/reference/capture.md`, "Capture filter").
///
/// The filter compares a fix with the last *recorded* fix, and a recorded fix becomes the reference at once. Times are
/// those of the fixes. Two fixes with the same time are two points, unless a minimum excludes the second.
public struct CaptureFilter: Hashable, Sendable {
    /// The decision about a fix, with its reason. The reasons are checked in the order of the cases.
    public enum Verdict: Hashable, Sendable, CaseIterable {
        /// Dropped: the accuracy radius is above ``CaptureFilter/maximumAccuracyRadius``. A fix with an unknown
        /// accuracy passes.
        case tooInaccurate
        /// Recorded: there is no reference, because no fix was recorded yet or the clock was stepped.
        case first
        /// Recorded: the fix is older than the last recorded one, for example because the receiver's clock was set
        /// back. An older time is no reason to lose a point.
        case wentBack
        /// Recorded: the distance from the last recorded fix is a ``SignificantChange``, which overrides the minimums.
        case significant
        /// Dropped: only significant changes are recorded, and the fix is not one.
        case insignificant
        /// Dropped: ``CaptureFilter/minimumTime`` has not passed.
        case tooSoon
        /// Dropped: the fix is within ``CaptureFilter/minimumDistance`` of the last recorded one.
        case tooClose
        /// Dropped: since the last recorded fix, neither the interval nor the distance that
        /// ``CaptureFilter/resolution`` requires has been reached (with the rule `both`: at least one has not).
        case tooFine
        /// Recorded: no rule excludes the fix.
        case recorded

        /// `true` when the fix becomes a record.
        public var isRecorded: Bool {
            switch self {
            case .first, .wentBack, .significant, .recorded: true
            case .tooInaccurate, .insignificant, .tooSoon, .tooClose, .tooFine: false
            }
        }
    }

    /// The way in which a large distance between a fix and the last recorded fix decides whether the fix is recorded.
    public enum SignificantChange: Hashable, Sendable {
        /// The distance has no effect beyond ``CaptureFilter/minimumDistance``.
        case off
        /// A fix at least this many metres (> 0) from the last recorded one is recorded regardless of the minimum time.
        case also(Meters)
        /// Only fixes at least ``CaptureFilter/significantDistance`` from the last recorded one are recorded.
        case only
    }

    /// The distance that counts as a significant change with `SignificantChange.only`: 500 m.
    public static let significantDistance: Meters = 500

    private struct Reference: Hashable, Sendable {
        let time: UnixTime
        let coordinate: Coordinate
    }

    /// The minimum distance between two recorded points, ≥ 0; zero disables the filter.
    public var minimumDistance: Meters
    /// The minimum time between two recorded points, ≥ 0; zero disables the filter.
    public var minimumTime: Duration
    /// The maximum accuracy radius (68 %) of a recorded point, in metres; `nil` disables the filter.
    public var maximumAccuracyRadius: Meters?
    /// The way in which a large distance from the last recorded fix decides whether a fix is recorded.
    public var significantChange: SignificantChange
    /// The minimum interval and displacement between two recorded fixes, for receivers that cannot apply a resolution
    /// themselves. With `nil`, the receiver applies the resolution and this filter does not.
    public var resolution: Resolution?
    /// The rule that combines the resolution's interval and displacement: both must be reached, or one of them.
    public var rule: FilterRule

    private var reference: Reference?

    /// Makes a filter without a last recorded fix. With the default values, it records every fix.
    ///
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when a minimum is negative or not finite, or when the
    ///   accuracy radius or the significant distance is not finite or not above zero.
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

    /// Decides whether a fix is recorded. A recorded fix becomes the one that the next fix is compared with.
    public mutating func consider(_ fix: Location) -> Verdict {
        let verdict = self.verdict(on: fix)
        if verdict.isRecorded { self.reference = Reference(time: fix.time, coordinate: fix.coordinate) }
        return verdict
    }

    /// Copies the last recorded fix from the filter that this filter replaces, so that new settings apply from that fix
    /// on.
    mutating func goOn(from other: CaptureFilter) { self.reference = other.reference }

    /// Forgets the last recorded fix after the device's clock was set. Times before and after the step are not
    /// comparable, so the next fix counts as the first.
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

    /// Returns the least time between two fixes that satisfies `interval`: the interval less a tenth of it, at most 100
    /// ms less. Without this tolerance, a receiver that sends a fix about once a second would lose every second fix.
    private static func tolerated(_ interval: Duration) -> Duration {
        interval - min(interval / 10, .milliseconds(100))
    }
}
