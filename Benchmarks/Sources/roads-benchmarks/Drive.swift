import Glibc
import TrackingCore

/// A simulated drive: the places along a way, with the time at which the vehicle passes each of them.
struct Drive: Sendable {
    /// A place of the way, and the time since the start of the drive in seconds.
    struct Place: Sendable {
        var coordinate: Coordinate
        var time: Double
    }

    private(set) var places: [Place] = []

    /// Makes the drive along a way, from the speed between each two of its points.
    ///
    /// - Parameters:
    ///   - shape: The points of the way, at least two.
    ///   - speed: Returns the speed from one point to the next in metres per second.
    init(along shape: [Coordinate], speed: (Coordinate, Coordinate) throws -> Double) rethrows {
        var time = 0.0
        self.places = [Place(coordinate: shape[0], time: 0)]
        for (start, end) in zip(shape, shape.dropFirst()) {
            time += start.distance(to: end).value / (try speed(start, end))
            self.places.append(Place(coordinate: end, time: time))
        }
    }

    /// The duration of the drive in seconds.
    var duration: Double { self.places[self.places.count - 1].time }

    /// The end of the drive.
    var end: Coordinate { self.places[self.places.count - 1].coordinate }

    /// Returns the true position at a time since the start, in seconds.
    func position(at time: Double) -> Coordinate {
        guard let next = self.places.firstIndex(where: { $0.time > time }) else { return self.end }
        guard next > 0 else { return self.places[0].coordinate }
        let (before, after) = (self.places[next - 1], self.places[next])
        return before.coordinate.interpolated(
            to: after.coordinate, fraction: (time - before.time) / (after.time - before.time))
    }

    /// Returns a fix at a time since the start: the true position with a normally distributed error.
    ///
    /// - Parameters:
    ///   - start: The time of the start of the drive.
    ///   - noise: The standard deviation of the error to the north and to the east, in metres.
    func fix(
        at time: Double, since start: UnixTime, noise: Double, using generator: inout SplitMix64
    ) -> Location {
        let truth = self.position(at: time)
        let (north, east) = (generator.normal() * noise, generator.normal() * noise)
        let place = truth.destination(bearing: 0, distance: Meters(north)).destination(
            bearing: 90, distance: Meters(east))
        var fix = Location(coordinate: place, time: UnixTime(start.seconds + time))
        let ahead = self.position(at: time + 1)
        fix.accuracyHorizontal = noise
        fix.speed = truth.distance(to: ahead).value
        if truth != ahead { fix.bearing = truth.bearing(to: ahead) }
        return fix
    }
}

extension SplitMix64 {
    /// Returns a normally distributed number with the mean 0 and the standard deviation 1.
    mutating func normal() -> Double {
        let radius = (-2 * log(Double.random(in: Double.leastNonzeroMagnitude..<1, using: &self))).squareRoot()
        return radius * cos(2 * .pi * Double.random(in: 0..<1, using: &self))
    }

    /// Returns a number from 0.7 to 1.3: a speed that is varied by up to 30 %.
    mutating func variation() -> Double { Double.random(in: 0.7...1.3, using: &self) }
}
