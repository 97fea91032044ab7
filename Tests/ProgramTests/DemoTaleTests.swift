import Testing
import TrackingCore

@testable import godwit

@Suite struct DemoTaleTests {
    @Test func theStoryHasEachStepOnceAndEnds() {
        var tale = DemoTale()
        #expect(tale.due(after: .seconds(1), isMapOpen: false).isEmpty)
        #expect(tale.due(after: .seconds(9), isMapOpen: false) == [.watcher(isThere: true)])
        #expect(tale.due(after: .seconds(9), isMapOpen: false).isEmpty)
        let rest = tale.due(after: .seconds(100), isMapOpen: false)
        #expect(
            rest == [
                .battery(isLow: true), .battery(isLow: false), .network(isUp: false), .network(isUp: true),
                .watcher(isThere: false), .end,
            ])
    }

    @Test func anOpenMapPostponesTheEnd() {
        var tale = DemoTale()
        #expect(tale.due(after: .seconds(100), isMapOpen: true).last == .watcher(isThere: false))
        #expect(tale.due(after: .seconds(101), isMapOpen: false) == [.end])
    }

    @Test func aKeyTogglesAndEndsTheAutomaticSteps() {
        var tale = DemoTale()
        #expect(tale.pressed("x") == nil)
        #expect(!tale.isSteered)
        #expect(tale.pressed("w") == .watcher(isThere: true))
        #expect(tale.pressed("w") == .watcher(isThere: false))
        #expect(tale.pressed("b") == .battery(isLow: true))
        #expect(tale.pressed("n") == .network(isUp: false))
        #expect(tale.due(after: .seconds(100), isMapOpen: false).isEmpty)
        #expect(tale.pressed("q") == .end)
    }

    @Test func thePaceFollowsTheGapsAndTheSilence() throws {
        var pace = DemoPace()
        #expect(pace.perMinute(at: .seconds(5)) == nil)
        pace.arrived(at: .seconds(1))
        #expect(pace.perMinute(at: .seconds(5)) == nil)
        for second in 2...9 { pace.arrived(at: .seconds(second)) }
        #expect(pace.perMinute(at: .seconds(9)) == 60)
        #expect(pace.perMinute(at: .seconds(39)) == 2)
        #expect(DemoPace.bar(60) == "██████████")
        #expect(DemoPace.bar(2) == "█░░░░░░░░░")
        #expect(DemoPace.bar(0) == "░░░░░░░░░░")
    }
}
