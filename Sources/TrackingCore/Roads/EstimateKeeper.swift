/// Decides for one trackable when a route is requested, and which arrival times are published.
///
/// Between two routes, the remaining distance and time are counted down along the last route. Without a route, they
/// follow from the great-circle distances and the recent speed. The caller performs the returned actions, and calls
/// ``timerFired(at:)`` at ``nextDeadline``.
package struct EstimateKeeper: Sendable {
    /// An action that the caller must perform.
    package enum Action: Equatable, Sendable {
        /// Request a route. `number` is the number of this request: pass it with the route to
        /// ``routeAnswered(_:to:at:)``, or alone to ``routeFailed(_:at:)`` if the request fails.
        case requestRoute(RouteRequest, number: Int)
        /// Publish this estimate, retained.
        case publish(Estimate)
        /// Clear the retained estimate.
        case clear
        /// Publish an event at a stop.
        case report(JourneyEvent)
    }

    /// The profile of journeys without one.
    private let profile: TravelProfile
    private var progress: JourneyStateMachine?
    /// The estimate that was retained by the broker before this program started.
    private var retained: Estimate?
    private var fix: Location?
    private var speed = ArrivalSpeed()
    private var course: RouteCourse?
    private var pace = TravelPace()
    private var band = EstimateBand()
    private var requests = RouteRequests()
    /// The ids of the stops of the last requested route.
    private var requested: [String] = []
    private var publication = EstimatePublication()

    /// Makes the decider of a trackable without a journey. `profile` is used for journeys that name none.
    package init(profile: TravelProfile = .auto) { self.profile = profile }

    /// The time at which the caller must call ``timerFired(at:)``; `nil` without an open stop or a recent position.
    package var nextDeadline: MonotonicTime? { self.progress?.next == nil ? nil : self.publication.nextDeadline }

    /// The last position of the trackable; `nil` before the first.
    package var position: Location? { self.fix }

    // MARK: Inputs

    /// Processes the estimate that the broker retained from an earlier run of an enhancer. Its arrivals remain.
    package mutating func received(retained estimate: Estimate) {
        if self.progress == nil { self.retained = estimate }
        self.progress?.restored(from: estimate)
    }

    /// Processes that all retained messages were received. A retained estimate without a journey is cleared.
    package mutating func receivedRetained() -> [Action] {
        guard self.progress == nil, self.retained.take() != nil else { return [] }
        return [.clear]
    }

    /// Processes a new journey; `nil` after the journey was cleared.
    package mutating func journeyChanged(_ journey: Journey?, at moment: Moment) -> [Action] {
        guard let journey else { return self.journeyCleared() }
        guard journey != self.progress?.journey else { return [] }
        if self.progress == nil {
            self.progress = JourneyStateMachine(journey)
            if let retained = self.retained.take() { self.progress?.restored(from: retained) }
        } else {
            self.progress?.replaced(by: journey)
        }
        self.band.keep(Set(journey.stops.map(\.id)))
        self.course = nil
        self.requests.reset()
        self.pace.beganJourney()
        self.publication.isForced = true
        return self.decide(at: moment)
    }

    private mutating func journeyCleared() -> [Action] {
        guard self.progress != nil || self.retained != nil else { return [] }
        self = self.withoutJourney
        return [.clear]
    }

    /// A decider without a journey, with the trackable's position, speed and pace and the errors of past estimates.
    private var withoutJourney: EstimateKeeper {
        var keeper = EstimateKeeper(profile: self.profile)
        (keeper.fix, keeper.speed, keeper.pace, keeper.band) = (self.fix, self.speed, self.pace, self.band)
        keeper.requests = self.requests
        keeper.requests.reset()
        keeper.band.keep([])
        return keeper
    }

    /// Processes a fix. One that is not newer than the last fix, or no live position, is ignored.
    package mutating func moved(_ fix: Location, at moment: Moment) -> [Action] {
        guard LivePosition.fault(of: fix, at: moment.wall) == nil, self.fix.map({ fix.time > $0.time }) ?? true else {
            return []
        }
        self.fix = fix
        self.speed.moved(fix)
        let arrivals = self.progress?.moved(fix) ?? []
        self.course?.moved(fix, before: self.progress?.next?.id, &self.pace)
        for stop in arrivals {
            self.band.arrived(at: stop.id, time: self.progress?.arrival(at: stop.id) ?? fix.time)
        }
        self.examineCourse()
        return self.decide(at: moment)
    }

    /// Processes a route that the engine answered. An answer to a request that is out of date is ignored.
    package mutating func routeAnswered(_ route: Route, to number: Int, at moment: Moment) -> [Action] {
        guard var course = RouteCourse(route, to: self.requested) else { return self.routeFailed(number, at: moment) }
        guard self.requests.answered(number, isRoute: true) else { return [] }
        if let fix = self.fix { course.moved(fix, before: self.progress?.next?.id, &self.pace) }
        self.course = course
        self.progress?.returned()
        self.examineCourse()
        return self.decide(at: moment)
    }

    /// Processes that the engine has no route for the request with this number. The last route remains in use while the
    /// trackable is on it.
    package mutating func routeFailed(_ number: Int, at moment: Moment) -> [Action] {
        guard self.requests.answered(number, isRoute: false) else { return [] }
        if self.course?.isLeft ?? false {
            self.course = nil
            self.progress?.returned()
        }
        return self.decide(at: moment)
    }

    /// Publishes a new estimate for a trackable without new fixes, because its arrival becomes later.
    package mutating func timerFired(at moment: Moment) -> [Action] { self.decide(at: moment) }

    // MARK: Decisions

    private var openIDs: [String] { self.progress?.openStops.map(\.id) ?? [] }

    /// Drops a route that does not lead to the open stops any more, and records if the trackable has left the route.
    private mutating func examineCourse() {
        guard let course = self.course else { return }
        if !course.leads(to: self.openIDs) {
            self.course = nil
        } else if course.isLeft {
            self.progress?.strayed()
        } else if course.strays == 0 {
            self.progress?.returned()
        }
    }

    private mutating func decide(at moment: Moment) -> [Action] {
        guard self.progress != nil else { return [] }
        var estimate = self.estimate(at: moment.wall)
        let events = self.progress?.judge(&estimate.stops, at: moment.wall) ?? []
        var actions = self.request(now: moment.now)
        if self.publication.isDue(estimate, position: self.fix?.coordinate, now: moment.now) {
            estimate.route = self.course?.progress.remainingShape ?? []
            self.publication.published(estimate, position: self.fix?.coordinate, now: moment.now)
            actions.append(.publish(estimate))
        }
        return actions + events.map { .report($0) }
    }

    private mutating func request(now: MonotonicTime) -> [Action] {
        guard let fix = self.fix, let progress = self.progress, progress.next != nil else { return [] }
        let reason: RouteRequests.Reason =
            switch self.course {
            case nil: .missing
            case let course? where course.isLeft: .left
            case let course? where course.differs(pace: self.pace.ratio): .different
            case .some: .old
            }
        guard let number = self.requests.ask(reason, from: fix.coordinate, now: now) else { return [] }
        self.requested = self.openIDs
        let isMoving = fix.speed ?? 0 > 1
        let request = RouteRequest(
            start: fix.coordinate, bearing: isMoving ? fix.bearing : nil, stops: progress.openStops.map(\.location),
            profile: progress.journey.profile ?? self.profile)
        return [.requestRoute(request, number: number)]
    }
}

