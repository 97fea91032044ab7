/// Begins, measures and ends trips (`docs/reference/capture.md`, "Trips").
///
/// Every change is a new version of the trip, to be recorded and published. Each method takes the name of the next
/// record; a returned version uses that name. Positions must have passed the privacy zones. ``moved(_:at:next:)`` takes
/// every fix, ``recorded(_:at:next:)`` only the recorded ones.
public struct TripStateMachine: Hashable, Sendable {
    /// A new version of a trip, with its cause.
    public enum Change: Hashable, Sendable {
        /// The trip began.
        case started(Trip)
        /// The trip continues, with a new distance, duration and location.
        case progressed(Trip)
        /// The trip ended.
        case ended(Trip)

        /// The new version of the trip.
        public var trip: Trip {
            switch self {
            case .started(let trip), .progressed(let trip), .ended(let trip): trip
            }
        }

        /// The change as an event; `nil` for progress.
        public var happening: Happening? {
            switch self {
            case .started(let trip): Happening(.tripStarted, ["tripId": .text(trip.id), "mode": .text(trip.mode)])
            case .progressed: nil
            case .ended(let trip):
                Happening(
                    .tripEnded,
                    [
                        "tripId": .text(trip.id), "mode": .text(trip.mode), "distance": .number(trip.distance),
                        "duration": .number(trip.duration), "endedBy": .text(trip.endedBy?.rawValue ?? ""),
                    ])
            }
        }
    }

    /// The state of a trip in progress.
    struct Journey: Hashable, Sendable {
        /// The last version of the trip.
        var trip: Trip
        /// The last point that is included in the trip's distance; `nil` before the first.
        var counted: Location?
        /// The begin of the trip on the monotonic clock, as if that clock had run without interruption.
        var startedNow: MonotonicTime
        var lastVersion: MonotonicTime
        var lastFix: MonotonicTime
        /// `true` when a point was added since the last version.
        var hasNews = false
    }

    /// The minimum time between two versions of a trip in progress.
    public static let cadence: Duration = .seconds(60)
    /// The accuracy radius in metres from which a point counts neither for the distance nor as a location. A point with
    /// unknown accuracy counts.
    public static let worstAccuracy = 200.0
    /// The time without a fix after which an automatic trip ends.
    public static let longestSilence: Duration = .seconds(1800)

    /// The mode of automatic trips; `nil` when trips neither begin nor end automatically.
    public private(set) var automatic: TripMode?

    var journey: Journey?
    private var rest: PauseStateMachine
    private var random: SplitMix64

    /// Makes a machine without a trip.
    ///
    /// - Parameters:
    ///   - automatic: The mode of trips that begin with motion and end with a stop; `nil` leaves both to the user.
    ///   - rest: The machine that detects stops, without fixes.
    ///   - seed: The seed of the random generator for trip ids.
    public init(automatic: TripMode? = nil, rest: PauseStateMachine = PauseStateMachine(activity: .other), seed: UInt64)
    {
        self.automatic = automatic
        self.rest = rest
        self.random = SplitMix64(seed: seed)
    }

    /// Returns a machine with the same settings, without a trip, and with another seed.
    public func reseeded(_ seed: UInt64) -> TripStateMachine {
        TripStateMachine(automatic: self.automatic, rest: self.rest.fresh, seed: seed)
    }

    /// Takes over the settings of another machine. A trip in progress continues unchanged.
    public mutating func configure(_ other: TripStateMachine) {
        self.automatic = other.automatic
        self.rest = other.rest.fresh
    }

    /// The last version of the trip in progress; `nil` without one.
    public var current: Trip? { self.journey?.trip }

    /// Returns the trip in progress with its current distance, duration and location; `nil` without one.
    public func status(at moment: Moment) -> Trip? { self.journey.map { Self.updated($0, at: moment) } }

    /// The time at which ``timerFired(at:next:)`` is due; `nil` for never.
    public var nextDeadline: MonotonicTime? {
        guard let journey = self.journey else { return nil }
        let version = journey.hasNews ? journey.lastVersion.advanced(by: Self.cadence) : nil
        let isAutomatic = self.automatic != nil
        let silence = isAutomatic ? journey.lastFix.advanced(by: Self.longestSilence) : nil
        return [version, silence, isAutomatic ? self.rest.nextDeadline : nil].compactMap { $0 }.min()
    }

    /// Begins a trip at the user's request.
    ///
    /// - Throws: ``TrackingError/Code/tripUnderWay`` when a trip is in progress; that trip continues unchanged.
    public mutating func start(_ mode: TripMode, at moment: Moment, next: RecordName) throws(TrackingError) -> Change {
        if let trip = self.journey?.trip {
            throw TrackingError(
                .tripUnderWay, "cannot start a trip: a trip (\(trip.mode)) is in progress; stop it first")
        }
        // The trip begins at the current place, not at the end of an earlier trip.
        self.rest = self.rest.fresh
        return self.begin(mode, at: moment, next: next)
    }

