/// What becomes of a fix between the receiver and the log: all deciders of the capture in their order
/// (`docs/capture.md`, "The order"). One for a device; trips are those of each trackable.
public struct CaptureStateMachine: Hashable, Sendable {
    /// Why a fix becomes a record, or does not.
    public enum Verdict: Hashable, Sendable {
        /// Dropped: no receiver measured it, and such positions are rejected.
        case mock
        /// Dropped: inside a zone of which nothing is shown.
        case hidden
        /// Dropped: it stands, and recording pauses.
        case paused
        /// What the filter said: see whether it is recorded.
        case filtered(CaptureFilter.Verdict)
    }

    /// What came of a fix.
    public struct Outcome: Hashable, Sendable {
        /// Why it is recorded, or is not.
        public var verdict: Verdict
        /// The position as far as it may be shown: for trips, and, while ``CaptureStateMachine/isPaused`` is false, for the
        /// raw lane. `nil`: nothing may be.
        public var shown: Location?
        /// The point to record, in whose motion, mode and `extra` all is added that was asked for; `nil`: none.
        public var point: Location?
        /// What happened, in order, to be told as events.
        public var happenings: [Happening] = []
    }

    /// What a device is told once about capturing.
    public struct Configuration: Hashable, Sendable {
        /// What becomes of mock positions.
        public var mock = MockPolicy.mark
        /// What the device is used for.
        public var activity = Activity.other
        /// What pauses recording; `nil`: nothing does.
        public var pause: PauseStateMachine?
        /// Whether stays are told as VISIT events; they are those of `pause`.
        public var tellsVisits = false
        /// What points say about their mode.
        public var mode: TrackingMode?
        /// What rides along with each point; `nil`: nothing does.
        public var stats: TrackingStats?
        /// What the device's clock says below it is not believed.
        public var clockFloor = ClockTrust.buildFloor
        /// What a receiver says below it is not believed.
        public var fixFloor = ClockTrust.buildFloor

        /// Makes a configuration that changes nothing.
        public init() {}
    }

    /// What it was told.
    public let configuration: Configuration
    /// Which fixes become records.
    public var filter: CaptureFilter
    /// What hides positions; kept positions are shown by ``PrivacyZones/hidden(_:)``.
    public private(set) var zones: PrivacyZones
    private var clock: ClockTrust
    private var motion: MotionStateMachine
    private var pause: PauseStateMachine?

    /// Makes a machine that has seen no fix.
    public init(filter: CaptureFilter, zones: PrivacyZones, configuration: Configuration = Configuration()) {
        self.configuration = configuration
        self.filter = filter
        self.zones = zones
        self.clock = ClockTrust(floor: configuration.clockFloor, fixFloor: configuration.fixFloor)
        self.motion = MotionStateMachine(activity: configuration.activity)
        self.pause = configuration.pause
    }

    /// Whether recording is paused.
    public var isPaused: Bool { self.pause?.isPaused ?? false }

    /// When ``timerFired(now:)`` is to happen; `nil` when never.
    public var nextDeadline: MonotonicTime? { self.pause?.nextDeadline }

    /// The time of an event that happens now.
    public func stamp(at moment: Moment) -> ClockTrust.Stamp { self.clock.stamp(at: moment) }

    /// The same moment with the best time that is known in place of a clock that is not set.
    public func trusted(_ moment: Moment) -> Moment {
        Moment(now: moment.now, wall: self.clock.stamp(at: moment).time)
    }

    /// The settings of `other` count from now on. What was found so far stays: the clock, the motion, which zones it is in,
    /// whether it stands, the last point recorded.
    ///
    /// - Returns: What ends with it, to be told as events.
    public mutating func configure(as other: CaptureStateMachine, at moment: Moment) -> [Happening] {
        let last = self
        self = other
        self.filter.goOn(from: last.filter)
        self.zones.goOn(from: last.zones)
        self.clock.goOn(from: last.clock)
        // Another activity has other names for motions.
        if other.motion.activity == last.motion.activity { self.motion = last.motion }
        guard let pause = last.pause else { return [] }
        self.pause?.goOn(from: pause)
        return self.pause == nil ? last.told(pause.ended(at: last.trusted(moment).wall)) : []
    }

    /// A fix arrived.
    ///
    /// - Parameters:
    ///   - delivered: How many fixes the receiver told at once, this one included.
    ///   - wireless: The name of the wireless network, where it is to ride along.
    public mutating func moved(
        _ fix: Location, at moment: Moment, delivered: Int = 1, wireless: String? = nil
    ) -> Outcome {
        guard let real = self.configuration.mock.applied(to: self.clock.stamped(fix, at: moment)) else {
            return Outcome(verdict: .mock)
        }
        let seen = self.zones.moved(real)
        guard var shown = seen.location else { return Outcome(verdict: .hidden, happenings: seen.crossings) }
        // What stands for a zone has no motion: it would tell what goes on inside.
        if shown.source != .zone { shown = self.motion.label(shown) }
        shown.mode = self.configuration.mode ?? shown.mode
        let happenings = seen.crossings + self.told(self.pause?.moved(shown, at: moment))
        guard !self.isPaused else { return Outcome(verdict: .paused, shown: shown, happenings: happenings) }
        let verdict = self.filter.consider(shown)
        var point: Location?
        if verdict.isRecorded {
            let stats = self.configuration.stats?.added(to: shown, delivered: delivered)
            point = (stats ?? shown).addingWireless(wireless)
        }
        return Outcome(verdict: .filtered(verdict), shown: shown, point: point, happenings: happenings)
    }

    /// The time is `now`.
    ///
    /// - Returns: What happened, to be told as events.
    public mutating func timerFired(now: MonotonicTime) -> [Happening] {
        self.told(self.pause?.timerFired(now: now))
    }

    /// The device's clock was set: times before and after cannot be compared.
    public mutating func clockStepped() {
        self.filter.clockStepped()
        self.motion.clockStepped()
        self.pause?.clockStepped()
    }

    private func told(_ change: PauseStateMachine.Change?) -> [Happening] {
        guard let change else { return [] }
        return [change.happening, self.configuration.tellsVisits ? change.visit : nil].compactMap { $0 }
    }
}
