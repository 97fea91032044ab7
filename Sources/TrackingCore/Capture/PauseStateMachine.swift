/// Pauses recording while the trackable is stationary, and resumes it when the trackable leaves
/// (`docs/reference/capture.md`, "Pauses").
///
/// The trackable is stationary when no fix during the time ``after`` is outside the ``radius`` around the first of
/// them. A fix counts as outside when it is outside by more than its accuracy radius, of which at most the length of
/// ``radius`` counts. The first fix outside ends the pause. Durations are measured by the times of the fixes.
///
/// Some receivers send no fixes while nothing moves. So a pause also begins at ``nextDeadline``, if the last fix before
/// it reported a standing trackable.
public struct PauseStateMachine: Hashable, Sendable {
    /// The begin or the end of a pause of recording.
    public enum Change: Hashable, Sendable {
        /// Recording pauses, because the trackable has been stationary since the time `since`.
        case paused(since: UnixTime)
        /// Recording resumes, because the trackable left the place where it had been stationary since `since`, or
        /// because pauses were switched off. The time `until` is that of the first fix elsewhere, or of the switch.
        case resumed(since: UnixTime, until: UnixTime)

        /// The PAUSED event for the begin of a pause, or the RESUMED event for its end. See ``visit`` for the VISIT
        /// event.
        public var happening: Happening {
            switch self {
            case .paused(let since): Happening(.paused, ["since": .number(since.seconds)])
            case .resumed(let since, let until):
                Happening(.resumed, ["since": .number(since.seconds), "until": .number(until.seconds)])
            }
        }

        /// The stay that ended with the pause, as a VISIT event; `nil` at the begin of a pause.
        public var visit: Happening? {
            switch self {
            case .paused: nil
            case .resumed(let since, let until):
                Happening(.visit, ["arrival": .number(since.seconds), "departure": .number(until.seconds)])
            }
        }
    }

    private enum State: Hashable, Sendable {
        /// The state machine does not know if the trackable moves or is stationary: it has processed no fix yet, or the
        /// device's clock was set while the trackable moved. Can transition to: `moving`, `paused`.
        case unknown
        /// The trackable moves, or has not been stationary for long enough. `place` and `since` belong to the first fix
        /// of the possible stay. `quiet` is the arrival of the last fix, if it reported a standing trackable. Can
        /// transition to: `paused`, `unknown`.
        case moving(place: Coordinate, since: UnixTime, quiet: MonotonicTime?)
        /// The trackable is stationary at `place` since `since`, and recording is paused. Can transition to: `moving`.
        case paused(place: Coordinate, since: UnixTime)
    }

    /// The radius around a place within which the trackable counts as stationary, > 0 m.
    public let radius: Meters
    /// The time for which the trackable must be stationary before recording pauses, > 0.
    public let after: Duration

    private var state = State.unknown

    /// Makes a machine that pauses recording while the trackable is stationary. It has not processed a fix yet.
    ///
    /// - Parameters:
    ///   - radius: The radius, in metres, within which the trackable counts as stationary.
    ///   - after: The time for which the trackable must be stationary before recording pauses.
    /// - Throws: ``TrackingError/Code/invalidConfiguration`` when the radius is not finite or not above zero, or the
    ///   time is not above zero.
    public init(radius: Meters, after: Duration) throws(TrackingError) {
        guard radius.value > 0, radius.value.isFinite else {
            throw TrackingError(.invalidConfiguration, "the radius of a pause must be above 0 m, not \(radius.value)")
        }
        guard after > .zero else {
            throw TrackingError(.invalidConfiguration, "the time before a pause must be above 0 s, not \(after)")
        }
        self.radius = radius
        self.after = after
    }

    /// Makes a machine that pauses recording while the trackable is stationary, with the radius and the time of an
    /// activity, such as driving.
    public init(activity: Activity) {
        self.radius = activity.pauseRadius
        self.after = activity.pauseAfter
    }

    /// `true` while recording is paused, because the trackable is stationary.
    public var isPaused: Bool {
        if case .paused = self.state { true } else { false }
    }

