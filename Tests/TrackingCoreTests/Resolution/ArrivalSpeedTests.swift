import Testing

@testable import TrackingCore

/// docs/reference/resolution.md, "Destination": the smoothed speed.
@Suite struct ArrivalSpeedTests {
    private var speed = ArrivalSpeed()
    private var second = 0.0
    private var north = 0.0

    init() { self.speed.moved(.fix(north: 0, at: 0)) }

    /// Moves north at a constant speed, with a fix every `interval` seconds.
    private mutating func drive(_ metersPerSecond: Double, for seconds: Double, every interval: Double = 1) {
        let end = self.second + seconds
        while self.second < end {
            self.second += interval
            self.north += metersPerSecond * interval
            self.speed.moved(.fix(north: self.north, at: self.second))
        }
    }

    private func value() throws -> Double { try #require(self.speed.metersPerSecond) }

    @Test mutating func aConstantSpeedIsKnownFromTheFirstSecond() throws {
        #expect(self.speed.metersPerSecond == nil)
        self.speed.moved(.fix(north: 20, at: 0.1))
        #expect(self.speed.metersPerSecond == nil, "noise of two fixes in quick succession")
        self.speed.reset()
        self.speed.moved(.fix(north: 0, at: 0))
        for interval in [1.0, 10, 60, 600] {
            self.drive(10, for: 600, every: interval)
            #expect(try abs(self.value() - 10) < 0.01, "\(interval)")
        }
    }

    /// The estimate changes by less than a third at a red light, at which the speed of the last 30 s becomes zero.
    @Test mutating func aTrafficLightChangesTheSpeedLittle() throws {
        self.drive(12, for: 600)
        self.drive(0, for: 40)
        #expect(try (8.0...9.0).contains(self.value()))
        self.drive(12, for: 120)
        #expect(try (10.5...12.0).contains(self.value()))
    }

    /// After the time constant, the mean has made 1 - 1/e of the way.
    @Test(arguments: [1.0, 5, 40]) mutating func theTimeConstantIsTwoMinutes(interval: Double) throws {
        self.drive(20, for: 3_600, every: interval)
        self.drive(10, for: 120, every: interval)
        #expect(try abs(self.value() - (10 + 10 * 0.3679)) < 0.01)
    }

    @Test mutating func belowWalkingSpeedTheLastSpeedRemainsForTwoMinutes() throws {
        self.drive(2, for: 600)
        self.drive(0, for: 84)  // the mean is 2 m/s times e^(-84/120): below 1 m/s
        #expect(try (1.0...1.02).contains(self.value()))
        self.drive(0, for: 116)
        #expect(try (1.0...1.02).contains(self.value()))
        self.drive(0, for: 3)
        #expect(self.speed.metersPerSecond == nil)
        self.drive(0.9, for: 600)
        #expect(self.speed.metersPerSecond == nil, "slower than a walk")
        self.drive(5, for: 60)
        #expect(try self.value() > 1)
    }

    @Test mutating func anOlderFixBeginsANewPath() throws {
        self.drive(30, for: 600)
        self.second = 0
        self.north = 0
        self.speed.moved(.fix(north: 0, at: 0))
        #expect(self.speed.metersPerSecond == nil)
        self.drive(5, for: 10)
        #expect(try abs(self.value() - 5) < 0.01)
    }

    @Test mutating func twoFixesOfOneTimeAreOne() throws {
        self.drive(5, for: 10)
        self.speed.moved(.fix(north: self.north + 500, at: self.second))
        #expect(try abs(self.value() - 5) < 0.01)
    }

    /// Fixes of a moving trackable publish a time to arrival that changes steadily at a stop.
    @Test func thePublishedTimeToArrivalDoesNotJump() throws {
        let destination = Location.fix(north: 10_000, at: 0).coordinate
        var machine = ProximityStateMachine(destination: destination)
        var last: Double?
        for second in 0..<600 {
            let north = Double(min(second, 300) * 10)
            let fix = Location.fix(north: north, at: Double(second))
            _ = machine.moved(fix, now: .seconds(Double(second)), wallClock: nil)
            guard second > 10 else { continue }
            let way = Approach(destination: destination, from: fix, speed: machine.arrivalMetersPerSecond)
            guard let time = way.timeToArrival?.inSeconds else {
                Issue.record("no estimate at \(second) s")
                return
            }
            if let last { #expect(abs(time - last) <= max(10, last * 0.02), "at \(second) s") }
            last = time
        }
        machine.clockStepped()
        #expect(machine.arrivalMetersPerSecond == nil)
    }
}
