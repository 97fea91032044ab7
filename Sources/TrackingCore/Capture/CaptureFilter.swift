/// Decides which fixes of the receiver are recorded in the device's log (`docs/reference/capture.md`, "Capture
/// filter").
///
/// The filter compares each fix with the last *recorded* fix. Times are the times of the fixes, not of their arrival. A
/// fix with the same time as the last recorded one is judged by the same rules.
public struct CaptureFilter: Hashable, Sendable {
    /// The decision whether a fix is recorded or dropped, with its reason. If several reasons apply, the first case in
    /// this list is returned.
    public enum Verdict: Hashable, Sendable, CaseIterable {
        /// Dropped: the fix's accuracy radius is above ``CaptureFilter/maximumAccuracyRadius``. This reason never
        /// applies to a fix with an unknown accuracy.
        case tooInaccurate
        /// Recorded: there is no earlier fix to compare with. Either no fix was recorded yet, or the device's clock was
        /// set since.
        case first
        /// Recorded: the time of the fix is before that of the last recorded fix, for example because the receiver's
        /// clock was set back. Such a fix is not dropped.
        case wentBack
        /// Recorded: a subscriber's request is in force, and the fix meets the resolution in
        /// ``CaptureFilter/requested``. The settings of the filter do not apply then, except the maximum accuracy
        /// radius.
        case requested
        /// Recorded: the distance from the last recorded fix is large enough to be a ``SignificantChange``. The minimum
        /// time and distance do not apply then.
        case significant
        /// Dropped: only significant changes (500 m or more from the last recorded fix) are recorded, and the fix is
        /// closer.
        case insignificant
        /// Dropped: less than ``CaptureFilter/minimumTime`` has passed since the last recorded fix. A tenth of that
        /// time, at most 100 ms, may be missing.
        case tooSoon
        /// Dropped: the fix is closer than ``CaptureFilter/minimumDistance`` to the last recorded fix.
        case tooClose
        /// Dropped: the fix comes too soon or too close after the last recorded one for ``CaptureFilter/resolution``.
        /// With the rule `both`, its interval or its displacement is not reached; with `either`, both are not reached.
        case tooFine
        /// Recorded: no setting of the filter excludes the fix.
        case recorded

        /// `true` if the decision is to record the fix.
        public var isRecorded: Bool {
            switch self {
            case .first, .wentBack, .requested, .significant, .recorded: true
            case .tooInaccurate, .insignificant, .tooSoon, .tooClose, .tooFine: false
            }
        }
    }

    /// The rule for a fix at a large distance from the last recorded fix.
    public enum SignificantChange: Hashable, Sendable {
        /// There is no rule for large distances. Only the other settings of the filter, such as
        /// ``CaptureFilter/minimumDistance``, apply.
        case off
        /// A fix at least this many metres (> 0) from the last recorded fix is recorded, even before the minimum time
        /// has passed. A fix that is too inaccurate is dropped nevertheless.
        case also(Meters)
        /// Only fixes at least ``CaptureFilter/significantDistance`` (500 m) from the last recorded fix are recorded.
        case only
    }

    /// The distance that a fix must have from the last recorded fix to be recorded with `SignificantChange.only`: 500
    /// m.
    public static let significantDistance: Meters = 500

    /// A resolution that fixes may meet, and the rule for its interval and displacement.
    public struct Requested: Hashable, Sendable {
        /// The minimum interval and displacement between two fixes. The accuracy has no effect on the filter.
        public var resolution: Resolution
        /// The rule that combines the two. With `both`, a fix meets the resolution when the interval and the
        /// displacement are reached; with `either`, when one of them is reached.
        public var rule: FilterRule

        /// Makes a resolution that fixes may meet by this rule.
        public init(_ resolution: Resolution, rule: FilterRule) {
            self.resolution = resolution
            self.rule = rule
        }
    }

    private struct Reference: Hashable, Sendable {
        let time: UnixTime
        let coordinate: Coordinate
    }

