import TrackingCore

/// The way along the roads between two fixes of a match, as the intermediate positions of an update.
enum TravelledWay {
    /// The maximum number of positions. Of a longer way, evenly distributed points remain.
    static let maximumPoints = 60

    /// Returns the positions between two matched fixes, without both of them. Their times are interpolated by distance
    /// between the matched fixes.
    ///
    /// - Parameters:
    ///   - match: The engine's answer.
    ///   - fixes: The fixes of the request, in the same order as the points of `match`.
    ///   - start: The index of the fix at which the way begins.
    ///   - end: The index of the fix at which the way ends, at least `start`.
    static func between(
        _ match: RoadMatch, of fixes: [MatchRequest.Point], from start: Int, to end: Int
    ) -> [Location] {
        let known = (start...end).filter { match.points[$0].segment != nil }
        // Off the road the way is unknown, so the marker moves straight.
        guard start < end, known.first == start, known.last == end else { return [] }
        let way = zip(known, known.dropFirst()).flatMap { from, to in
            Self.section(
                match, from: match.points[from], at: fixes[from].time, to: match.points[to], at: fixes[to].time)
        }
        guard way.count > Self.maximumPoints else { return way }
        return (0..<Self.maximumPoints).map { way[$0 * way.count / Self.maximumPoints] }
    }

    /// Returns the points of the matched road between two consecutive matched fixes, without the fixes themselves.
    ///
    /// The time of each point is interpolated by distance between `departure`, the time of the first fix, and
    /// `arrival`, that of the second one. The result is empty if a fix is off the road, or if no point lies between them.
    private static func section(
        _ match: RoadMatch, from start: RoadMatch.Point, at departure: UnixTime, to end: RoadMatch.Point,
        at arrival: UnixTime
    ) -> [Location] {
        guard let first = start.segment, let last = end.segment, first < last, last < match.shape.count else {
            return []
        }
        let places = match.shape[(first + 1)...last]
        var distances: [Double] = []
        var total = 0.0
        var previous = start.coordinate
        for place in places {
            total += previous.distance(to: place).value
            distances.append(total)
            previous = place
        }
        total += previous.distance(to: end.coordinate).value
        guard total > 0 else { return [] }
        let time = arrival.seconds - departure.seconds
        return zip(places, distances).map { place, distance in
            Location(coordinate: place, time: UnixTime(departure.seconds + time * distance / total))
        }
    }
}
