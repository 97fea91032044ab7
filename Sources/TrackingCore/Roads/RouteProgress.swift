private import SystemLibrary

/// The position of a trackable along a route.
struct RouteProgress: Sendable {
    /// The end of one leg of the route.
    struct Stop: Hashable {
        /// The distance from the start of the route, in metres.
        var length: Double
        /// The travel time from the start of the route, in seconds.
        var duration: Double
    }

    /// A position on the route.
    private struct Place {
        var length: Double
        /// The distance from the route, in metres.
        var offset: Double
    }

    /// The stretch of the route in which a fix is first searched, in metres before the last position and at least this
    /// far behind it.
    private static let stretch = (back: 100.0, ahead: 500.0)
    /// The distance from the route, in metres, from which on the whole remaining route is searched.
    private static let far = 50.0

    /// The ends of the legs, in the order of the stops.
    let stops: [Stop]
    /// The distance from the start of the route to the position, in metres.
    private(set) var length = 0.0
    private let shape: [Coordinate]
    /// The distance from the start of the route to each point of the shape, in metres.
    private let lengths: [Double]
    /// The travel time from the start of the route to each point of the shape, in seconds.
    private let durations: [Double]
    /// The indices of the points that describe the shape with few points.
    private let outline: [Int]
    private var position: Coordinate?

    /// Makes the progress of a trackable at the start of a route; returns `nil` for a route without a way.
    init?(_ route: Route) {
        var shape: [Coordinate] = []
        var lengths: [Double] = []
        var durations: [Double] = []
        var stops: [Stop] = []
        for leg in route.legs {
            let before = stops.last?.duration ?? 0
            for (point, time) in zip(leg.shape, leg.times) where point != shape.last {
                lengths.append((lengths.last ?? 0) + (shape.last?.distance(to: point).value ?? 0))
                durations.append(before + time)
                shape.append(point)
            }
            stops.append(Stop(length: lengths.last ?? 0, duration: before + max(0, leg.duration.inSeconds)))
        }
        guard shape.count >= 2, !stops.isEmpty else { return nil }
        self.stops = stops
        self.shape = shape
        self.lengths = lengths
        self.durations = durations
        self.outline = shape.outline(most: Estimate.maximumRoutePoints / 2)
    }

    /// The travel time from the start of the route to the position, in seconds.
    var duration: Double { self.duration(at: self.length) }

    /// Moves the position to the place of the route that is probable for a fix: near the fix, and as far from the last
    /// position as the fix is from the last one.
    ///
    /// - Parameters:
    ///   - fix: The fix.
    ///   - end: The distance from the start of the route beyond which the position does not move, in metres: that of the
    ///     next stop.
    /// - Returns: The distance from the fix to the route. The position does not move for a fix that is far from it.
    mutating func moved(to fix: Coordinate, before end: Double = .infinity) -> Meters {
        let moved = self.position?.distance(to: fix).value ?? 0
        let ahead = max(Self.stretch.ahead, 3 * moved)
        let start = self.length - Self.stretch.back
        var place = self.nearest(to: fix, moved: moved, from: start, through: min(end, self.length + ahead))
        if place.offset > Self.far { place = self.nearest(to: fix, moved: moved, from: start, through: end) }
        if place.offset <= Self.far {
            self.length = place.length
            self.position = fix
        }
        return Meters(place.offset)
    }

    private func nearest(to fix: Coordinate, moved: Double, from start: Double, through end: Double) -> Place {
        var best = Place(length: self.length, offset: .infinity)
        var bestCost = Double.infinity
        var index = max(0, self.segment(at: start))
        while index + 1 < self.shape.count, self.lengths[index] < end {
            let (fraction, offset) = fix.projected(onto: self.shape[index], self.shape[index + 1])
            let length = self.lengths[index] + fraction * (self.lengths[index + 1] - self.lengths[index])
            // A route may pass one place twice. The travelled distance decides between the two passages.
            let cost = offset + 0.1 * abs(length - self.length - moved)
            if cost < bestCost { (best, bestCost) = (Place(length: length, offset: offset), cost) }
            index += 1
        }
        return best
    }

