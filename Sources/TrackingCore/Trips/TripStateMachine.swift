/// Begins, measures and ends trips (`docs/capture.md`, "Trips").
///
/// Every change is a version of the trip, to be recorded and shown; each method is told the name that the next record gets,
/// and a version, where one is returned, has taken it. Positions come in after zones were applied: ``moved(_:at:next:)`` gets
/// every fix, ``recorded(_:at:next:)`` those that became records.
public struct TripStateMachine: Hashable, Sendable {
    /// A version of a trip, and what it was made for.
    public enum Change: Hashable, Sendable {
        /// The trip began.
        case started(Trip)
        /// It goes on: the newest distance, duration and location.
        case progressed(Trip)
        /// It ended.
        case ended(Trip)

        /// The version.
        public var trip: Trip {
            switch self {
            case .started(let trip), .progressed(let trip), .ended(let trip): trip
            }
        }

        /// The change as an event; `nil` for mere progress.
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

    /// A trip under way.
    struct Journey: Hashable, Sendable {
        /// The last version.
        var trip: Trip
        /// The last point that the distance was measured to.
        var counted: Location?
        /// When it would have begun, had the monotonic clock run all the time.
        var startedNow: MonotonicTime
        var lastVersion: MonotonicTime
        var lastFix: MonotonicTime
        /// Whether a point came since the last version.
        var hasNews = false
    }

    /// How often a trip under way is shown and recorded anew, at most.
    public static let cadence: Duration = .seconds(60)
    /// Points with this radius of accuracy or more, in metres, count neither for the distance nor as places. Unknown is less.
    public static let worstAccuracy = 200.0
    /// A trip that ends by itself ends also when there was no fix for so long.
    public static let longestSilence: Duration = .seconds(1800)

    /// The mode of trips that begin by themselves; `nil`: none does, and none ends by itself.
    public private(set) var automatic: TripMode?

    var journey: Journey?
    private var rest: PauseStateMachine
    private var random: SplitMix64

    /// Makes a machine without a trip.
    ///
    /// - Parameters:
    ///   - automatic: The mode of trips that begin on motion and end by standing; `nil` leaves both to the user.
    ///   - rest: What counts as standing and as leaving; one that was told nothing.
    ///   - seed: What ids are drawn from.
    public init(automatic: TripMode? = nil, rest: PauseStateMachine = PauseStateMachine(activity: .other), seed: UInt64)
    {
        self.automatic = automatic
        self.rest = rest
        self.random = SplitMix64(seed: seed)
    }

    /// The same without a trip, with ids of its own.
    public func reseeded(_ seed: UInt64) -> TripStateMachine {
        TripStateMachine(automatic: self.automatic, rest: self.rest.fresh, seed: seed)
    }

    /// Begins and ends trips as `other` does from now on; the trip under way goes on.
    public mutating func configure(_ other: TripStateMachine) {
        self.automatic = other.automatic
        self.rest = other.rest.fresh
    }

    /// The trip under way, as of its last version; `nil` when there is none.
    public var current: Trip? { self.journey?.trip }

    /// What the trip under way is like now: distance, duration and location are those of this moment.
    public func status(at moment: Moment) -> Trip? { self.journey.map { Self.updated($0, at: moment) } }

    /// When something happens by itself; `nil` when nothing does.
    public var nextDeadline: MonotonicTime? {
        guard let journey = self.journey else { return nil }
        let version = journey.hasNews ? journey.lastVersion.advanced(by: Self.cadence) : nil
        let isAutomatic = self.automatic != nil
        let silence = isAutomatic ? journey.lastFix.advanced(by: Self.longestSilence) : nil
        return [version, silence, isAutomatic ? self.rest.nextDeadline : nil].compactMap { $0 }.min()
    }

    /// The user begins a trip.
    ///
    /// - Throws: `tripUnderWay` when there is one, which goes on unchanged.
    public mutating func start(_ mode: TripMode, at moment: Moment, next: RecordName) throws(TrackingError) -> Change {
        if let trip = self.journey?.trip {
            throw TrackingError(
                .tripUnderWay, "a trip (\(trip.mode)) is under way; stop it before another one is started")
        }
        // Where it stands now is where this trip begins, not where an earlier one ended.
        self.rest = self.rest.fresh
        return self.begin(mode, at: moment, next: next)
    }

    /// The user ends the trip.
    ///
    /// - Throws: `noTrip` when there is none.
    public mutating func stop(at moment: Moment, next: RecordName) throws(TrackingError) -> Change {
        guard let change = self.end(.user, at: moment, next: next) else {
            throw TrackingError(.noTrip, "there is no trip to stop; start one first")
        }
        return change
    }

    /// A fix arrived, recorded or not: a trip may begin or end by itself.
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

    /// A point of the trip was recorded, or is about to be: it carries ``current``'s id.
    public mutating func recorded(_ point: Location, at moment: Moment, next: RecordName) -> Change? {
        guard self.journey != nil, Self.counts(point) else { return nil }
        var place = point
        place.extra = nil
        self.journey?.add(place)
        return self.versionIfDue(at: moment, next: next)
    }

    /// The time is `moment`.
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

    /// The clock was set: what stands has not stood for as long as it seems.
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
        // A clock that was set back meanwhile does not end a trip before it began.
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
        // It began while nobody knew the time, which is known now.
        if !Self.isSet(trip.start), Self.isSet(moment.wall) { trip.start = moment.wall.advanced(by: .zero - duration) }
        return trip
    }

    /// Whether this is the time of a clock that was set.
    static func isSet(_ time: UnixTime) -> Bool { time >= ClockTrust.buildFloor }

    private static func counts(_ point: Location) -> Bool {
        point.source != .predicted && (point.accuracyHorizontal ?? 0) < Self.worstAccuracy
    }
}

extension TripStateMachine.Journey {
    /// A point that counts was recorded. The centre of a zone is a place to be shown, and no way that was gone.
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
