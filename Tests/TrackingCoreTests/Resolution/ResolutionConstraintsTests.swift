import Testing

@testable import TrackingCore

@Suite struct ResolutionConstraintsTests {
    private let wanted = Resolution(.high, every: 1_000, moving: 5)

    @Test func aSetNeedsAtLeastOneMember() throws {
        #expect(throws: TrackingError.self) { try ResolutionSet() }
        let set = try ResolutionSet(nearWithSubscriber: self.wanted)
        #expect(set.member(isNear: true, isWatched: true) == self.wanted)
        #expect(set.member(isNear: true, isWatched: false) == nil)
    }

    @Test func oneResolutionServesForAllFour() {
        let set = ResolutionSet(all: self.wanted)
        for isNear in [true, false] {
            for isWatched in [true, false] {
                #expect(set.member(isNear: isNear, isWatched: isWatched) == self.wanted)
            }
        }
    }

    @Test func aProximityThresholdNeedsAMeasureAboveZero() throws {
        #expect(throws: TrackingError.self) { try ProximityThreshold() }
        #expect(throws: TrackingError.self) { try ProximityThreshold(spatial: -1) }
        #expect(throws: TrackingError.self) { try ProximityThreshold(spatial: 0) }
        #expect(throws: TrackingError.self) { try ProximityThreshold(spatial: Meters(.nan)) }
        #expect(throws: TrackingError.self) { try ProximityThreshold(spatial: Meters(.infinity)) }
        #expect(throws: TrackingError.self) { try ProximityThreshold(temporal: .seconds(-1)) }
        #expect(throws: TrackingError.self) { try ProximityThreshold(spatial: 100, temporal: .zero) }
        #expect(try ProximityThreshold(spatial: 100).temporal == nil)
        #expect(try ProximityThreshold(temporal: .seconds(60)).spatial == nil)
    }

    @Test(arguments: [-0.1, 100.1, .nan, .infinity]) func aThresholdOutsideZeroToAHundredIsRefused(percent: Double) {
        let error = #expect(throws: TrackingError.self) {
            try ResolutionConstraints(
                resolutions: ResolutionSet(all: self.wanted), batteryLevelThreshold: percent, lowBatteryMultiplier: 2)
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("0 to 100 percent") == true)
    }

    @Test(arguments: [0.999, 0, -3, .nan, .infinity]) func aMultiplierBelowOneIsRefused(multiplier: Double) {
        let error = #expect(throws: TrackingError.self) {
            try ResolutionConstraints(
                resolutions: ResolutionSet(all: self.wanted), batteryLevelThreshold: 10,
                lowBatteryMultiplier: multiplier)
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("lowBatteryMultiplier") == true)
    }

    @Test(arguments: [0.0, 10, 100]) func theEndsOfTheRangesAreAllowed(percent: Double) throws {
        let constraints = try ResolutionConstraints(
            resolutions: ResolutionSet(all: self.wanted), batteryLevelThreshold: percent, lowBatteryMultiplier: 1)
        #expect(constraints.batteryLevelThreshold == percent)
    }

    @Test func aNegativeIntervalOrDisplacementIsRefused() {
        #expect(throws: TrackingError.self) {
            try Resolution(accuracy: .high, desiredInterval: .milliseconds(-1), minimumDisplacement: 0)
        }
        #expect(throws: TrackingError.self) {
            try Resolution(accuracy: .high, desiredInterval: .zero, minimumDisplacement: -0.1)
        }
    }
}
