import Testing
import TrackingCore
import TrackingRuntime

@testable import TrackingPublisher

@Suite struct WeekRolloverTests {
    private static let clock = UnixTime.at("2024-05-17T12:00:00Z")
    private static let period = 1024.0 * 604_800

    private static let table: [(weeks: Double, seconds: Double, expected: WeekRollover)] = [
        (0, 0, .asIs), (0, 86_400, .asIs), (1, 0, .asIs), (512, 0, .asIs),
        (-1024, 0, .corrected(rollovers: -1)), (-1024, 86_400, .corrected(rollovers: -1)),
        (-1024, -86_400, .corrected(rollovers: -1)), (-1024, 86_401, .asIs), (-1024, -86_401, .asIs),
        (-2048, 5, .corrected(rollovers: -2)), (1024, 0, .corrected(rollovers: 1)), (.infinity, 0, .asIs),
        (.nan, 0, .asIs), (1e300, 0, .asIs),
    ]

    @Test(arguments: table)
    func wholeMultiplesOf1024WeeksAreCorrected(weeks: Double, seconds: Double, expected: WeekRollover) {
        let time = UnixTime(Self.clock.seconds + weeks * 604_800 + seconds)
        #expect(WeekRollover.examine(time, clock: Self.clock, isTrusted: true) == expected)
    }

    @Test func withoutATrustedClockTheyAreMarked() {
        let time = UnixTime(Self.clock.seconds - Self.period)
        let verdict = WeekRollover.examine(time, clock: Self.clock, isTrusted: false)
        #expect(verdict == .suspect(rollovers: -1))
        #expect(verdict.applied(to: time) == time)
    }

    @Test func theCorrectionKeepsTheTimeOfTheWeek() {
        let time = UnixTime.at("2004-10-01T12:00:03Z")
        #expect(WeekRollover.corrected(rollovers: -1).applied(to: time) == .at("2024-05-17T12:00:03Z"))
    }

    @Test func theNoticeIsDeliveredOnceAndOnlyForALiveSource() {
        let old = UnixTime(DeviceClock.wall.seconds - Self.period)
        guard let place = Coordinate(latitude: 1, longitude: 2) else { return }
        let event = SourceEvent.fix(Location(coordinate: place, time: old))
        let live = SourceFacts(name: "s", kind: .gps, isFinite: false, isLive: true)
        let examiner = DateExaminer(live, { true })
        let first = examiner.examine(event)
        #expect(first.first == .notice(.dateCorrected(source: "s", rollovers: -1)))
        #expect(first.fixes.first.map { abs($0.time.seconds - old.seconds - Self.period) < 1e-3 } == true)
        #expect(examiner.examine(event).count == 1)
        let suspicious = DateExaminer(live, { false })
        var marked = Location(coordinate: place, time: old)
        marked.extra = Array("{\"suspectWeeks\":-1024}".utf8)
        #expect(suspicious.examine(event) == [.notice(.dateSuspect(source: "s", rollovers: -1)), .fix(marked)])
        #expect(first.fixes.first?.extra == nil)
        let recording = SourceFacts(name: "r", kind: .replay, isFinite: true, isLive: false)
        #expect(DateExaminer(recording, { true }).examine(event) == [event])
    }

    @Test func theKernelAnswersWhetherItsClockIsTrusted() {
        // Either answer will do; it must come, and be the same twice.
        #expect(SystemClockTrust.isSynchronized == SystemClockTrust.isSynchronized)
    }
}