    /// The minimum distance between two recorded points in metres, ≥ 0; zero for no minimum.
    public var minimumDistance: Meters
    /// The minimum time between two recorded points, ≥ 0; zero for no minimum. A tenth of it, at most 100 ms, may be
    /// missing.
    public var minimumTime: Duration
    /// The maximum accuracy radius (68 % confidence) of a recorded point, in metres; `nil` for no maximum.
    public var maximumAccuracyRadius: Meters?
    /// The rule for a fix at a large distance from the last recorded fix.
    public var significantChange: SignificantChange
    /// The minimum interval and displacement between two recorded fixes. Set it for a receiver that cannot limit its
    /// fixes itself; `nil` for a receiver that can.
    public var resolution: Resolution?
    /// The rule that combines the interval and the displacement of ``resolution``. With `both`, a fix is recorded when
    /// both are reached; with `either`, when one of them is reached.
    public var rule: FilterRule
    /// The resolution in force because of subscribers' requests; `nil` while there are no requests. A fix that meets it
    /// is recorded in spite of the minimum time, the minimum distance and the rule for large distances. So the
    /// subscribers receive the positions that the published resolution promises.
    public var requested: Requested?

    private var reference: Reference?

    /// Makes a filter that has recorded no fix yet. With the default values, it records every fix.
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
            throw TrackingError(
                .invalidConfiguration, "the distance of a significant change must be above 0 m, not \(metres.value)")
        }
        self.minimumDistance = minimumDistance
        self.minimumTime = minimumTime
        self.maximumAccuracyRadius = maximumAccuracyRadius
        self.significantChange = significantChange
        self.resolution = resolution
        self.rule = rule
    }

    /// Decides if a fix is recorded, and returns the decision. The next fix is compared with the last fix that was
    /// recorded.
    public mutating func consider(_ fix: Location) -> Verdict {
        let verdict = self.verdict(on: fix)
        if verdict.isRecorded { self.reference = Reference(time: fix.time, coordinate: fix.coordinate) }
        return verdict
    }

    /// Copies the last recorded fix from the earlier filter `other`, which this filter replaces. So the next fix is
    /// compared with that fix under the new settings.
    mutating func goOn(from other: CaptureFilter) { self.reference = other.reference }

    /// Forgets the last recorded fix, because the device's clock was set. Times before and after this step are not
    /// comparable, so the next fix is recorded like the first one.
    public mutating func clockStepped() { self.reference = nil }

    private func verdict(on fix: Location) -> Verdict {
        if let most = self.maximumAccuracyRadius, let radius = fix.accuracyHorizontal, radius > most.value {
            return .tooInaccurate
        }
        guard let reference = self.reference else { return .first }
        if fix.time < reference.time { return .wentBack }
        let distance = fix.coordinate.distance(to: reference.coordinate)
        let elapsed = fix.time.since(reference.time)
        if let requested, Self.meets(requested.resolution, requested.rule, elapsed, distance) { return .requested }
        switch self.significantChange {
        case .off: break
        case .also(let metres): if distance >= metres { return .significant }
        case .only: return distance >= Self.significantDistance ? .significant : .insignificant
        }
        if elapsed < Self.tolerated(self.minimumTime) { return .tooSoon }
        if distance < self.minimumDistance { return .tooClose }
        guard let resolution = self.resolution else { return .recorded }
        return Self.meets(resolution, self.rule, elapsed, distance) ? .recorded : .tooFine
    }

    /// Returns `true` if a fix is far enough in time and distance from the last recorded one for `resolution`.
    private static func meets(
        _ resolution: Resolution, _ rule: FilterRule, _ elapsed: Duration, _ distance: Meters
    ) -> Bool {
        let isLater = elapsed >= Self.tolerated(resolution.desiredInterval)
        let isFarther = distance >= resolution.minimumDisplacement
        switch rule {
        case .both: return isLater && isFarther
        case .either: return isLater || isFarther
        }
    }

    /// Returns the interval reduced by a tolerance: a tenth of it, but at most 100 ms. Without the tolerance, a
    /// receiver that sends a fix about once a second would lose every second fix.
    private static func tolerated(_ interval: Duration) -> Duration {
        interval - min(interval / 10, .milliseconds(100))
    }
}
