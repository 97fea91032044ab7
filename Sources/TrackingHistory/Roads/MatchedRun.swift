import TrackingCore

/// A run of a recorded track and the routing engine's match of it, as matched points.
struct MatchedRun {
    private let match: RoadMatch
    /// The distance from the beginning of the way to each point of its shape, in metres.
    private let lengths: [Double]
    /// The matched points, one for each point of the run.
    private(set) var points: [MatchedPoint] = []
    /// The distance from the beginning of the way to the farthest position that was reached, in metres; `nil` off the
    /// road. A position behind it is an error of the receiver, because the way leads back on another edge.
    private var reached: Double?

    /// Joins the recorded points of a run with their matches.
    ///
    /// - Parameters:
    ///   - locations: The recorded points.
    ///   - match: The engine's match of these points, with a point for each of them.
    init(_ locations: [Location], _ match: RoadMatch) {
        self.match = match
        var lengths = match.shape.isEmpty ? [] : [0.0]
        for (start, end) in zip(match.shape, match.shape.dropFirst()) {
            lengths.append((lengths.last ?? 0) + start.distance(to: end).value)
        }
        self.lengths = lengths
        for (index, location) in locations.enumerated() { self.append(location, at: index) }
    }

    private mutating func append(_ location: Location, at index: Int) {
        let match = self.match.points[index]
        var point = MatchedPoint(location)
        if match.confidence != .offRoad {
            let edge = match.edge.map { self.match.edges[$0] }
            point.location.coordinate = match.coordinate
            (point.confidence, point.road, point.edge) = (match.confidence, edge?.road, edge?.id)
        }
        if let last = self.points.last {
            point.distance = last.location.coordinate.distance(to: point.location.coordinate)
            self.travel(to: match, after: self.match.points[index - 1], &point)
        } else {
            self.reached = self.progress(match)
        }
        self.points.append(point)
    }

    /// Sets the way and the distance to a point from the one before, if both are on the road.
    private mutating func travel(to end: RoadMatch.Point, after start: RoadMatch.Point, _ point: inout MatchedPoint) {
        let progress = self.progress(end)
        defer { self.reached = progress.map { max($0, self.reached ?? $0) } }
        guard let first = start.segment, let last = end.segment, let reached = self.reached, let progress else {
            self.reached = nil
            return
        }
        point.distance = Meters(max(0, progress - reached))
        // The engine's way may have a point at the position of the fix.
        if first < last { point.way = Array(self.match.shape[(first + 1)...last].drop { $0 == start.coordinate }) }
    }

    /// Returns the distance from the beginning of the way to a matched position, in metres; `nil` off the road.
    private func progress(_ point: RoadMatch.Point) -> Double? {
        guard let segment = point.segment, segment < self.lengths.count else { return nil }
        return self.lengths[segment] + self.match.shape[segment].distance(to: point.coordinate).value
    }
}
