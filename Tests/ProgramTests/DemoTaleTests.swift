import Testing
import TrackingCore

@testable import TrackingStore
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

    private func report(stored: ClosedRange<UInt64>, gone: ClosedRange<UInt64>? = nil) throws -> VerifyReport {
        var coverage = StreamCoverage([StreamCoverage.Range(.stored, stored)])
        if let gone { coverage.declare(gone, .gone) }
        let id = try #require(StreamID("one"))
        let stream = VerifyReport.StreamReport(id: id, coverage: coverage, duplicates: 0, clockFaults: 0)
        return VerifyReport(
            streams: [stream], points: coverage[.stored].count, unnumbered: 0, unnumberedClockFaults: 0,
            erasedBefore: nil)
    }

    @Test func theSummaryCountsEveryLostRecord() throws {
        let whole = DemoTotals(try self.report(stored: 1...60), live: [1, 31, 60])
        #expect(DemoTotals.lines(for: whole) == "  recorded: 60 points, all of them in the history\n  lost: 0")
        // A live position that the history lacks, a gap at the beginning, and records that the device no longer has.
        #expect(DemoTotals(try self.report(stored: 1...60), live: [62]).lost == 2)
        #expect(DemoTotals(try self.report(stored: 4...60), live: []).lost == 3)
        let gone = DemoTotals(try self.report(stored: 1...50, gone: 51...60), live: [40])
        #expect(DemoTotals.lines(for: gone) == "  recorded: 50 points in the history\n  lost: 10")
    }

    @Test func theSummaryWithoutAHistoryClaimsNothing() {
        #expect(DemoTotals.lines(for: nil) == "  recorded: unknown, because the demo has no history yet")
    }
}