extension EstimateKeeper {
    /// The age of the last fix from which on no arrival is estimated: 10 minutes.
    package static let longestSilence: Duration = .seconds(600)

    /// Returns the estimated arrivals without their status and without the remaining way.
    private mutating func estimate(at now: UnixTime) -> Estimate {
        var estimate = Estimate(time: UnixTime(now.seconds.rounded()), basis: .straightLine, stops: [])
        if let course = self.course, !course.isLeft { estimate.basis = .route }
        var straight = StraightWay(from: self.fix?.coordinate, speed: self.speed.metersPerSecond)
        for stop in self.progress?.journey.stops ?? [] {
            if let arrival = self.progress?.arrival(at: stop.id) {
                estimate.stops.append(Estimate.Stop(id: stop.id, eta: arrival, status: .arrived))
                continue
            }
            let way = straight.next(stop)
            let isOnRoute = estimate.basis == .route
            let remaining = isOnRoute ? self.course?.remaining(to: stop).map { ($0.distance, $0.duration) } : way
            estimate.stops.append(self.arrival(at: stop.id, remaining, isOnRoute: isOnRoute, now: now))
        }
        return estimate
    }

    private mutating func arrival(
        at id: String, _ remaining: (distance: Double, duration: Double?)?, isOnRoute: Bool, now: UnixTime
    ) -> Estimate.Stop {
        var stop = Estimate.Stop(id: id, status: .unknown)
        guard let fix = self.fix, now.since(fix.time) < Self.longestSilence, let remaining else { return stop }
        stop.distance = Meters(remaining.distance.rounded())
        guard let duration = remaining.duration else { return stop }
        let time = isOnRoute ? duration * self.pace.ratio : duration
        let eta = max(now.seconds, fix.time.seconds + time)
        let band = self.band.band(distance: remaining.distance, remaining: time)
        stop.eta = UnixTime(eta.rounded())
        stop.earliest = UnixTime(max(now.seconds, eta - band.early).rounded())
        stop.latest = UnixTime((eta + band.late).rounded())
        self.band.estimated(id, distance: remaining.distance, eta: UnixTime(eta), remaining: time)
        return stop
    }
}

/// The straight lines from a position along stops, and the travel time at a constant speed.
private struct StraightWay {
    private var position: Coordinate?
    private let speed: Double?
    private var distance = 0.0

    init(from position: Coordinate?, speed: Double?) {
        self.position = position
        self.speed = speed
    }

    /// Returns the distance in metres from the position past the stops before to this one, and the time in seconds until
    /// the arrival within its radius; the time is `nil` without a speed, and the result is `nil` without a position.
    mutating func next(_ stop: Journey.Stop) -> (distance: Double, duration: Double?)? {
        guard let position = self.position else { return nil }
        let part = position.distance(to: stop.location).value
        let arrival = self.distance + max(0, part - stop.radius.value)
        self.distance += part
        self.position = stop.location
        return (self.distance, self.speed.map { arrival / $0 })
    }
}
