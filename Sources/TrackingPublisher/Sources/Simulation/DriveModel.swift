import TrackingCore

/// A simulated vehicle that observes speed limits, slows down for corners, and stops at lights and customers. The
/// same seed gives the same drive.
struct DriveModel: Sendable {
    /// The acceleration of the simulated vehicle, in m/s².
    static let acceleration = 1.4
    /// The deceleration of the simulated vehicle when braking, in m/s².
    static let braking = 2.0
    /// The time that one step of the simulation covers, in seconds.
    private static let step = 0.2
    /// The distance that the vehicle looks ahead, in metres. A vehicle at 100 km/h can stop within it.
    private static let sight = 200.0

    private let route: DriveRoute
    private var random: SplitMix64
    /// The vehicle's distance from the start of the lap, in metres.
    private var position = 0.0
    /// The speed of the vehicle, in metres a second.
    private(set) var speed = 0.0
    private var waiting = 0.0
    private var leftover = 0.0
    /// The halt ahead: its distance from the start of this lap, and its duration. A halt in the next lap has a
    /// distance greater than the length of the route.
    private var halt: (place: Double, seconds: Double)?
    /// The index of the last route point that was checked for a halt. Indexes of the next lap continue after the last
    /// point.
    private var decided = 0

    /// Sets a vehicle on the route.
    ///
    /// - Parameters:
    ///   - route: The route, which the vehicle drives without end.
    ///   - seed: The seed of the random stops.
    ///   - start: The place at which the vehicle begins, as a part of the lap, 0 to below 1.
    init(route: DriveRoute, seed: UInt64, start: Double = 0) {
        self.route = route
        self.random = SplitMix64(seed: seed)
        self.position = start * route.length
        self.decided = route.segment(at: self.position)
    }

    /// Returns the place at which the vehicle with a seed begins, as a part of the lap. Seed 1 begins at 0. The places
    /// of the next seeds are far apart (multiples of the golden ratio).
    static func start(seed: UInt64) -> Double {
        Double(((seed &- 1) &* 0x9E37_79B9_7F4A_7C15) >> 11) / 9_007_199_254_740_992
    }

    /// The coordinate of the simulated vehicle on its route.
    var coordinate: Coordinate { self.route.coordinate(at: self.position) }

    /// The direction in which the vehicle travels, in degrees clockwise from north.
    var bearing: Double { self.route.bearings[self.route.segment(at: self.position)] }

    /// Moves the simulated vehicle along its route for the given number of seconds of driving and waiting.
    mutating func advance(by seconds: Double) {
        self.leftover += seconds
        while self.leftover >= Self.step {
            self.leftover -= Self.step
            self.drive()
        }
    }

    private mutating func drive() {
        if self.waiting > 0 {
            self.waiting -= Self.step
            return
        }
        self.lookForHalt()
        let allowed = self.allowedSpeed
        self.speed =
            allowed > self.speed
            ? min(allowed, self.speed + Self.acceleration * Self.step)
            : max(allowed, self.speed - 1.3 * Self.braking * Self.step)
        self.position += self.speed * Self.step
        if let halt = self.halt, halt.place - self.position < 0.4 {
            self.speed = 0
            self.waiting = halt.seconds
            self.halt = nil
        }
        if self.position >= self.route.length {
            self.position -= self.route.length
            self.halt?.place -= self.route.length
            self.decided -= self.route.points.count
        }
    }

    /// Looks along the route for the next place at which the vehicle stops. Decides for each route point up to the
    /// distance of sight if the vehicle stops there, and ends at the first stop.
    private mutating func lookForHalt() {
        let count = self.route.points.count
        while self.halt == nil {
            let next = self.decided + 1
            let place = self.route.distances[next % count] + (next >= count ? self.route.length : 0)
            guard place - self.position < Self.sight else { return }
            self.decided = next
            switch self.route.points[next % count].halt {
            case .delivery(let seconds): self.halt = (place, seconds)
            case .lights where Double.random(in: 0..<1, using: &self.random) < 0.5:
                self.halt = (place, Double.random(in: 4..<30, using: &self.random))
            case .lights, nil: break
            }
        }
    }

    /// The highest speed, at least 0.3 m/s, from which the vehicle can still brake in time for every speed limit,
    /// corner and halt ahead.
    private var allowedSpeed: Double {
        let count = self.route.points.count
        let segment = self.route.segment(at: self.position)
        var allowed = self.route.points[segment].limit
        // The position at the end of the step counts; otherwise the vehicle would brake one step too late.
        let position = self.position + self.speed * Self.step
        if let halt = self.halt { allowed = min(allowed, Self.speed(0, in: halt.place - position)) }
        for ahead in (segment + 1)...(segment + count) {
            let index = ahead % count
            let distance = self.route.distances[index] + (ahead >= count ? self.route.length : 0) - position
            guard distance < Self.sight else { break }
            let speed = min(self.route.points[index].limit, self.route.cornerSpeed(at: index))
            allowed = min(allowed, Self.speed(speed, in: distance))
        }
        return max(allowed, 0.3)
    }

    /// Returns the highest speed from which the vehicle can slow down to `speed` within `distance`.
    private static func speed(_ speed: Double, in distance: Double) -> Double {
        (speed * speed + 2 * Self.braking * max(0, distance)).squareRoot()
    }
}
