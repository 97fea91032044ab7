import Testing

@testable import TrackingCore

/// A conversation with an ``EstimateKeeper``, in metres north and east of one place and in seconds of one clock.
struct EstimateConversation {
    private(set) var keeper = EstimateKeeper()
    private(set) var requests: [Int: RouteRequest] = [:]
    private var now = 0.0
    private var names: [Coordinate: String] = [:]

    private var moment: Moment { .at(self.now) }

    static func place(north: Double, east: Double = 0) -> Coordinate {
        Location.origin.destination(bearing: 0, distance: Meters(north))
            .destination(bearing: 90, distance: Meters(east))
    }

    mutating func journey(_ stops: [Journey.Stop]?) -> [EstimateKeeper.Action] {
        for stop in stops ?? [] { self.names[stop.location] = stop.id }
        return self.note(self.keeper.journeyChanged(stops.map { Journey(stops: $0) }, at: self.moment))
    }

    mutating func fix(
        at seconds: Double, north: Double, east: Double = 0, accuracy: Double? = nil
    ) -> [EstimateKeeper.Action] {
        self.now = seconds
        var fix = Location(coordinate: Self.place(north: north, east: east), time: Moment.at(seconds).wall)
        fix.accuracyHorizontal = accuracy
        return self.note(self.keeper.moved(fix, at: self.moment))
    }

    /// The engine's answer: straight legs to the stops of the request, at one speed.
    mutating func route(_ number: Int, speed: Double) throws -> [EstimateKeeper.Action] {
        let request = try #require(self.requests[number], "no request \(number)")
        var (start, legs) = (request.start, [Route.Leg]())
        for stop in request.stops {
            let length = start.distance(to: stop)
            legs.append(Route.Leg(duration: .seconds(length.value / speed), length: length, shape: [start, stop]))
            start = stop
        }
        return self.note(self.keeper.routeAnswered(Route(legs: legs), to: number, at: self.moment))
    }

    mutating func answer(_ route: Route, to number: Int) -> [EstimateKeeper.Action] {
        self.note(self.keeper.routeAnswered(route, to: number, at: self.moment))
    }

    mutating func fail(_ number: Int) -> [EstimateKeeper.Action] {
        self.note(self.keeper.routeFailed(number, at: self.moment))
    }

    mutating func time(_ seconds: Double) -> [EstimateKeeper.Action] {
        self.now = seconds
        return self.note(self.keeper.timerFired(at: self.moment))
    }

    mutating func retained(_ stops: [Estimate.Stop]) {
        self.keeper.received(retained: Estimate(time: self.moment.wall, basis: .route, stops: stops))
    }

    mutating func receivedRetained() -> [EstimateKeeper.Action] { self.keeper.receivedRetained() }

    private mutating func note(_ actions: [EstimateKeeper.Action]) -> [EstimateKeeper.Action] {
        for case .requestRoute(let request, let number) in actions { self.requests[number] = request }
        return actions
    }

    // MARK: Text

    func line(_ action: EstimateKeeper.Action) -> String {
        switch action {
        case .requestRoute(let request, let number):
            "request \(number) from \(Self.text(request.start)) to "
                + request.stops.map { self.names[$0] ?? "?" }.joined(separator: " ")
        case .publish(let estimate):
            "\(estimate.basis.rawValue): " + estimate.stops.map(Self.text).joined(separator: ", ")
        case .clear: "clear"
        case .report(let event): "event \(event.kind.eventKind.rawValue) \(event.stop.id)"
        }
    }

    private static func text(_ stop: Estimate.Stop) -> String {
        let times = stop.eta.map { eta in
            let band = stop.earliest.flatMap { early in stop.latest.map { " (\(text(early)) to \(text($0)))" } } ?? ""
            return " at \(self.text(eta))\(band)"
        }
        let distance = stop.distance.map { " \(Int($0.value)) m" } ?? ""
        return "\(stop.id) \(stop.status.rawValue)\(times ?? "")\(distance)"
    }

    private static func text(_ time: UnixTime) -> String { "\(Int(time.since(Moment.at(0).wall).inSeconds.rounded()))" }

    private static func text(_ place: Coordinate) -> String {
        let metres = 6_371_008.8 * Double.pi / 180
        let north = (place.latitude - Location.origin.latitude) * metres
        let east = (place.longitude - Location.origin.longitude) * metres * 0.60738
        return "\(Int(north.rounded())),\(Int(east.rounded()))"
    }
}
