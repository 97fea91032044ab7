import TrackingCore

/// A closed route along streets, on which a simulated vehicle drives laps.
struct DriveRoute: Sendable {
    /// The reason for a vehicle to stop at a point of the route: traffic lights or a customer.
    enum Halt: Hashable, Sendable {
        /// Traffic lights. A vehicle that comes to them stops at random, in half of the cases.
        case lights
        /// A customer, at which every vehicle stops for this number of seconds.
        case delivery(seconds: Double)
    }

    /// A point at which the route bends, or at which a vehicle may stop.
    struct Point: Sendable {
        var coordinate: Coordinate
        /// The speed limit from this point to the next, in metres a second.
        var limit: Double
        var halt: Halt?
    }

    let points: [Point]
    /// The distance of each point from the start along the route, in metres. An additional last element is the length
    /// of the route.
    let distances: [Double]
    /// The bearing from each point of the route to the next, in degrees clockwise from north.
    let bearings: [Double]

    /// The length of one lap, in metres.
    var length: Double { self.distances[self.points.count] }

    /// Creates a route along `points` and back to the first one. It needs at least two points, and consecutive points
    /// must differ.
    init(_ points: [Point]) {
        self.points = points
        var distances = [0.0]
        var bearings: [Double] = []
        for (index, point) in points.enumerated() {
            let next = points[(index + 1) % points.count].coordinate
            distances.append(distances[index] + point.coordinate.distance(to: next).value)
            bearings.append(point.coordinate.bearing(to: next))
        }
        self.distances = distances
        self.bearings = bearings
    }

    /// Returns the index of the last point at or before `distance` from the start of the lap.
    func segment(at distance: Double) -> Int {
        var low = 0
        var high = self.points.count - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if self.distances[middle] <= distance { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// Returns the position at `distance` from the start of the lap.
    func coordinate(at distance: Double) -> Coordinate {
        let segment = self.segment(at: distance)
        return self.points[segment].coordinate.destination(
            bearing: self.bearings[segment], distance: Meters(distance - self.distances[segment]))
    }

    /// Returns the highest speed for the bend at a point, in metres a second: unlimited below a turn of 12°, 3 m/s at a
    /// right angle.
    func cornerSpeed(at index: Int) -> Double {
        let before = self.bearings[(index + self.points.count - 1) % self.points.count]
        let turn = abs((self.bearings[index] - before + 540).truncatingRemainder(dividingBy: 360) - 180)
        if turn < 12 { return .infinity }
        return max(2.5, 14 - turn * 11 / 90)
    }
}
