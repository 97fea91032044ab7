import Testing

@testable import TrackingCore

@Suite struct ProximityStateMachineTests {
    private func place(_ north: Double) -> Coordinate { Location.fix(north: north, at: 0).coordinate }

    private func spatial(_ meters: Meters, destination: Double = 10_000) throws -> ProximityStateMachine {
        try ProximityStateMachine(
            destination: self.place(destination), threshold: ProximityThreshold(spatial: meters))
    }

    private func temporal(_ seconds: Int, destination: Double = 10_000) throws -> ProximityStateMachine {
        try ProximityStateMachine(
            destination: self.place(destination), threshold: ProximityThreshold(temporal: .seconds(seconds)))
    }

    /// Passes a fix that arrives at its own time to the machine.
    private func move(_ machine: inout ProximityStateMachine, _ north: Double, at seconds: Double) -> Bool? {
        machine.moved(.fix(north: north, at: seconds), now: .seconds(seconds), wallClock: nil)
    }

    // MARK: Spatial

    @Test func nearIsEnteredBelowTheDistanceAndLeftAboveItByATenth() throws {
        var machine = try self.spatial(100)
        #expect(self.move(&machine, 9_000, at: 0) == nil)
        #expect(self.move(&machine, 9_899, at: 1) == nil)  // 101 m
        #expect(self.move(&machine, 9_901, at: 2) == true)  // 99 m
        #expect(machine.isNear)
        #expect(self.move(&machine, 9_899, at: 3) == nil)  // 101 m: between
        #expect(self.move(&machine, 9_891, at: 4) == nil)  // 109 m: between
        #expect(self.move(&machine, 9_889, at: 5) == false)  // 111 m
        #expect(self.move(&machine, 9_891, at: 6) == nil)  // 109 m does not suffice to come near again
    }

    @Test func theComparisonIsStrict() throws {
        let exact = self.place(9_000).distance(to: self.place(10_000))
        var at = try self.spatial(exact)
        #expect(self.move(&at, 9_000, at: 0) == nil)
        var above = try self.spatial(Meters(exact.value.nextUp))
        #expect(self.move(&above, 9_000, at: 0) == true)
    }

    @Test func withoutDestinationOrThresholdNothingIsNear() throws {
        var aimless = try ProximityStateMachine(threshold: ProximityThreshold(spatial: 100))
        #expect(self.move(&aimless, 10_000, at: 0) == nil)
        var boundless = ProximityStateMachine(destination: self.place(10_000))
        #expect(self.move(&boundless, 10_000, at: 0) == nil)
    }

    @Test func nearAcrossTheAntimeridian() throws {
        let east = Coordinate(latitude: 0, longitude: -179.9995)!  // in range
        let west = Coordinate(latitude: 0, longitude: 179.9995)!  // in range
        var machine = try ProximityStateMachine(destination: east, threshold: ProximityThreshold(spatial: 200))
        let fix = Location(coordinate: west, time: UnixTime(0))
        #expect(machine.moved(fix, now: .seconds(0), wallClock: nil) == true)  // 111 m
    }

    // MARK: Temporal

    @Test func theTimeToArrivalIsTheDistanceOverTheSpeed() throws {
        var machine = try self.temporal(60)
        #expect(self.move(&machine, 8_700, at: 0) == nil)  // unknown speed
        #expect(self.move(&machine, 8_790, at: 10) == nil)  // 9 m/s, 1,210 m: 134 s
        #expect(self.move(&machine, 8_880, at: 20) == nil)
        // 10 s at 60 m/s: over the window (90 + 90 + 600) / 30 = 26 m/s, 520 m: 20 s
        #expect(self.move(&machine, 9_480, at: 30) == true)
    }

