import Testing

@testable import TrackingCore

@Suite struct ClockStepTests {
    @Test func clocksThatGoTogetherDoNotStep() {
        var clocks = ClockStep()
        #expect(clocks.didRead(monotonic: .seconds(5), wall: UnixTime(1_000)) == nil)
        #expect(clocks.didRead(monotonic: .seconds(15), wall: UnixTime(1_010)) == nil)
        #expect(clocks.didRead(monotonic: .seconds(25), wall: UnixTime(1_021.9)) == nil)
    }

    @Test func settingTheClockIsAStepEitherWay() {
        var clocks = ClockStep()
        #expect(clocks.didRead(monotonic: .seconds(0), wall: UnixTime(1_000)) == nil)
        #expect(clocks.didRead(monotonic: .seconds(10), wall: UnixTime(4_610)) == .seconds(3_600))
        #expect(clocks.didRead(monotonic: .seconds(20), wall: UnixTime(4_620)) == nil)  // said once
        #expect(clocks.didRead(monotonic: .seconds(30), wall: UnixTime(630)) == .seconds(-4_000))
    }

    @Test func theToleranceIsTwoSeconds() {
        var clocks = ClockStep()
        _ = clocks.didRead(monotonic: .seconds(0), wall: UnixTime(1_000))
        #expect(clocks.didRead(monotonic: .seconds(0), wall: UnixTime(1_002)) == nil)
        #expect(clocks.didRead(monotonic: .seconds(0), wall: UnixTime(1_004.5)) == .seconds(2.5))
    }

    @Test func slewingIsNotAStep() {
        var clocks = ClockStep()
        for hour in 0..<24 {
            let elapsed = Double(hour) * 3_600
            #expect(clocks.didRead(monotonic: .seconds(elapsed), wall: UnixTime(1_000 + elapsed * 1.0006)) == nil)
        }
    }
}
