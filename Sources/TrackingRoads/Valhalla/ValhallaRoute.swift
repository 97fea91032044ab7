import TrackingCore

/// The request `/route` of Valhalla, which finds a route along stops, and its answer.
enum ValhallaRoute {
    /// The greatest distance from a stop to the end of its leg. An answer with a greater one is for another place.
    static let maximumOffset: Meters = 5_000
    /// The maximum number of points in the shape of a leg that is read.
    static let maximumShapePoints = 200_000

    /// Returns the JSON body of a request.
    static func body(_ request: RouteRequest) -> JSONValue {
        var start = Self.location(request.start)
        if let bearing = request.bearing { start["heading"] = .number(bearing.rounded()) }
        return .object([
            "locations": .list([.object(start)] + request.stops.map { .object(Self.location($0)) }),
            "costing": .text(request.profile.rawValue), "directions_type": .text("maneuvers"),
            "units": .text("kilometers"),
        ])
    }

    private static func location(_ coordinate: Coordinate) -> [String: JSONValue] {
        ["lat": .number(coordinate.latitude), "lon": .number(coordinate.longitude)]
    }

    /// Reads the answer to a request; returns `nil` when the answer is not usable for these stops.
    static func route(_ answer: JSONValue, of request: RouteRequest) -> Route? {
        guard let legs = answer["trip"]?["legs"]?.list, legs.count == request.stops.count else { return nil }
        var route = Route(legs: [])
        for (leg, stop) in zip(legs, request.stops) {
            guard let time = leg["summary"]?["time"]?.number, let length = leg["summary"]?["length"]?.number,
                time >= 0, time < 1e9, length >= 0, length < 1e6, let text = leg["shape"]?.text,
                let shape = Polyline.decode(text, limit: Self.maximumShapePoints), shape.count > 1,
                shape[shape.count - 1].distance(to: stop) <= Self.maximumOffset
            else { return nil }
            // A leg between two places on the same point of a road takes no time.
            route.legs.append(
                Route.Leg(
                    duration: .seconds(max(time, 0.001)), length: Meters(length * 1000), shape: shape,
                    sections: Self.sections(leg)))
        }
        return route
    }

    /// Returns the sections of a leg, one for each manoeuvre: from one turn to the next. Empty when one is not usable.
    private static func sections(_ leg: JSONValue) -> [Route.Leg.Section] {
        var sections: [Route.Leg.Section] = []
        for maneuver in leg["maneuvers"]?.list ?? [] {
            guard let time = maneuver["time"]?.number, time >= 0, time < 1e9,
                let end = maneuver["end_shape_index"]?.count
            else { return [] }
            sections.append(Route.Leg.Section(duration: .seconds(time), end: end))
        }
        return sections
    }
}
