/// Pauses recording where the trackable stands, and resumes it when it leaves (`docs/capture.md`, "Pauses").
///
/// It stands when all fixes of ``after`` lay within ``radius`` of the first of them; it has left when a fix lies outside the
/// radius by more than its own uncertainty. Durations are those of the fixes' own times. A receiver that stays silent because
/// nothing moves counts as standing as well, where its last fix said so: that is what the deadline is for.
public struct PauseStateMachine: Hashable, Sendable {
    /// What changed.
    public enum Change: Hashable, Sendable {
        /// It stands since `since`: recording pauses.
        case paused(since: UnixTime)
        /// It left the place where it stood from `since` on: recording goes on, with the fix that told.
        case resumed(since: UnixTime, until: UnixTime)

        /// The change as an event; a stay as a VISIT is ``visit``.
        public var happening: Happening {
            switch self {
            case .paused(let since): Happening(.paused, ["since": .number(since.seconds)])
            case .resumed(let since, let until):
                Happening(.resumed, ["since": .number(since.seconds), "until": .number(until.seconds)])
            }
        }

        /// The stay that has ended, as an event; `nil` while it goes on.
        public var visit: Happening? {
            switch self {
            case .paused: nil
            case .resumed(let since, let until):
                Happening(.visit, ["arrival": .number(since.seconds), "departure": .number(until.seconds)])
            }
        }
    }

    private enum State: Hashable, Sendable {
        /// No fix yet. Can transition to: `moving`.
        case unknown
        /// Not long enough in one place. `quiet`: when the last fix came, if it said that nothing moves. Can transition to:
        /// `paused`.
        case moving(place: Coordinate, since: UnixTime, quiet: MonotonicTime?)
        /// In one place. Can transition to: `moving`.
        case paused(place: Coordinate, since: UnixTime)
    }

    /// The radius around a place, > 0 m.
    public let radius: Meters
    /// How long it must stand, > 0.
    public let after: Duration

    private var state = State.unknown

    /// Makes a machine that was told nothing.
    ///
    /// - Throws: `invalidConfiguration` when the radius or the time is not above zero.
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

    /// Makes a machine with the figures of an activity.
    public init(activity: Activity) {
        self.radius = activity.pauseRadius
        self.after = activity.pauseAfter
    }

    /// Whether recording is paused.
    public var isPaused: Bool {
        if case .paused = self.state { true } else { false }
    }

    /// The place where it stands; `nil` while it does not.
    public var place: Coordinate? {
        if case .paused(let place, _) = self.state { place } else { nil }
    }

    /// When silence makes a pause; `nil` when it does not.
    public var nextDeadline: MonotonicTime? {
        guard case .moving(_, _, let quiet) = self.state else { return nil }
        return quiet?.advanced(by: self.after)
    }

    /// A fix arrived.
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

    /// The time is `now`.
    public mutating func timerFired(now: MonotonicTime) -> Change? {
        guard let deadline = self.nextDeadline, now >= deadline, case .moving(let place, let since, _) = self.state
        else { return nil }
        self.state = .paused(place: place, since: since)
        return .paused(since: since)
    }

    /// The same machine, told nothing.
    var fresh: Self {
        var fresh = self
        fresh.state = .unknown
        return fresh
    }

    /// What `other` has seen counts here as well.
    mutating func goOn(from other: PauseStateMachine) { self.state = other.state }

    /// Nothing pauses any more; `nil` where nothing did.
    func ended(at time: UnixTime) -> Change? {
        if case .paused(_, let since) = self.state { .resumed(since: since, until: time) } else { nil }
    }

    /// Before the first fix, it counts as standing where that is: only leaving it is a change.
    mutating func rest(with fix: Location) {
        if case .unknown = self.state { self.state = .paused(place: fix.coordinate, since: fix.time) }
    }

    /// The clock was set: a stay that has not become a pause begins anew with the next fix. A pause goes on.
    public mutating func clockStepped() {
        switch self.state {
        case .moving: self.state = .unknown
        case .unknown, .paused: break
        }
    }

    /// Whether a fix lies outside the radius for certain: by more than its own, which counts for one more radius at most.
    private func isOutside(_ fix: Location, of place: Coordinate) -> Bool {
        let doubt = min(fix.accuracyHorizontal ?? 0, self.radius.value)
        return fix.coordinate.distance(to: place).value > self.radius.value + doubt
    }

    private static func saysStanding(_ fix: Location) -> Bool {
        fix.motion.contains(.stationary) || (fix.speed ?? .infinity) < MotionStateMachine.stationaryBelow
    }
}
