public import TrackingCore

extension SyntheticRoads {
    /// The greatest distance from a position or a stop to its road, in metres.
    private static let reach = 500.0

    /// Finds the fastest route from a position along all stops.
    ///
    /// - Throws: ``/TrackingCore/TrackingError/Code/noRoad`` when no permitted road is near a place, or no way leads to
    ///   a stop.
    public func route(_ request: RouteRequest) async throws(TrackingError) -> Route {
        var start = try self.starts(request)
        var legs: [Route.Leg] = []
        for stop in request.stops {
            let ends = self.nearest(stop, request.profile)
            guard let (leg, end) = self.leg(from: start, to: ends, request.profile) else {
                throw TrackingError(.noRoad, "no route leads to stop \(legs.count + 1)")
            }
            legs.append(leg)
            start = [end]
        }
        return Route(legs: legs)
    }

    /// Returns the positions on the nearest road at which a route can start. With a direction of travel, these are
    /// positions on edges of about this direction, if there are any.
    private func starts(_ request: RouteRequest) throws(TrackingError) -> [Place] {
        let places = self.nearest(request.start, request.profile)
        guard !places.isEmpty else { throw TrackingError(.noRoad, "no road is near the start of the route") }
        guard let bearing = request.bearing else { return places }
        let forward = places.filter { place in
            let edge = self.edges[place.edge]
            let turn = (self.nodes[edge.from].bearing(to: self.nodes[edge.to]) - bearing).normalizedBearing
            return min(turn, 360 - turn) < 90
        }
        return forward.isEmpty ? places : forward
    }

    /// Returns the nearest position on a permitted road, in both directions.
    private func nearest(_ coordinate: Coordinate, _ profile: TravelProfile) -> [Place] {
        let places = self.places(near: coordinate, within: Self.reach, profile)
        return places.filter { $0.offset < (places.first?.offset ?? 0) + 0.01 }
    }

    private func leg(from starts: [Place], to ends: [Place], _ profile: TravelProfile) -> (Route.Leg, Place)? {
        var best: (time: Double, path: [Int], start: Place, end: Place)?
        for start in starts {
            let ways = self.ways(from: start) { edge in self.speed(on: edge, profile).map { edge.length / $0 } }
            for end in ends {
                guard let (time, path) = self.way(ways, from: start, to: end, profile) else { continue }
                if time < best?.time ?? .infinity { best = (time, path, start, end) }
            }
        }
        return best.map { best in (self.leg(along: best.path, from: best.start, to: best.end, profile), best.end) }
    }

    private func leg(along path: [Int], from start: Place, to end: Place, _ profile: TravelProfile) -> Route.Leg {
        var leg = Route.Leg(duration: .zero, length: 0, shape: [self.coordinate(start)])
        let ends = path.dropLast().map { self.nodes[self.edges[$0].to] } + [self.coordinate(end)]
        var (length, time) = (0.0, 0.0)
        for (number, point) in zip(path, ends) where point != leg.shape.last {
            let part = leg.shape[leg.shape.count - 1].distance(to: point).value
            let duration = self.speed(on: self.edges[number], profile).map { part / $0 } ?? 0
            leg.shape.append(point)
            leg.sections.append(Route.Leg.Section(duration: .seconds(duration), end: leg.shape.count - 1))
            (length, time) = (length + part, time + duration)
        }
        // A leg has a time above zero and two points, even between equal places.
        if leg.shape.count == 1 { leg.shape.append(leg.shape[0]) }
        (leg.length, leg.duration) = (Meters(length), .seconds(max(0.1, time)))
        return leg
    }

    /// Returns the travel time and the edges from a start to an end; `nil` when no way leads there.
    private func way(
        _ ways: Ways, from start: Place, to end: Place, _ profile: TravelProfile
    ) -> (time: Double, path: [Int])? {
        let edge = self.edges[end.edge]
        guard let speed = self.speed(on: edge, profile) else { return nil }
        if start.edge == end.edge, end.fraction >= start.fraction {
            return ((end.fraction - start.fraction) * edge.length / speed, [end.edge])
        }
        guard ways.costs[edge.from].isFinite else { return nil }
        let path = self.path(ways, from: start, to: edge.from) + [end.edge]
        return (ways.costs[edge.from] + end.fraction * edge.length / speed, path)
    }
}