    /// The index of the segment that contains a distance from the start of the route.
    private func segment(at length: Double) -> Int {
        var (low, high) = (0, self.lengths.count - 1)
        while low + 1 < high {
            let middle = (low + high) / 2
            if self.lengths[middle] <= length { low = middle } else { high = middle }
        }
        return low
    }

    /// Returns the travel time from the start of the route to a place of the route, in seconds.
    func duration(at length: Double) -> Double {
        let segment = self.segment(at: length)
        let span = self.lengths[segment + 1] - self.lengths[segment]
        let fraction = span > 0 ? max(0, min(1, (length - self.lengths[segment]) / span)) : 0
        return self.durations[segment] + fraction * (self.durations[segment + 1] - self.durations[segment])
    }

    /// The way from the position to the end of the route, with few points.
    var remainingShape: [Coordinate] {
        let segment = self.segment(at: self.length)
        let span = self.lengths[segment + 1] - self.lengths[segment]
        let fraction = span > 0 ? (self.length - self.lengths[segment]) / span : 0
        let here = self.shape[segment].interpolated(to: self.shape[segment + 1], fraction: fraction)
        return [here] + self.outline.drop { self.lengths[$0] <= self.length }.map { self.shape[$0] }
    }
}

extension Coordinate {
    /// Returns the place of a short segment that is nearest to this coordinate: its fraction of the segment from the
    /// start, 0…1, and the distance to it in metres.
    package func projected(onto start: Coordinate, _ end: Coordinate) -> (fraction: Double, offset: Double) {
        let (segment, point) = (start.plane(of: end), start.plane(of: self))
        let square = segment.x * segment.x + segment.y * segment.y
        let along = square > 0 ? (point.x * segment.x + point.y * segment.y) / square : 0
        let fraction = max(0, min(1, along))
        let (x, y) = (point.x - fraction * segment.x, point.y - fraction * segment.y)
        return (fraction, (x * x + y * y).squareRoot())
    }

    /// Returns the position of another coordinate, in metres east and north of this one. It is accurate for distances
    /// of some kilometres.
    private func plane(of other: Coordinate) -> (x: Double, y: Double) {
        var longitude = other.longitude - self.longitude
        if longitude > 180 { longitude -= 360 }
        if longitude < -180 { longitude += 360 }
        let radius = Coordinate.meanEarthRadius.value
        return (
            longitude.radians * cos(self.latitude.radians) * radius, (other.latitude - self.latitude).radians * radius
        )
    }
}

extension [Coordinate] {
    /// Returns the indices of points that describe this way with at most `most` points, by the algorithm of Douglas and
    /// Peucker. No point of the way is more than 5 m from the description, or more than 10 m, 20 m and so on if the
    /// description would have too many points.
    func outline(most: Int) -> [Int] {
        var tolerance = 5.0
        while true {
            let outline = self.outline(within: tolerance)
            if outline.count <= Swift.max(2, most) { return outline }
            tolerance *= 2
        }
    }

    private func outline(within tolerance: Double) -> [Int] {
        guard self.count > 2 else { return [Int](self.indices) }
        var kept: Set<Int> = [0, self.count - 1]
        var ranges = [(0, self.count - 1)]
        while let (first, last) = ranges.popLast() {
            var farthest = (index: first, offset: tolerance)
            for index in first + 1..<Swift.max(first + 1, last) {
                let offset = self[index].projected(onto: self[first], self[last]).offset
                if offset > farthest.offset { farthest = (index, offset) }
            }
            guard farthest.index > first else { continue }
            kept.insert(farthest.index)
            ranges += [(first, farthest.index), (farthest.index, last)]
        }
        return kept.sorted()
    }
}