    /// The place where the trackable is stationary while recording is paused; `nil` while recording is not paused.
    public var place: Coordinate? {
        if case .paused(let place, _) = self.state { place } else { nil }
    }

    /// The time at which a pause begins if no further fix arrives until then. The caller must call ``timerFired(now:)``
    /// at this time. `nil` while a pause cannot begin in this way.
    public var nextDeadline: MonotonicTime? {
        guard case .moving(_, _, let quiet) = self.state else { return nil }
        return quiet?.advanced(by: self.after)
    }

    /// Processes a fix. Returns the begin or the end of a pause of recording; `nil` when the fix causes neither.
    public mutating func moved(_ fix: Location, at moment: Moment) -> Change? {
        let quiet = Self.saysStanding(fix) ? moment.now : nil
        switch self.state {
        case .unknown:
            self.state = .moving(place: fix.coordinate, since: fix.time, quiet: quiet)
            return nil
        case .moving(let place, let since, _):
            guard !self.isOutside(fix, of: place), fix.time >= since else {
                self.state = .moving(place: fix.coordinate, since: fix.time, quiet: quiet)
                return nil
            }
            guard fix.time.since(since) >= self.after else {
                self.state = .moving(place: place, since: since, quiet: quiet)
                return nil
            }
            self.state = .paused(place: place, since: since)
            return .paused(since: since)
        case .paused(let place, let since):
            guard self.isOutside(fix, of: place) else { return nil }
            self.state = .moving(place: fix.coordinate, since: fix.time, quiet: quiet)
            return .resumed(since: since, until: fix.time)
        }
    }

    /// Begins a pause if ``nextDeadline`` has passed without a further fix. Returns the begin of the pause, or `nil` if
    /// the deadline has not passed.
    public mutating func timerFired(now: MonotonicTime) -> Change? {
        guard let deadline = self.nextDeadline, now >= deadline, case .moving(let place, let since, _) = self.state
        else { return nil }
        self.state = .paused(place: place, since: since)
        return .paused(since: since)
    }

    /// A copy of the pause machine with the same radius and time, but in the initial state: it has processed no fix.
    var fresh: Self {
        var fresh = self
        fresh.state = .unknown
        return fresh
    }

    /// Takes over the state (moving or paused, with place and time) of `other`, the pause machine that this machine
    /// replaces after a change of the settings.
    mutating func goOn(from other: PauseStateMachine) { self.state = other.state }

    /// Returns the change that ends the current pause at `time`, because a setting switched pauses off; `nil` when
    /// recording is not paused.
    func ended(at time: UnixTime) -> Change? {
        if case .paused(_, let since) = self.state { .resumed(since: since, until: time) } else { nil }
    }

    /// Begins in a pause at the place of `fix`, if the machine has processed no fix yet. The begin of this pause is not
    /// reported. The first report is therefore its end, when the trackable leaves the place.
    mutating func rest(with fix: Location) {
        if case .unknown = self.state { self.state = .paused(place: fix.coordinate, since: fix.time) }
    }

    /// Handles that the device's clock was set. If recording is paused, the pause continues. Otherwise, the next fix
    /// begins the measurement of a new stay, because its time is not comparable with earlier ones.
    public mutating func clockStepped() {
        switch self.state {
        case .moving: self.state = .unknown
        case .unknown, .paused: break
        }
    }

    /// Returns `true` when a fix is certainly outside the radius around `place`: it is outside by more than the fix's
    /// accuracy radius. The accuracy radius counts at most as much as the pause radius.
    private func isOutside(_ fix: Location, of place: Coordinate) -> Bool {
        let doubt = min(fix.accuracyHorizontal ?? 0, self.radius.value)
        return fix.coordinate.distance(to: place).value > self.radius.value + doubt
    }

    private static func saysStanding(_ fix: Location) -> Bool {
        fix.motion.contains(.stationary) || (fix.speed ?? .infinity) < MotionStateMachine.stationaryBelow
    }
}
