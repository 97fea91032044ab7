import Testing

@testable import TrackingCore

@Suite struct MotionStateMachineTests {
    /// The motions of fixes a second apart at these speeds.
    private func motions(_ speeds: [Double?], _ activity: Activity = .other) -> [Motion?] {
        var machine = MotionStateMachine(activity: activity)
        return speeds.enumerated().map { machine.label(.fix(at: Double($0), speed: $1)).motion.first }
    }

    @Test(arguments: [
        (Activity.other, 0.2, Motion.stationary as Motion?), (.other, 1.4, .walking), (.other, 3, .running),
        (.other, 6, .cycling),
        (.other, 20, .driving), (.automotive, 1.4, .driving), (.automotive, 0.1, .stationary), (.fitness, 20, .cycling),
        (.otherNavigation, 8, nil), (.airborne, 200, nil), (.airborne, 0, .stationary),
    ])
    func theFirstSpeedDecidesAtOnce(activity: Activity, speed: Double, expected: Motion?) {
        #expect(self.motions([speed], activity) == [expected])
    }

    @Test func anotherMotionNeedsFiveSeconds() {
        let motions = self.motions([1.4, 20, 20, 20, 20, 20, 20])
        #expect(motions == [.walking, .walking, .walking, .walking, .walking, .driving, .driving])
    }

    @Test func aDriveContinuesThroughAJamOfAtMostTwoMinutes() {
        let motions = self.motions(
            Array(repeating: 15, count: 10) + Array(repeating: 0, count: 30) + Array(repeating: 1.5, count: 100))
        #expect(motions[9] == .driving)
        #expect(Set(motions[15..<40]) == [.stationary])
        #expect(Set(motions[46..<129]) == [.driving])
        #expect(motions.last == .walking)
    }

    @Test func oneWildFixChangesNothing() {
        #expect(Set(self.motions([1.4, 1.4, 40, 1.4, 1.4, 40, 1.4, 1.4, 1.4])) == [.walking])
    }

    @Test(arguments: [([2.0, 2.4], Motion.walking), ([2.4, 2.0], .running), ([0.4, 0.55], .stationary)])
    func aSpeedThatWaversAtABoundaryChangesNothing(around: [Double], expected: Motion) {
        let speeds = [around[0]] + Array(repeating: around[1], count: 30)
        #expect(Set(self.motions(speeds)) == [expected])
    }

    @Test func aMotionOfTheSourceIsUsed() {
        var machine = MotionStateMachine(activity: .other)
        #expect(machine.label(.fix(at: 0, speed: 20, motion: [.cycling])).motion == [.cycling])
        #expect(machine.motion == .cycling)
        #expect(machine.label(.fix(at: 1, motion: [.driving, .stationary])).motion == [.driving, .stationary])
        #expect(machine.motion == .stationary)
    }

    @Test func aReportedDriveIsRememberedFromItsEnd() {
        var machine = MotionStateMachine(activity: .other)
        for second in 0..<110 { _ = machine.label(.fix(at: Double(second), speed: 20, motion: [.driving])) }
        let walk = (110..<200).map { machine.label(.fix(at: Double($0), speed: 1.5)).motion }
        #expect(Set(walk) == [[.driving]])
    }

    @Test func withoutASpeedTheDistanceDeterminesTheMotion() {
        var machine = MotionStateMachine(activity: .other)
        var motions: [Motion?] = []
        for second in 0..<60 {
            let north = second < 30 ? Double(second % 2) * 4 : Double(second - 30) * 20  // noise, then a drive
            motions.append(machine.label(.fix(north: north, at: Double(second))).motion.first)
        }
        #expect(motions[0] == nil)
        #expect(Set(motions[12..<30]) == [.stationary])
        #expect(motions.last == .driving)
    }

    @Test func aFixWithARadiusOfAKilometreIsIgnored() {
        var machine = MotionStateMachine(activity: .other)
        #expect(machine.label(.fix(at: 0, speed: 20, accuracy: 1000)).motion.isEmpty)
        #expect(!machine.isKnown)
    }

    @Test func sparseFixesCountForTheTimeSinceTheOneBefore() {
        var machine = MotionStateMachine(activity: .other)
        let motions = [(0.0, 1.4), (120, 1.4), (240, 20), (360, 0)].map {
            machine.label(.fix(at: $0, speed: $1)).motion
        }
        #expect(motions == [[.walking], [.walking], [.driving], [.stationary]])
    }
}
