package import TrackingCore

/// The request `/trace_attributes` of Valhalla, which matches fixes with roads, and its answer.
package enum ValhallaTrace {
    /// The greatest distance from a fix to its matched position. An answer with a greater one is for another place.
    static let maximumOffset: Meters = 500
    /// The maximum number of points of the shape that is read.
    static let maximumShapePoints = 100_000
    /// The radius around a fix in which Valhalla looks for roads, in metres, and the greatest that it accepts.
    private static let searchRadius = 50.0...100.0
    /// The accuracies that Valhalla is given, in metres.
    private static let accuracies = 5.0...50.0

    private static let attributes = [
        "edge.id", "edge.way_id", "edge.names", "edge.speed_limit", "edge.road_class", "edge.begin_shape_index",
        "edge.end_shape_index", "matched.point", "matched.type", "matched.edge_index",
        "matched.distance_from_trace_point", "shape",
    ]

    /// Returns the JSON body of a request.
    package static func body(_ request: MatchRequest) -> JSONValue {
        // Valhalla rejects a trace of one point, so a single point is sent twice.
        var points = request.points
        if points.count == 1 { points.append(points[0]) }
        let times = Self.times(of: points)
        let accuracy = Self.accuracy(of: points)
        return .object([
            "shape": .list(
                zip(points, times).map { point, time in
                    .object([
                        "lat": .number(point.coordinate.latitude), "lon": .number(point.coordinate.longitude),
                        "time": .number(time),
                    ])
                }),
            "costing": .text(request.profile.rawValue), "shape_match": .text("map_snap"),
            "units": .text("kilometers"),
            "filters": .object([
                "action": .text("include"), "attributes": .list(Self.attributes.map { .text($0) }),
            ]),
            "trace_options": .object([
                "gps_accuracy": .number(accuracy),
                "search_radius": .number(
                    min(max(3 * accuracy, Self.searchRadius.lowerBound), Self.searchRadius.upperBound)),
            ]),
        ])
    }

    /// Returns the times of the points in seconds since the first one. Valhalla matches points of the same time with
    /// arbitrary roads, so each time is later than the one before.
    private static func times(of points: [MatchRequest.Point]) -> [Double] {
        var times: [Double] = []
        for point in points {
            let time = point.time.seconds - points[0].time.seconds
            times.append(max(time, times.last.map { $0 + 0.1 } ?? 0))
        }
        return times
    }

    /// Returns the median accuracy of the points, within ``accuracies``.
    private static func accuracy(of points: [MatchRequest.Point]) -> Double {
        let known = points.compactMap { $0.accuracy?.value }.sorted()
        let median = known.isEmpty ? Self.accuracies.lowerBound : known[known.count / 2]
        return min(max(median, Self.accuracies.lowerBound), Self.accuracies.upperBound)
    }

    /// Reads the answer to a request; returns `nil` when the answer is not usable for these points.
    static func match(_ answer: JSONValue, of request: MatchRequest) -> RoadMatch? {
        guard let text = answer["shape"]?.text, let list = answer["edges"]?.list,
            let shape = Polyline.decode(text, limit: Self.maximumShapePoints),
            let matched = answer["matched_points"]?.list, matched.count == max(2, request.points.count)
        else { return nil }
        let edges = list.map { Edge($0, shapePoints: shape.count) }
        var points: [RoadMatch.Point] = []
        for (fix, match) in zip(request.points, matched) {
            guard let point = Self.point(match, of: fix, edges, shape) else { return nil }
            points.append(point)
        }
        return RoadMatch(points: points, edges: edges.map(\.edge), shape: shape)
    }

    /// Reads the match of one fix; returns `nil` when it is not usable.
    private static func point(
        _ json: JSONValue, of fix: MatchRequest.Point, _ edges: [Edge], _ shape: [Coordinate]
    ) -> RoadMatch.Point? {
        guard let type = json["type"]?.text else { return nil }
        guard type != "unmatched", let index = json["edge_index"]?.count, index < edges.count,
            let segments = edges[index].segments
        else { return RoadMatch.Point(coordinate: fix.coordinate, confidence: .offRoad) }
        guard let latitude = json["lat"]?.number, let longitude = json["lon"]?.number,
            let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        else { return nil }
        let offset = fix.coordinate.distance(to: coordinate)
        guard offset <= Self.maximumOffset else { return nil }
        return RoadMatch.Point(
            coordinate: coordinate, confidence: type == "matched" ? .matched : .presumed, edge: index,
            segment: RoadShape.nearestSegment(to: coordinate, of: shape, in: segments), offset: offset)
    }

    /// An edge of an answer, with the segments of the shape that belong to it.
    private struct Edge {
        let edge: RoadMatch.Edge
        /// The segments of the edge: the indices of their first points. `nil` when the answer has none for the edge.
        let segments: Range<Int>?

        init(_ json: JSONValue, shapePoints: Int) {
            let limit = json["speed_limit"]?.number.flatMap { $0 > 0 && $0 < 250 ? $0 / 3.6 : nil }
            self.edge = RoadMatch.Edge(
                id: UInt64(json["id"]?.count ?? 0), way: json["way_id"]?.count.map { UInt64($0) },
                road: json["names"]?.list?.first?.text, roadClass: json["road_class"]?.text, speedLimit: limit)
            if let begin = json["begin_shape_index"]?.count, let end = json["end_shape_index"]?.count, begin < end,
                end < shapePoints
            {
                self.segments = begin..<end
            } else {
                self.segments = nil
            }
        }
    }
}
