import Testing

@testable import TrackingCore

@Suite struct ApproachTests {
    private let destination = Location.fix(north: 10_000, at: 0).coordinate
    private var machine = ApproachStateMachine()

    /// The way from a place `north` metres up the road.
    private func way(_ north: Double?, speed: Double? = nil) -> Approach {
        Approach(
            destination: self.destination, from: north.map { Location.fix(north: $0, at: 0).coordinate }, speed: speed)
    }

    @Test func theWayIsInWholeMetresAndSeconds() {
        let way = self.way(4_000.4, speed: 9)
        #expect(way.distance == 6_000)
        #expect(way.timeToArrival == .seconds(667))
        #expect(self.way(4_000).timeToArrival == nil)
        #expect(self.way(nil, speed: 9) == Approach(destination: self.destination))
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
