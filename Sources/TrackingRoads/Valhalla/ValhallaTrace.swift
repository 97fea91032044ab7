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

    /// Returns the JSON body of a request.
    package static func body(_ request: MatchRequest) -> [UInt8] {
        // Valhalla rejects a trace of one point, so a single point is sent twice.
        var points = request.points
        if points.count == 1 { points.append(points[0]) }
        var json = JSONWriter(capacity: 1_024 + 80 * points.count)
        json.raw("{\"shape\":[")
        for (point, time) in zip(points, Self.times(of: points)) {
            json.separate()
            json.raw("{\"lat\":")
            json.number(Self.rounded(point.coordinate.latitude))
            json.name("lon")
            json.number(Self.rounded(point.coordinate.longitude))
            json.name("time")
            json.number(time)
            json.raw("}")
        }
        json.raw("],\"costing\":")
        json.text(request.profile.rawValue)
        json.raw(
            """
            ,"shape_match":"map_snap","units":"kilometers","filters":{"action":"include","attributes":["edge.id",\
            "edge.way_id","edge.names","edge.speed_limit","edge.road_class","edge.begin_shape_index",\
            "edge.end_shape_index","matched.point","matched.type","matched.edge_index","shape"]},"trace_options":{
            """)
        let accuracy = Self.accuracy(of: points)
        json.name("gps_accuracy")
        json.number(accuracy)
        json.name("search_radius")
        json.number(min(max(3 * accuracy, Self.searchRadius.lowerBound), Self.searchRadius.upperBound))
        json.name("turn_penalty_factor")
        json.number(Self.turnPenalty(request.profile))
        json.raw("}}")
        return json.bytes
    }

    /// Returns degrees with seven decimal places, which are about a centimetre. Further places only take time.
    private static func rounded(_ degrees: Double) -> Double { (degrees * 1e7).rounded() / 1e7 }

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

    /// Returns the cost of turns, by the recommendation of Valhalla's configuration for each means of travel, which the
    /// engine itself does not use. Without it, a fix beside the road often leads into a side street and back.
    private static func turnPenalty(_ profile: TravelProfile) -> Double {
        switch profile {
        case .auto, .bus, .truck: 200
        case .bicycle: 140
        case .pedestrian: 100
        }
    }

    /// Reads the answer to a request; returns `nil` when the answer is not usable for these points.
    static func match(_ answer: [UInt8], of request: MatchRequest) -> RoadMatch? {
        guard let answer = ValhallaTraceAnswer(answer), let text = answer.shape,
            let shape = Polyline.decode(text, limit: Self.maximumShapePoints),
            answer.points.count == max(2, request.points.count)
        else { return nil }
        let segments = answer.edges.map { $0.segments(shapePoints: shape.count) }
        var points: [RoadMatch.Point] = []
        for (fix, match) in zip(request.points, answer.points) {
            guard let point = Self.point(match, of: fix, segments, shape) else { return nil }
            points.append(point)
        }
        return RoadMatch(points: points, edges: answer.edges.map(\.edge), shape: shape)
    }

    /// Returns the match of one fix; `nil` when it is not usable.
    private static func point(
        _ match: ValhallaTraceAnswer.Point, of fix: MatchRequest.Point, _ segments: [Range<Int>?],
        _ shape: [Coordinate]
    ) -> RoadMatch.Point? {
        guard let kind = match.kind else { return nil }
        guard kind != .unmatched, let index = match.edge, index < segments.count, let segments = segments[index]
        else { return RoadMatch.Point(coordinate: fix.coordinate, confidence: .offRoad) }
        guard let latitude = match.latitude, let longitude = match.longitude,
            let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        else { return nil }
        let offset = fix.coordinate.distance(to: coordinate)
        guard offset <= Self.maximumOffset else { return nil }
        return RoadMatch.Point(
            coordinate: coordinate, confidence: kind == .matched ? .matched : .presumed, edge: index,
            segment: RoadShape.nearestSegment(to: coordinate, of: shape, in: segments), offset: offset)
    }
}
