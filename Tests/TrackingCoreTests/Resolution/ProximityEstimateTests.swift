import Testing

@testable import TrackingCore

/// docs/reference/resolution.md, "Near": the temporal condition with an estimate along roads.
@Suite struct ProximityEstimateTests {
    private let destination = Location.fix(north: 10_000, at: 0).coordinate

    private func machine(_ destination: Coordinate?, spatial: Meters? = nil) throws -> ProximityStateMachine {
        try ProximityStateMachine(
            destination: destination, threshold: ProximityThreshold(spatial: spatial, temporal: .seconds(120)))
    }

    private func time(_ seconds: Double) -> UnixTime { Location.fix(at: seconds).time }

    private func move(_ machine: inout ProximityStateMachine, _ north: Double, at seconds: Double) -> Bool? {
        machine.moved(.fix(north: north, at: seconds), now: .seconds(seconds), wallClock: self.time(seconds))
    }

    /// An estimate of the second `at`, for a stop that is reached in `arrival` seconds.
    private func estimate(
        _ machine: inout ProximityStateMachine, of id: String? = nil, arrival: Double, at seconds: Double,
        _ status: Estimate.Status = .enRoute
    ) -> Bool? {
        let stop = Estimate.Stop(
            id: id ?? Journey.Stop.id(ofDestination: self.destination), eta: self.time(seconds + arrival),
            status: status)
        return machine.estimateChanged(
            Estimate(time: self.time(seconds), basis: .route, stops: [stop]), wallClock: self.time(seconds))
    }

    @Test func theEstimateCountsInPlaceOfTheStraightLine() throws {
        var machine = try self.machine(self.destination)
        #expect(self.move(&machine, 9_000, at: 0) == nil)
        // 500 m at 50 m/s: the straight line says 10 s, and the road 10 minutes.
        #expect(self.estimate(&machine, arrival: 600, at: 1) == nil)
        #expect(self.move(&machine, 9_500, at: 10) == nil)
        // The straight line says 33 minutes, and the road 90 s.
        #expect(self.move(&machine, 0, at: 40) == nil)
        #expect(self.estimate(&machine, arrival: 90, at: 41) == true)
    }

    @Test func theTimeIsCountedDownBetweenEstimates() throws {
        var machine = try self.machine(self.destination)
        #expect(self.move(&machine, 0, at: 0) == nil)
        #expect(self.estimate(&machine, arrival: 150, at: 0) == nil)
        #expect(self.move(&machine, 300, at: 29) == nil)
        #expect(self.move(&machine, 310, at: 31) == true)  // 119 s
        // Hysteresis: near ends above 132 s.
        #expect(self.estimate(&machine, arrival: 131, at: 32) == nil)
        #expect(self.estimate(&machine, arrival: 133, at: 33) == false)
    }

    @Test func anOldEstimateGivesWayToTheStraightLine() throws {
        var machine = try self.machine(self.destination)
        #expect(self.move(&machine, 0, at: 0) == nil)
        #expect(self.estimate(&machine, arrival: 100, at: 0) == true)
        #expect(self.move(&machine, 590, at: 59) == nil)
        #expect(self.move(&machine, 600, at: 60) == false)  // 10 m/s, 9,400 m
    }

    @Test func afterTheArrivalTheStraightLineCounts() throws {
        var machine = try self.machine(self.destination)
        #expect(self.move(&machine, 9_700, at: 0) == nil)
        #expect(self.move(&machine, 9_900, at: 20) == true)  // 10 m/s, 100 m
        #expect(self.estimate(&machine, arrival: 0, at: 20, .arrived) == nil)
        #expect(self.move(&machine, 9_800, at: 50) == nil)  // 3 m/s, 200 m
        #expect(machine.isNear)
    }

    @Test func withoutADestinationTheNextStopCounts() throws {
        var machine = try self.machine(nil, spatial: 100_000)
        #expect(self.move(&machine, 0, at: 0) == nil, "a distance needs a destination")
        #expect(self.estimate(&machine, of: "4711", arrival: 90, at: 0) == true)
        // Between two estimates of a standing trackable, the last result remains.
        #expect(self.move(&machine, 0, at: 62) == nil)
        #expect(self.move(&machine, 0, at: 179) == nil)
        #expect(self.move(&machine, 0, at: 180) == false)
        #expect(self.estimate(&machine, of: "4711", arrival: 90, at: 200) == true)
        #expect(self.estimate(&machine, of: "4711", arrival: 0, at: 210, .arrived) == false)
    }

    @Test func aClearedEstimateEndsNearWithoutADestination() throws {
        var machine = try self.machine(nil)
        #expect(self.move(&machine, 0, at: 0) == nil)
        #expect(self.estimate(&machine, of: "4711", arrival: 90, at: 0) == true)
        #expect(machine.estimateChanged(nil, wallClock: self.time(1)) == false)
    }

    @Test func aChangeOfTheDestinationCountsAtOnce() throws {
        var machine = try self.machine(Location.origin.destination(bearing: 0, distance: 50_000))
        #expect(self.move(&machine, 0, at: 0) == nil)
        #expect(self.estimate(&machine, arrival: 90, at: 0) == nil, "the estimate is for another place")
        #expect(machine.destinationChanged(self.destination, wallClock: self.time(1)) == true)
        #expect(
            machine.thresholdChanged(try ProximityThreshold(temporal: .seconds(60)), wallClock: self.time(1)) == false)
        // Without a destination, the same stop is the next one.
        #expect(
            machine.thresholdChanged(try ProximityThreshold(temporal: .seconds(99)), wallClock: self.time(1)) == true)
        #expect(machine.destinationChanged(nil, wallClock: self.time(1)) == nil)
        #expect(machine.isNear)
    }

    @Test func withoutATrustedClockAnEstimateHasNoEffect() throws {
        var machine = try self.machine(nil)
        #expect(self.move(&machine, 0, at: 0) == nil)
        let stop = Estimate.Stop(id: "4711", eta: self.time(90), status: .enRoute)
        let estimate = Estimate(time: self.time(0), basis: .route, stops: [stop])
        #expect(machine.estimateChanged(estimate, wallClock: nil) == nil)
    }
}
