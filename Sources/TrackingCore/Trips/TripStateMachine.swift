/// A state machine that begins, measures and ends the trips of one trackable (`docs/reference/capture.md`, "Trips").
///
/// Each change produces a new version of the trip, a complete copy with the new values. The caller records and
/// publishes the version. In each call, `next` is the stream and number that the next record will have in the device's
/// log. A version that the call returns has this stream and number.
///
/// The caller applies the privacy zones to each fix. Then it gives every fix to ``moved(_:at:next:)``, and only
/// recorded fixes to ``recorded(_:at:next:)``.
public struct TripStateMachine: Hashable, Sendable {
    /// A new version of a trip, with its cause: the trip began, progressed or ended.
    public enum Change: Hashable, Sendable {
        /// The first version of a trip that has begun.
        case started(Trip)
        /// A further version of a trip in progress, with a new distance, duration and location.
        case progressed(Trip)
        /// The last version of a trip, which has ended.
        case ended(Trip)

        /// The new version of the trip that began, progressed or ended.
        public var trip: Trip {
            switch self {
            case .started(let trip), .progressed(let trip), .ended(let trip): trip
            }
        }

        /// The event that reports that the trip began or ended; `nil` if the trip only progressed.
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

    /// The state of the trip in progress, from which its next versions are made.
    struct Journey: Hashable, Sendable {
        /// The newest version of the trip in progress.
        var trip: Trip
        /// The last point that is included in the trip's distance; `nil` before the first.
        var counted: Location?
        /// The begin of the trip on the monotonic clock. After a restart of the program, the begin is computed from the
        /// trip's duration so far.
        var startedNow: MonotonicTime
        var lastVersion: MonotonicTime
        var lastFix: MonotonicTime
        /// `true` when a point was added to the trip since the last version of the trip was made.
        var hasNews = false
    }

    /// The minimum time between two versions of a trip in progress. A version is a record with the trip's current
    /// values.
    public static let cadence: Duration = .seconds(60)
    /// The accuracy radius, in metres, from which the trip ignores a point: neither its distance nor its location uses
    /// the point. A point of unknown accuracy is used.
    public static let worstAccuracy = 200.0
    /// The time without a fix after which a trip ends. The rule applies only while automatic trips are on.
    public static let longestSilence: Duration = .seconds(1800)

    /// The mode of travel of trips that the machine begins and ends itself; `nil` when only the user begins and ends
    /// trips.
    public private(set) var automatic: TripMode?

    var journey: Journey?
    private var rest: PauseStateMachine
    private var random: SplitMix64

    /// Makes a state machine without a trip in progress.
    ///
    /// - Parameters:
    ///   - automatic: The mode of travel of trips that begin with motion and end with a stop; `nil` when only the user
    ///     begins and ends trips.
    ///   - rest: The machine that detects motion and stops. It has not received a fix yet.
    ///   - seed: The seed of the random generator for trip ids.
    public init(automatic: TripMode? = nil, rest: PauseStateMachine = PauseStateMachine(activity: .other), seed: UInt64)
    {
        self.automatic = automatic
        self.rest = rest
        self.random = SplitMix64(seed: seed)
    }

    /// Returns a state machine for trips with the same settings, without a trip, and with another random seed.
    public func reseeded(_ seed: UInt64) -> TripStateMachine {
        TripStateMachine(automatic: self.automatic, rest: self.rest.fresh, seed: seed)
    }

    /// Replaces the settings for automatic trips by those of another machine. The detection of motion and stops begins
    /// again. A trip in progress continues unchanged.
    public mutating func configure(_ other: TripStateMachine) {
        self.automatic = other.automatic
        self.rest = other.rest.fresh
    }

    /// The newest version of the trip in progress; `nil` when no trip is in progress.
    public var current: Trip? { self.journey?.trip }

    /// Returns the trip in progress with its current distance, duration and location; `nil` when no trip is in
    /// progress.
    public func status(at moment: Moment) -> Trip? { self.journey.map { Self.updated($0, at: moment) } }

    /// The time at which the caller must call ``timerFired(at:next:)``; `nil` when the machine waits for no time.
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

    /// Processes a fix to detect motion and stops. The caller gives every fix, also one that is not recorded. The
    /// machine ignores it when automatic trips are off.
    ///
    /// - Parameters:
    ///   - fix: The fix, after the privacy zones were applied.
    ///   - moment: The time on both clocks.
    ///   - next: The stream and number for the next record. A returned version has this name.
    /// - Returns: The begin of a trip after motion, or the end of the trip after a stop; `nil` for neither.
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

    /// Adds a recorded point to the distance and location of the trip in progress. The point must have the trip id of
    /// ``current``. Predicted points and points with an accuracy of ``worstAccuracy`` or worse are ignored.
    ///
    /// - Returns: A new version of the trip if ``cadence`` has passed since the last version; otherwise `nil`.
    public mutating func recorded(_ point: Location, at moment: Moment, next: RecordName) -> Change? {
        guard self.journey != nil, Self.counts(point) else { return nil }
        var place = point
        place.extra = nil
        self.journey?.add(place)
        return self.versionIfDue(at: moment, next: next)
    }

    /// Handles the expiry of the timer for ``nextDeadline``.
    ///
    /// - Returns: A new version of the trip in progress, or the end of the trip; `nil` when nothing is due. A stop, or
    ///   ``longestSilence`` without a fix, ends the trip if automatic trips are on.
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

    /// Handles a jump of the device's wall clock. The detection of a stop begins again. The trip continues.
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

    /// Returns `true` when a time comes from a clock that was set. A time before the build date of this program comes
    /// from a clock that was never set.
    static func isSet(_ time: UnixTime) -> Bool { time >= ClockTrust.buildFloor }

    private static func counts(_ point: Location) -> Bool {
        point.source != .predicted && (point.accuracyHorizontal ?? 0) < Self.worstAccuracy
    }
}

extension TripStateMachine.Journey {
    /// Adds a recorded point to the trip's location and distance.
    ///
    /// A privacy zone replaces a position inside it by the centre of the zone. Such a point changes the location of the
    /// trip, but not the distance.
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