    /// Ends the trip at the user's request.
    ///
    /// - Throws: ``TrackingError/Code/noTrip`` when no trip is in progress.
    public mutating func stop(at moment: Moment, next: RecordName) throws(TrackingError) -> Change {
        guard let change = self.end(.user, at: moment, next: next) else {
            throw TrackingError(.noTrip, "cannot stop a trip: no trip is in progress; start one first")
        }
        return change
    }

    /// Processes a fix, recorded or not, to detect motion and stops.
    ///
    /// - Parameters:
    ///   - fix: The fix, after the privacy zones.
    ///   - moment: The time on both clocks.
    ///   - next: The name of the next record, which a returned version uses.
    /// - Returns: The begin or end of an automatic trip; `nil` for neither.
    public mutating func moved(_ fix: Location, at moment: Moment, next: RecordName) -> Change? {
        guard let mode = self.automatic else { return nil }
        if self.journey == nil { self.rest.rest(with: fix) }
        self.journey?.lastFix = moment.now
        switch self.rest.moved(fix, at: moment) {
        case .paused: return self.end(.automatic, at: moment, next: next)
        case .resumed: return self.journey == nil ? self.begin(mode, at: moment, next: next) : nil
        case nil: return nil
        }
    }

    /// Adds a recorded point to the trip in progress. The point must have the trip id of ``current``.
    ///
    /// - Returns: A new version of the trip when one is due, at most one each ``cadence``; otherwise `nil`.
    public mutating func recorded(_ point: Location, at moment: Moment, next: RecordName) -> Change? {
        guard self.journey != nil, Self.counts(point) else { return nil }
        var place = point
        place.extra = nil
        self.journey?.add(place)
        return self.versionIfDue(at: moment, next: next)
    }

    /// Handles the expiry of ``nextDeadline``. Returns a new version of the trip, or its end; `nil` when nothing is
    /// due.
    public mutating func timerFired(at moment: Moment, next: RecordName) -> Change? {
        guard let journey = self.journey else { return nil }
        if self.automatic != nil {
            let isSilent = moment.now >= journey.lastFix.advanced(by: Self.longestSilence)
            if isSilent { self.rest = self.rest.fresh }
            if isSilent || self.rest.timerFired(now: moment.now) != nil {
                return self.end(.automatic, at: moment, next: next)
            }
        }
        return self.versionIfDue(at: moment, next: next)
    }

    /// Handles a step of the clock: the detection of a stop begins again.
    public mutating func clockStepped() { self.rest.clockStepped() }

    // MARK: - Versions

    private mutating func begin(_ mode: TripMode, at moment: Moment, next: RecordName) -> Change {
        let id = UUIDText.random(using: &self.random)
        let trip = Trip(id: id, mode: mode.rawValue, start: moment.wall, stream: next.stream, seq: next.seq)
        self.journey = Journey(
            trip: trip, startedNow: moment.now, lastVersion: moment.now, lastFix: moment.now)
        return .started(trip)
    }

    private mutating func end(_ by: Trip.Ending, at moment: Moment, next: RecordName) -> Change? {
        guard let journey = self.journey else { return nil }
        var trip = Self.updated(journey, at: moment)
        trip.state = .ended
        // After a clock was set back, the trip ends at its begin, not before it.
        trip.end = max(moment.wall, trip.start)
        trip.endedBy = by
        trip.stream = next.stream
        trip.seq = next.seq
        self.journey = nil
        return .ended(trip)
    }

    private mutating func versionIfDue(at moment: Moment, next: RecordName) -> Change? {
        guard var journey = self.journey, journey.hasNews,
            moment.now >= journey.lastVersion.advanced(by: Self.cadence)
        else { return nil }
        journey.trip = Self.updated(journey, at: moment)
        journey.trip.stream = next.stream
        journey.trip.seq = next.seq
        journey.lastVersion = moment.now
        journey.hasNews = false
        self.journey = journey
        return .progressed(journey.trip)
    }

    static func updated(_ journey: Journey, at moment: Moment) -> Trip {
        var trip = journey.trip
        let duration = max(.zero, journey.startedNow.duration(to: moment.now))
        trip.duration = duration.inSeconds
        // A trip that began before the clock was set gets its correct begin now.
        if !Self.isSet(trip.start), Self.isSet(moment.wall) { trip.start = moment.wall.advanced(by: .zero - duration) }
        return trip
    }

    /// Returns `true` when a time comes from a clock that was set: it is not before the build date of this program.
    static func isSet(_ time: UnixTime) -> Bool { time >= ClockTrust.buildFloor }

    private static func counts(_ point: Location) -> Bool {
        point.source != .predicted && (point.accuracyHorizontal ?? 0) < Self.worstAccuracy
    }
}

extension TripStateMachine.Journey {
    /// Adds a recorded point to the trip. A position that a privacy zone replaced by its centre counts as the trip's
    /// location, but not for its distance.
    fileprivate mutating func add(_ point: Location) {
        self.trip.startLocation = self.trip.startLocation ?? point
        self.trip.lastLocation = point
        self.hasNews = true
        guard point.source != .zone else { return }
        if let counted = self.counted {
            self.trip.distance += counted.coordinate.distance(to: point.coordinate).value
        }
        self.counted = point
    }
}
