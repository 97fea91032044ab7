/// Processes a fix between the receiver and the log, with all filters of the capture in their order
/// (`docs/reference/capture.md`, "The order"). A device has one such machine; trips are separate, one machine for each
/// trackable.
public struct CaptureStateMachine: Hashable, Sendable {
    /// The decision whether a fix becomes a record, with its reason.
    public enum Verdict: Hashable, Sendable {
        /// Dropped: the position is a mock, and mocks are rejected.
        case mock
        /// Dropped: the position is inside a privacy zone that omits positions.
        case hidden
        /// Dropped: the trackable is stationary, and recording is paused.
        case paused
        /// The fix passed all other checks, and the capture filter decided with this verdict.
        case filtered(CaptureFilter.Verdict)
    }

    /// The result of processing a fix.
    public struct Outcome: Hashable, Sendable {
        /// The decision with its reason.
        public var verdict: Verdict
        /// The position with zones applied, for trips and, while ``CaptureStateMachine/isPaused`` is `false`, for the
        /// raw lane. `nil` when no position may be shown.
        public var shown: Location?
        /// The point to record, with motion, mode and the requested members of `extra`; `nil` when none is recorded.
        public var point: Location?
        /// The events to publish, in order.
        public var happenings: [Happening] = []
    }

    /// The settings of a device's capture.
    public struct Configuration: Hashable, Sendable {
        /// The treatment of mock positions.
        public var mock = MockPolicy.mark
        /// The use of the device. It sets the radius and the time of pauses and the kinds of motion that are
        /// distinguished.
        public var activity = Activity.other
        /// The machine that pauses recording; `nil` when recording never pauses.
        public var pause: PauseStateMachine?
        /// `true` when stays are published as VISIT events. Stays are detected by `pause`.
        public var reportsVisits = false
        /// The tracking mode to write into points; `nil` leaves the mode of the fix.
        public var mode: TrackingMode?
        /// The statistics to add to each point; `nil` for none.
        public var stats: TrackingStats?
        /// The wall-clock time below which the device's clock counts as not set. See ``ClockTrust``.
        public var clockFloor = ClockTrust.buildFloor
        /// The time below which the time that a receiver gives to a fix counts as wrong.
        public var fixFloor = ClockTrust.buildFloor

        /// Makes a configuration that leaves fixes unchanged, apart from marking mocks.
        public init() {}
    }

    /// The settings.
    public let configuration: Configuration
    /// The filter that decides which fixes become records.
    public var filter: CaptureFilter
    /// The privacy zones. ``PrivacyZones/hidden(_:)`` applies them to stored positions.
    public private(set) var zones: PrivacyZones
    private var clock: ClockTrust
    private var motion: MotionStateMachine
    private var pause: PauseStateMachine?

    /// Makes a machine that has not processed a fix yet.
    public init(filter: CaptureFilter, zones: PrivacyZones, configuration: Configuration = Configuration()) {
        self.configuration = configuration
        self.filter = filter
        self.zones = zones
        self.clock = ClockTrust(floor: configuration.clockFloor, fixFloor: configuration.fixFloor)
        self.motion = MotionStateMachine(activity: configuration.activity)
        self.pause = configuration.pause
    }

    /// `true` while recording is paused.
    public var isPaused: Bool { self.pause?.isPaused ?? false }

    /// The time at which ``timerFired(now:)`` is due; `nil` for never.
    public var nextDeadline: MonotonicTime? { self.pause?.nextDeadline }

    /// Returns the time stamp for an event that happens now.
    public func stamp(at moment: Moment) -> ClockTrust.Stamp { self.clock.stamp(at: moment) }

    /// Returns the moment with the best known time in place of the time of a clock that is not set.
    public func trusted(_ moment: Moment) -> Moment {
        Moment(now: moment.now, wall: self.clock.stamp(at: moment).time)
    }

    /// Takes over the settings of another machine. This machine keeps its state: the clock's trust, the motion, the
    /// zones that the trackable is in, the pause and the last recorded point.
    ///
    /// - Returns: The events to publish, because the new settings end a pause. Usually empty.
    public mutating func configure(as other: CaptureStateMachine, at moment: Moment) -> [Happening] {
        let last = self
        self = other
        self.filter.goOn(from: last.filter)
        self.zones.goOn(from: last.zones)
        self.clock.goOn(from: last.clock)
        // Another activity distinguishes other kinds of motion.
        if other.motion.activity == last.motion.activity { self.motion = last.motion }
        guard let pause = last.pause else { return [] }
        self.pause?.goOn(from: pause)
        return self.pause == nil ? last.events(of: pause.ended(at: last.trusted(moment).wall)) : []
    }

    /// Processes a fix that has arrived.
    ///
    /// - Parameters:
    ///   - fix: The fix.
    ///   - moment: The time on both clocks.
    ///   - delivered: The number of fixes that the receiver delivered together, including this one.
    ///   - wireless: The name of the wireless network to add to the point; `nil` for none.
    public mutating func moved(
        _ fix: Location, at moment: Moment, delivered: Int = 1, wireless: String? = nil
    ) -> Outcome {
        guard let real = self.configuration.mock.applied(to: self.clock.stamped(fix, at: moment)) else {
            return Outcome(verdict: .mock)
        }
        let seen = self.zones.moved(real)
        guard var shown = seen.location else { return Outcome(verdict: .hidden, happenings: seen.crossings) }
        // The centre of a zone has no motion, because it would reveal movements inside the zone.
        if shown.source != .zone { shown = self.motion.label(shown) }
        shown.mode = self.configuration.mode ?? shown.mode
        let happenings = seen.crossings + self.events(of: self.pause?.moved(shown, at: moment))
        guard !self.isPaused else { return Outcome(verdict: .paused, shown: shown, happenings: happenings) }
        let verdict = self.filter.consider(shown)
        var point: Location?
        if verdict.isRecorded {
            let stats = self.configuration.stats?.added(to: shown, delivered: delivered)
            point = (stats ?? shown).addingWireless(wireless)
        }
        return Outcome(verdict: .filtered(verdict), shown: shown, point: point, happenings: happenings)
    }

    /// Handles the expiry of ``nextDeadline``.
    ///
    /// - Returns: The events to publish.
    public mutating func timerFired(now: MonotonicTime) -> [Happening] {
        self.events(of: self.pause?.timerFired(now: now))
    }

    /// Handles a step of the device's clock: forgets what was measured by times before the step, because times before
    /// and after it are not comparable.
    public mutating func clockStepped() {
        self.filter.clockStepped()
        self.motion.clockStepped()
        self.pause?.clockStepped()
    }

    private func events(of change: PauseStateMachine.Change?) -> [Happening] {
        guard let change else { return [] }
        return [change.happening, self.configuration.reportsVisits ? change.visit : nil].compactMap { $0 }
    }
}