    @Test func theSpeedIsThatOfTheLastThirtySeconds() throws {
        var machine = try self.temporal(60, destination: 100_000)
        #expect(self.move(&machine, 0, at: 0) == nil)
        #expect(self.move(&machine, 97_000, at: 100) == true)  // 970 m/s
        #expect(self.move(&machine, 97_010, at: 110) == nil)  // two thirds of the window are haste yet
        #expect(self.move(&machine, 97_020, at: 120) == nil)
        #expect(self.move(&machine, 97_030, at: 130) == false)  // 1 m/s, 2,970 m
    }

    @Test func aSpeedSpansFixesFurtherApartThanTheWindow() throws {
        var machine = try self.temporal(60)
        #expect(self.move(&machine, 0, at: 0) == nil)
        #expect(self.move(&machine, 1_200, at: 120) == nil)  // 10 m/s, 8,800 m
        #expect(self.move(&machine, 9_500, at: 950) == true)  // 10 m/s, 500 m: 50 s
    }

    @Test func belowHalfAMeterASecondTheLastAnswerRemains() throws {
        var machine = try self.temporal(60)
        #expect(self.move(&machine, 9_600, at: 0) == nil)
        #expect(self.move(&machine, 9_985, at: 30) == true)  // 13 m/s, 15 m
        for second in stride(from: 40.0, through: 130, by: 10) {
            #expect(self.move(&machine, 9_985, at: second) == nil)  // stationary: it would never arrive
        }
        #expect(machine.isNear)
        #expect(self.move(&machine, 9_960, at: 160) == nil)  // moving away: 0.8 m/s, 40 m: 48 s
        #expect(self.move(&machine, 9_930, at: 190) == false)  // 1 m/s, 70 m: 70 s
    }

    @Test func anUnknownSpeedNeitherBringsNearNorKeepsNear() throws {
        var machine = try ProximityStateMachine(
            destination: self.place(10_000),
            threshold: ProximityThreshold(spatial: 100, temporal: .seconds(60)))
        #expect(self.move(&machine, 9_950, at: 0) == true)  // 50 m
        #expect(self.move(&machine, 9_800, at: 0) == false)  // the same second: no speed can be measured
    }

    @Test func twoFixesInQuickSuccessionGiveNoSpeed() throws {
        var machine = try self.temporal(60)
        #expect(self.move(&machine, 5_000, at: 0) == nil)
        #expect(self.move(&machine, 5_020, at: 0.1) == nil)  // noise: 200 m/s, 25 s
    }

    @Test func theTimeToArrivalHasHysteresisToo() throws {
        var machine = try self.temporal(100)
        #expect(self.move(&machine, 8_000, at: 0) == nil)
        #expect(self.move(&machine, 8_300, at: 30) == nil)  // 10 m/s, 170 s
        #expect(self.move(&machine, 9_010, at: 101) == true)  // 10 m/s, 99 s
        #expect(self.move(&machine, 8_950, at: 107) == nil)  // still 10 m/s, 105 s: between
        #expect(self.move(&machine, 8_880, at: 114) == false)  // 112 s
    }

    // MARK: Both

    @Test func eitherMeasureSufficesAndBothMustBeExceeded() throws {
        var machine = try ProximityStateMachine(
            destination: self.place(10_000),
            threshold: ProximityThreshold(spatial: 1_000, temporal: .seconds(60)))
        #expect(self.move(&machine, 8_000, at: 0) == nil)
        #expect(self.move(&machine, 8_900, at: 30) == true)  // 1,100 m at 30 m/s: 37 s
        // The trackable drives back. The distance soon exceeds its limit by more than a tenth. The time does not yet,
        // so the trackable remains near.
        #expect(self.move(&machine, 8_380, at: 48) == nil)  // 1,620 m: 55 s
        #expect(self.move(&machine, 8_140, at: 56) == nil)  // 1,860 m: 63 s, between
        #expect(self.move(&machine, 7_900, at: 64) == false)  // 2,100 m: 71 s
    }

