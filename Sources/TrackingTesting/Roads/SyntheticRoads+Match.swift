public import TrackingCore

extension SyntheticRoads {
    /// The greatest distance from a fix to its road, in metres.
    private static let radius = 60.0
    /// The greatest number of positions that are examined for one fix.
    private static let mostCandidates = 12
    /// The error of a fix without an accuracy, and the least error, in metres.
    private static let sigma = (usual: 8.0, least: 4.0)
    /// The typical difference between the distance along the roads and the straight distance, in metres.
    private static let detour = 10.0
    /// The distance by which a position may go back on its edge, in metres: the error of a fix.
    private static let backward = 30.0

    /// A position that is possible for one fix.
    private struct Candidate {
        var place: Place
        var cost: Double
        /// The candidate of the fix before, and the edges from it to this one; `nil` at the start of a way.
        var before: (index: Int, path: [Int])?
    }

    /// Matches consecutive fixes with the roads, by the cheapest sequence of positions (the algorithm of Viterbi): near
    /// the fixes, and connected by ways that are about as long as the distances between the fixes.
    ///
    /// - Throws: ``/TrackingCore/TrackingError/Code/noRoad`` when no permitted road is near any of the fixes.
    public func match(_ request: MatchRequest) async throws(TrackingError) -> RoadMatch {
        var columns: [[Candidate]] = []
        for (index, point) in request.points.enumerated() {
            var column = self.candidates(point, request.profile)
            if index > 0, let previous = columns.last, !previous.isEmpty {
                let moved = request.points[index - 1].coordinate.distance(to: point.coordinate).value
                self.connect(&column, with: previous, moved: moved, request.profile)
            }
            columns.append(column)
        }
        guard columns.contains(where: { !$0.isEmpty }) else {
            throw TrackingError(.noRoad, "no road is near the fixes")
        }
        return self.match(request.points, columns, chosen: Self.cheapest(columns))
    }

    private func candidates(_ point: MatchRequest.Point, _ profile: TravelProfile) -> [Candidate] {
        let sigma = max(Self.sigma.least, min(30, point.accuracy?.value ?? Self.sigma.usual))
        return self.places(near: point.coordinate, within: Self.radius, profile).prefix(Self.mostCandidates).map {
            Candidate(place: $0, cost: $0.offset * $0.offset / (2 * sigma * sigma), before: nil)
        }
    }

    /// Connects each candidate with the cheapest one of the fix before. Without any connection, the candidates begin a
    /// new way.
    private func connect(
        _ column: inout [Candidate], with previous: [Candidate], moved: Double, _ profile: TravelProfile
    ) {
        let limit = 2 * moved + 200
        let ways = previous.map { candidate in
            self.ways(from: candidate.place, limit: limit) { self.speed(on: $0, profile) == nil ? nil : $0.length }
        }
        for index in column.indices {
            var best: (cost: Double, index: Int, path: [Int])?
            for (before, candidate) in previous.enumerated() {
                let place = column[index].place
                guard let (length, path) = self.way(ways[before], from: candidate.place, to: place), length <= limit
                else { continue }
                let cost = candidate.cost + abs(length - moved) / Self.detour
                if cost < best?.cost ?? .infinity { best = (cost, before, path) }
            }
            if let best {
                column[index].before = (best.index, best.path)
                column[index].cost += best.cost
            }
        }
        let connected = column.filter { $0.before != nil }
        if !connected.isEmpty { column = connected }
    }

    /// Returns the length in metres and the edges of the way between two positions; `nil` without a way.
    private func way(_ ways: Ways, from start: Place, to end: Place) -> (length: Double, path: [Int])? {
        let edge = self.edges[end.edge]
        if start.edge == end.edge, (end.fraction - start.fraction) * edge.length >= -Self.backward {
            return (max(0, end.fraction - start.fraction) * edge.length, [end.edge])
        }
        guard ways.costs[edge.from].isFinite else { return nil }
        let path = self.path(ways, from: start, to: edge.from) + [edge.id]
        return (ways.costs[edge.from] + end.fraction * edge.length, path)
    }

    /// Returns the index of the chosen candidate for each fix; `nil` for a fix off the roads.
    private static func cheapest(_ columns: [[Candidate]]) -> [Int?] {
        var chosen = [Int?](repeating: nil, count: columns.count)
        var next: Int?
        for index in columns.indices.reversed() {
            let column = columns[index]
            chosen[index] = next ?? column.indices.min { column[$0].cost < column[$1].cost }
            next = chosen[index].flatMap { column[$0].before?.index }
        }
        return chosen
    }

    private func match(
        _ points: [MatchRequest.Point], _ columns: [[Candidate]], chosen: [Int?]
    ) -> RoadMatch {
        var match = RoadMatch(points: [], edges: [], shape: [])
        var last: Place?
        for (index, point) in points.enumerated() {
            guard let number = chosen[index] else {
                match.points.append(RoadMatch.Point(coordinate: point.coordinate, confidence: .offRoad))
                last = nil
                continue
            }
            let candidate = columns[index][number]
            var place = candidate.place
            if let last, let path = candidate.before?.path, path.count == 1 {
                place.fraction = max(last.fraction, place.fraction)
            }
            self.append(place, candidate.before?.path, after: last, to: &match)
            let coordinate = self.coordinate(place)
            match.points.append(
                RoadMatch.Point(
                    coordinate: coordinate, confidence: .matched, edge: match.edges.count - 1,
                    segment: max(0, match.shape.count - 2), offset: point.coordinate.distance(to: coordinate)))
            last = place
        }
        if match.shape.count == 1 { match.shape.append(match.shape[0]) }
        return match
    }

    /// Appends the way from the last position to a position to the match.
    private func append(_ place: Place, _ path: [Int]?, after last: Place?, to match: inout RoadMatch) {
        let path = path ?? [place.edge]
        for (index, number) in path.enumerated() {
            let isNew = index > 0 || last == nil || match.edges.last?.id != UInt64(number)
            if isNew { match.edges.append(self.edge(number)) }
            if index < path.count - 1 { match.shape.append(self.nodes[self.edges[number].to]) }
        }
        match.shape.append(self.coordinate(place))
    }

    private func edge(_ number: Int) -> RoadMatch.Edge {
        let road = self.roads[self.edges[number].road]
        return RoadMatch.Edge(
            id: UInt64(number), way: road.way, road: road.name, roadClass: road.roadClass, speedLimit: road.speedLimit)
    }
}
