/// Processes each fix of the receiver before it is recorded in the log. It applies the clock check, the mock policy,
/// the privacy zones, the motion, the pauses and the capture filter, in this order (`docs/reference/capture.md`, "The
/// order").
///
/// There is one such machine for a device. Trips are processed elsewhere, for each trackable.
public struct CaptureStateMachine: Hashable, Sendable {
    /// The decision whether a fix is recorded or dropped, with its reason.
    public enum Verdict: Hashable, Sendable {
        /// Dropped: the position is a mock (no receiver measured it), and mocks are to be dropped.
        case mock
        /// Dropped: the position is inside a privacy zone with the rule `omit`, which hides positions entirely.
        case hidden
        /// Dropped: recording is paused, because the trackable is stationary.
        case paused
        /// The capture filter decided about the fix, because no earlier step dropped it. The associated value is the
        /// filter's decision.
        case filtered(CaptureFilter.Verdict)
    }

    /// The result of processing one fix: the decision, the position to show, the point to record, and events.
    public struct Outcome: Hashable, Sendable {
        /// The decision whether the fix is recorded or dropped, with its reason.
        public var verdict: Verdict
        /// The position after the privacy zones were applied; `nil` when the fix was dropped as a mock or hidden
        /// entirely. Trips are made from this position. While recording is not paused, the position can also be
        /// published as a raw (unfiltered) position.
        public var shown: Location?
        /// The point to record, with its motion, tracking mode and additional members of `extra` (a JSON object); `nil`
        /// when the fix is not recorded.
        public var point: Location?
        /// The events to publish because of the fix, in order: zones entered or left, the begin or the end of a pause,
        /// and visits.
        public var happenings: [Happening] = []
    }

    /// The settings by which the state machine decides about the recording of fixes on a device.
    public struct Configuration: Hashable, Sendable {
        /// The treatment of mock positions, which no receiver measured.
        public var mock = MockPolicy.mark
        /// The use of the device, such as driving or fitness. It determines which kinds of motion are distinguished.
        public var activity = Activity.other
        /// The state machine that pauses recording while the trackable is stationary; `nil` when recording never
        /// pauses.
        public var pause: PauseStateMachine?
        /// `true` when a VISIT event is published after each stay. Stays are detected by the machine in `pause`, so
        /// there are none when it is `nil`.
        public var reportsVisits = false
        /// The tracking mode to write into recorded points; `nil` leaves the mode that the fix already has.
        public var mode: TrackingMode?
        /// The capture settings to add to each recorded point as statistics; `nil` to add none.
        public var stats: TrackingStats?
        /// The earliest plausible time of the device's wall clock. While the clock shows an earlier time, it counts as
        /// not set. See ``ClockTrust``.
        public var clockFloor = ClockTrust.buildFloor
        /// The earliest plausible time of a fix. An earlier time counts as wrong, and is replaced by the best known
        /// time, if there is one. See ``ClockTrust``.
        public var fixFloor = ClockTrust.buildFloor

        /// Makes the default settings: mock positions are marked as mocks, recording never pauses, and recorded points
        /// get no tracking mode and no statistics.
        public init() {}
    }

    /// The settings of the recording of fixes on the device. Two of them are the treatment of mock positions, and the
    /// conditions under which recording pauses because the trackable is stationary.
    public let configuration: Configuration
    /// The capture filter, which decides by distance, time and accuracy which fixes are recorded.
    public var filter: CaptureFilter
    /// The filter that hides positions in privacy zones. ``PrivacyZones/hidden(_:)`` applies the present zones to a
    /// position that was stored before.
    public private(set) var zones: PrivacyZones
    private var clock: ClockTrust
    private var motion: MotionStateMachine
    private var pause: PauseStateMachine?

    /// Makes the state machine that decides about the recording of fixes by this capture filter, these privacy zones
    /// and these settings. It has not processed a fix yet.
    public init(filter: CaptureFilter, zones: PrivacyZones, configuration: Configuration = Configuration()) {
        self.configuration = configuration
        self.filter = filter
        self.zones = zones
        self.clock = ClockTrust(floor: configuration.clockFloor, fixFloor: configuration.fixFloor)
        self.motion = MotionStateMachine(activity: configuration.activity)
        self.pause = configuration.pause
    }

    /// `true` while recording is paused because the trackable is stationary.
    public var isPaused: Bool { self.pause?.isPaused ?? false }

    /// The time at which ``timerFired(now:)`` must be called, because a pause begins if no fix arrives until then;
    /// `nil` when no call is needed.
    public var nextDeadline: MonotonicTime? { self.pause?.nextDeadline }

    /// Returns the best known time for an event that happens at `moment`, with its source. The device's clock is used
    /// if it is set, else the receiver's last time, continued. Before the first time of a receiver, the time is that of
    /// the unset clock.
    public func stamp(at moment: Moment) -> ClockTrust.Stamp { self.clock.stamp(at: moment) }

    /// Returns the moment with its wall-clock time replaced by the best known time. If the device's clock is not set,
    /// the best known time is the last time of a receiver, continued with the monotonic clock. Before the first time of
    /// a receiver, the moment is returned unchanged.
    public func trusted(_ moment: Moment) -> Moment {
        Moment(now: moment.now, wall: self.clock.stamp(at: moment).time)
    }

    /// Replaces the settings of this machine by those of the machine `other`. The state of this machine remains: the
    /// known time, the occupied zones, the pause and the last recorded point. The motion remains if the activity is the
    /// same.
    ///
    /// - Returns: The events to publish if recording was paused and `other` never pauses: the end of the pause and, if
    ///   visits are reported, the visit. Otherwise empty.
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

    /// Processes a fix that has arrived from the receiver. Returns the decision about the fix, the position to show,
    /// the point to record, and the events to publish.
    ///
    /// - Parameters:
    ///   - fix: The fix.
    ///   - moment: The time of the arrival, on the wall clock and the monotonic clock.
    ///   - wireless: The name of the wireless network to add to the point; `nil` for none.
    public mutating func moved(_ fix: Location, at moment: Moment, wireless: String? = nil) -> Outcome {
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
            let stats = self.configuration.stats?.added(to: shown)
            point = (stats ?? shown).addingWireless(wireless)
        }
        return Outcome(verdict: .filtered(verdict), shown: shown, point: point, happenings: happenings)
    }

    /// Begins a pause of recording if ``nextDeadline`` has passed. The caller must call this function at that time.
    ///
    /// - Returns: The events to publish: the begin of the pause, or none.
    public mutating func timerFired(now: MonotonicTime) -> [Happening] {
        self.events(of: self.pause?.timerFired(now: now))
    }

    /// Forgets the last recorded point, the positions that determine the motion, and the begin of a possible stay,
    /// because the device's clock was set. Times before and after such a step are not comparable. A pause of recording
    /// continues.
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