    @Test func aMeasureWithinItsHysteresisKeepsNear() throws {
        var machine = try ProximityStateMachine(
            destination: self.place(10_000),
            threshold: ProximityThreshold(spatial: 1_000, temporal: .seconds(100)))
        #expect(self.move(&machine, 9_310, at: 0) == true)  // 690 m, speed unknown
        #expect(self.move(&machine, 8_895, at: 39.5) == nil)  // 1,105 m exceeds; 10.5 m/s, 105 s does not
        #expect(self.move(&machine, 8_680, at: 60) == false)  // 126 s does
    }

    // MARK: Changes

    @Test func anotherDestinationIsDecidedFromTheLastPosition() throws {
        var machine = try self.spatial(100)
        #expect(self.move(&machine, 5_000, at: 0) == nil)
        #expect(machine.destinationChanged(self.place(5_050)) == true)
        #expect(machine.destinationChanged(self.place(5_050)) == nil)
        #expect(machine.destinationChanged(self.place(5_105)) == false)  // hysteresis is not carried over
        #expect(machine.destinationChanged(self.place(5_000)) == true)
        #expect(machine.destinationChanged(nil) == false)
        #expect(self.move(&machine, 5_000, at: 1) == nil)
    }

    @Test func theLastAnswerDoesNotApplyToAnotherDestination() throws {
        var machine = try self.temporal(60)
        #expect(self.move(&machine, 9_600, at: 0) == nil)
        #expect(self.move(&machine, 9_985, at: 30) == true)
        for second in stride(from: 40.0, through: 100, by: 10) { _ = self.move(&machine, 9_985, at: second) }
        #expect(machine.isNear)  // unchanged
        #expect(machine.destinationChanged(self.place(20_000)) == false)
    }

    @Test func anotherThresholdIsDecidedFromTheLastPosition() throws {
        var machine = try self.spatial(100)
        #expect(self.move(&machine, 9_500, at: 0) == nil)
        #expect(try machine.thresholdChanged(ProximityThreshold(spatial: 600)) == true)
        #expect(machine.thresholdChanged(nil) == false)
    }

    // MARK: Order and clocks

    @Test func aFixOlderThanTheNewestPlaysNoPart() throws {
        var machine = try self.spatial(100)
        #expect(self.move(&machine, 9_000, at: 10) == nil)
        #expect(machine.moved(.fix(north: 9_990, at: 5), now: .seconds(11), wallClock: nil) == nil)
        #expect(!machine.isNear)
    }

    @Test func aFixFromTheFutureDoesNotStopTheTest() throws {
        var machine = try self.spatial(100)
        let now = Location.fix(at: 10).time
        #expect(machine.moved(.fix(north: 9_000, at: 10), now: .seconds(10), wallClock: now) == nil)
        #expect(machine.moved(.fix(north: 9_990, at: 71), now: .seconds(11), wallClock: now) == nil)
        #expect(machine.moved(.fix(north: 9_950, at: 12), now: .seconds(12), wallClock: now) == true)
    }

    @Test func aClockThatWasSetBackIsBelievedAfterHalfAMinute() throws {
        var machine = try self.spatial(100)
        #expect(machine.moved(.fix(north: 9_000, at: 3_600), now: .seconds(0), wallClock: nil) == nil)
        #expect(machine.moved(.fix(north: 9_950, at: 0), now: .seconds(10), wallClock: nil) == nil)
        #expect(machine.moved(.fix(north: 9_950, at: 21), now: .seconds(31), wallClock: nil) == true)
    }

    @Test func aClockStepMakesTheSpeedUnknownAndKeepsTheAnswer() throws {
        var machine = try self.temporal(60)
        #expect(self.move(&machine, 9_600, at: 0) == nil)
        #expect(self.move(&machine, 9_700, at: 10) == true)
        machine.clockStepped()
        #expect(machine.moved(.fix(north: 9_710, at: -5_000), now: .seconds(11), wallClock: nil) == nil)
        #expect(machine.isNear)
    }
}
