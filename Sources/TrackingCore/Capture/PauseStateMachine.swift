/// Pauses recording while the trackable is stationary, and resumes it when the trackable leaves
/// (`docs/reference/capture.md`, "Pauses").
///
/// The trackable is stationary when all fixes during ``after`` were within ``radius`` of the first of them. It has left
/// when a fix is outside the radius by more than the fix's accuracy radius. Durations are measured by the fixes' own
/// times. A receiver may also stop sending fixes while nothing moves. If its last fix was stationary, the trackable
/// counts as stationary when ``nextDeadline`` expires.
public struct PauseStateMachine: Hashable, Sendable {
    /// The begin or the end of a pause.
    public enum Change: Hashable, Sendable {
        /// The trackable has been stationary since `since`, and recording pauses.
        case paused(since: UnixTime)
        /// The trackable left the place where it was stationary since `since`. Recording continues with the fix at
        /// `until`.
        case resumed(since: UnixTime, until: UnixTime)

        /// The change as a PAUSED or RESUMED event. See ``visit`` for the VISIT event.
        public var happening: Happening {
            switch self {
            case .paused(let since): Happening(.paused, ["since": .number(since.seconds)])
            case .resumed(let since, let until):
                Happening(.resumed, ["since": .number(since.seconds), "until": .number(until.seconds)])
            }
        }

        /// The completed stay as a VISIT event; `nil` at the begin of a pause.
        public var visit: Happening? {
            switch self {
            case .paused: nil
            case .resumed(let since, let until):
                Happening(.visit, ["arrival": .number(since.seconds), "departure": .number(until.seconds)])
            }
        }
    }

    private enum State: Hashable, Sendable {
        /// No fix was processed yet. Can transition to: `moving`, `paused`.
        case unknown
        /// The trackable is not stationary for long enough. `quiet` is the arrival of the last fix if it was
        /// stationary. Can transition to: `paused`, `unknown`.
        case moving(place: Coordinate, since: UnixTime, quiet: MonotonicTime?)
        /// The trackable is stationary. Can transition to: `moving`.
        case paused(place: Coordinate, since: UnixTime)
    }

    /// The radius around a place, > 0 m.
    public let radius: Meters
    /// The time for which the trackable must be stationary, > 0.
    public let after: Duration

    private var state = State.unknown

    /// Makes a machine that has not processed a fix yet.
    ///
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

    /// Makes a machine with the radius and the time of an activity.
    public init(activity: Activity) {
        self.radius = activity.pauseRadius
        self.after = activity.pauseAfter
    }

    /// `true` while recording is paused.
    public var isPaused: Bool {
        if case .paused = self.state { true } else { false }
    }

    /// The place where the trackable is stationary; `nil` when it is not.
    public var place: Coordinate? {
        if case .paused(let place, _) = self.state { place } else { nil }
    }

    /// The time at which the absence of further fixes begins a pause, and at which ``timerFired(now:)`` is to be
    /// called; `nil` when no pause can begin without a fix.
    public var nextDeadline: MonotonicTime? {
        guard case .moving(_, _, let quiet) = self.state else { return nil }
        return quiet?.advanced(by: self.after)
    }

    /// Processes a fix. Returns the begin or the end of a pause; `nil` when neither happened.
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

    /// Handles the expiry of ``nextDeadline``. Returns the begin of a pause; `nil` when the deadline has not been
    /// reached.
    public mutating func timerFired(now: MonotonicTime) -> Change? {
        guard let deadline = self.nextDeadline, now >= deadline, case .moving(let place, let since, _) = self.state
        else { return nil }
        self.state = .paused(place: place, since: since)
        return .paused(since: since)
    }

    /// A copy of the machine with the same radius and time that has processed no fix yet.
    var fresh: Self {
        var fresh = self
        fresh.state = .unknown
        return fresh
    }

    /// Copies the state (moving or paused, and the place) from the machine that this machine replaces.
    mutating func goOn(from other: PauseStateMachine) { self.state = other.state }

    /// Returns the end of the current pause, because pauses are switched off; `nil` when recording is not paused.
    func ended(at time: UnixTime) -> Change? {
        if case .paused(_, let since) = self.state { .resumed(since: since, until: time) } else { nil }
    }

    /// Treats the trackable as stationary at the place of this first fix, so that the machine reports nothing until the
    /// trackable leaves that place.
    mutating func rest(with fix: Location) {
        if case .unknown = self.state { self.state = .paused(place: fix.coordinate, since: fix.time) }
    }

    /// Handles a step of the clock. A stay that is not a pause yet begins again with the next fix; a pause continues.
    public mutating func clockStepped() {
        switch self.state {
        case .moving: self.state = .unknown
        case .unknown, .paused: break
        }
    }

    /// Returns `true` when a fix is certainly outside the radius around `place`: its distance exceeds the radius by
    /// more than the fix's accuracy radius. An accuracy radius above the pause radius counts as the pause radius.
    private func isOutside(_ fix: Location, of place: Coordinate) -> Bool {
        let doubt = min(fix.accuracyHorizontal ?? 0, self.radius.value)
        return fix.coordinate.distance(to: place).value > self.radius.value + doubt
    }

    private static func saysStanding(_ fix: Location) -> Bool {
        fix.motion.contains(.stationary) || (fix.speed ?? .infinity) < MotionStateMachine.stationaryBelow
    }
}
