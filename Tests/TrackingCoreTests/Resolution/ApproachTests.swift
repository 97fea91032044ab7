import Testing

@testable import TrackingCore

@Suite struct ApproachTests {
    private let destination = Location.fix(north: 10_000, at: 0).coordinate
    private var machine = ApproachStateMachine()

    /// The way from a place `north` metres up the road.
    private func way(_ north: Double?, speed: Double? = nil) -> Approach {
        Approach(
            destination: self.destination, from: north.map { Location.fix(north: $0, at: 0) }, speed: speed)
    }

    @Test func theWayIsInWholeMetresAndSeconds() {
        let way = self.way(4_000.4, speed: 9)
        #expect(way.distance == 6_000)
        #expect(way.timeToArrival == .seconds(667))
        #expect(self.way(4_000).timeToArrival == nil)
        #expect(self.way(nil, speed: 9) == Approach(destination: self.destination))
    }

    @Test func anEstimateAlongRoadsReplacesTheStraightLine() {
        let start = Location.fix(north: 4_000, at: 0)
        let arrival = ArrivalEstimate.Arrival(
            calculated: start.time.advanced(by: .seconds(-10)), eta: start.time.advanced(by: .seconds(590)),
            distance: 9_000)
        let way = Approach(destination: self.destination, from: start, speed: 9, arrival: arrival)
        #expect(way.timeToArrival == .seconds(590))
        #expect(way.distance == 8_850, "nine kilometres in ten minutes, ten seconds of which are over")
        // A position after the estimated arrival.
        let late = Location.fix(north: 9_000, at: 600)
        let end = Approach(destination: self.destination, from: late, speed: 9, arrival: arrival)
        #expect(end.timeToArrival == .zero && end.distance == 0)
        // A position long before the estimate.
        let early = Location.fix(north: 0, at: -3_600)
        #expect(Approach(destination: self.destination, from: early, speed: nil, arrival: arrival).distance == 9_000)
    }

    @Test mutating func aChangeOfTheWayWaitsForFifteenSeconds() {
        self.machine.updated(self.way(0, speed: 10), now: .seconds(0))
        #expect(self.machine.current == self.way(0, speed: 10))
        self.machine.updated(self.way(1_000, speed: 10), now: .seconds(5))
        #expect(self.machine.current == self.way(0, speed: 10))
        #expect(self.machine.nextDeadline == .seconds(15))
        self.machine.updated(self.way(1_500, speed: 10), now: .seconds(15))
        #expect(self.machine.current == self.way(1_500, speed: 10))
        #expect(self.machine.nextDeadline == nil)
    }

    @Test mutating func aSmallChangeOfTheWayIsNone() {
        self.machine.updated(self.way(0, speed: 10), now: .seconds(0))
        self.machine.updated(self.way(400, speed: 9.9), now: .seconds(60))
        #expect(self.machine.current == self.way(0, speed: 10))
        #expect(self.machine.nextDeadline == nil)
        // The time to arrival becomes unknown when the trackable stops.
        self.machine.updated(self.way(400), now: .seconds(61))
        #expect(self.machine.current == self.way(400))
    }

    @Test mutating func aDestinationIsNotDelayed() {
        self.machine.updated(self.way(0, speed: 10), now: .seconds(0))
        let other = Approach(destination: Location.origin)
        self.machine.updated(other, now: .seconds(1))
        #expect(self.machine.current == other)
        // Nor is the first position after it.
        let first = Approach(destination: Location.origin, distance: 500)
        self.machine.updated(first, now: .seconds(2))
        #expect(self.machine.current == first)
        self.machine.updated(nil, now: .seconds(3))
        #expect(self.machine.current == nil && self.machine.nextDeadline == nil)
    }

    @Test func aPrivacyZoneHidesADestinationInItsMarginToo() throws {
        let zones = try PrivacyZones([PrivacyZone(name: "home", center: Location.origin, radius: 100)])
        for (north, isHidden) in [(0.0, true), (99, true), (109, true), (112, false)] {
            #expect(zones.hides(Location.fix(north: north, at: 0).coordinate) == isHidden, "\(north) m")
        }
    }
}
