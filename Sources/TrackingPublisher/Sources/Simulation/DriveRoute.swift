import TrackingCore

/// A closed way along streets.
struct DriveRoute: Sendable {
    /// Why a vehicle may have to stop at a point.
    enum Halt: Hashable, Sendable {
        /// Traffic lights, red for some.
        case lights
        /// A customer: always, for so many seconds.
        case delivery(seconds: Double)
    }

    /// A point where the way bends, or where something is.
    struct Point: Sendable {
        var coordinate: Coordinate
        /// The limit from here to the next point, in metres a second.
        var limit: Double
        var halt: Halt?
    }

    let points: [Point]
    /// From the start to each point along the way, in metres; one more than points: the last is the whole length.
    let distances: [Double]
    /// From each point toward the next, in degrees.
    let bearings: [Double]

    /// The length of one lap, in metres.
    var length: Double { self.distances[self.points.count] }

    /// A way along `points` and back to the first. At least two, no two in a row in the same place.
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

    /// The point that was passed last at `distance` from the start of the lap.
    func segment(at distance: Double) -> Int {
        var low = 0
        var high = self.points.count - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if self.distances[middle] <= distance { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// Where one is at `distance` from the start of the lap.
    func coordinate(at distance: Double) -> Coordinate {
        let segment = self.segment(at: distance)
        return self.points[segment].coordinate.destination(
            bearing: self.bearings[segment], distance: Meters(distance - self.distances[segment]))
    }

    /// How fast the bend at a point can be taken, in metres a second: at will when straight, 3 m/s at a right angle.
    func cornerSpeed(at index: Int) -> Double {
        let before = self.bearings[(index + self.points.count - 1) % self.points.count]
        let turn = abs((self.bearings[index] - before + 540).truncatingRemainder(dividingBy: 360) - 180)
        if turn < 12 { return .infinity }
        return max(2.5, 14 - turn * 11 / 90)
    }
}
