import Testing
import TrackingCore

/// Resolutions that are made without an error.
@Suite struct ResolutionClassTests {
    @Test func eachClassHasItsAccuracy() throws {
        let made: [Resolution] = [
            .minimum(every: .seconds(1)), .low(every: .seconds(1)), .balanced(every: .seconds(1)),
            .high(every: .seconds(1)), .maximum(every: .seconds(1)),
        ]
        #expect(made.map(\.accuracy) == Resolution.Accuracy.allCases)
        let checked = try Resolution(accuracy: .high, desiredInterval: .seconds(2), minimumDisplacement: 5)
        #expect(Resolution.high(every: .seconds(2), moving: 5) == checked)
    }

    @Test func valuesOutOfRangeAreClamped() {
        #expect(Resolution.high(every: .seconds(-1), moving: -1) == .high(every: .zero))
        #expect(Resolution.high(every: .seconds(1e12)).desiredInterval == Resolution.maximumInterval)
        #expect(Resolution.high(every: .zero, moving: Meters(.nan)).minimumDisplacement == 0)
        #expect(Resolution.high(every: .zero, moving: Meters(.infinity)).minimumDisplacement.value.isFinite)
    }
}
