import Synchronization
import Testing
import TrackingCore
import TrackingRuntime

@testable import TrackingPublisher

/// A source that the test controls, and that reports when it is opened and closed.
private final class ScriptedSource: LocationSource {
    enum Order: Sendable {
        case fix(Double)
        case breakDown
        case end
    }

    let facts: SourceFacts
    let log: EventLog<String>
    private let orders = SourceMailbox()
    private let wanted = ResolutionBox()

    init(_ name: String, _ accuracy: Resolution.Accuracy, _ log: EventLog<String>, isLive: Bool = true) {
        self.facts = SourceFacts(name: name, kind: .gps, isFinite: !isLive, isLive: isLive, accuracy: accuracy)
        self.log = log
    }

    func order(_ order: Order) { self.orders.post(order) }
    var resolution: Resolution? { self.wanted.current }
    func use(_ resolution: Resolution) async { self.wanted.set(resolution) }

    func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
        self.log.append("+\(self.facts.name)")
        defer { self.log.append("-\(self.facts.name)") }
        while !Task.isCancelled {
            for order in await self.orders.next() {
                switch order {
                case .fix(let time):
                    guard let place = Coordinate(latitude: 52, longitude: -8) else { continue }
                    await deliver(.fix(Location(coordinate: place, time: UnixTime(time))))
                case .breakDown: throw TrackingError(.inputUnreadable, "\(self.facts.name) broke")
                case .end: return
                }
            }
        }
    }
}

private final class SourceMailbox: Sendable {
    private let waiter = Waiter()
    private let orders = Mutex<[ScriptedSource.Order]>([])

    func post(_ order: ScriptedSource.Order) {
        self.orders.withLock { $0.append(order) }
        self.waiter.signal(.news)
    }

    func next() async -> [ScriptedSource.Order] {
        if self.orders.withLock({ $0.isEmpty }) { _ = await self.waiter.next() }
        return self.orders.withLock { orders in
            defer { orders = [] }
            return orders
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct SourceRunnerTests {
    @Test func theCheapestThatSufficesRunsAndTheOthersAreClosed() async throws {
        let story = EventLog<String>()
        let coarse = ScriptedSource("coarse", .low, story)
        let fine = ScriptedSource("fine", .high, story)
        let runner = SourceRunner([coarse, fine])
        await runner.use(.every(milliseconds: 1000, .low))
        try await whileRunning(runner) { log in
            try await story.wait(for: "coarse") { $0 == ["+coarse"] }
            await runner.use(.every(milliseconds: 500, .high))
            try await story.wait(for: "fine") { Set($0) == ["+coarse", "-coarse", "+fine"] }
            #expect(coarse.resolution?.desiredInterval == .milliseconds(500))
            fine.order(.fix(1))
            try await log.waitForFixes(1)
            await runner.use(.every(milliseconds: 1000, .minimum))
            try await story.wait(for: "coarse again") {
                $0.contains("-fine") && $0.filter { $0 == "+coarse" }.count == 2
            }
            try await log.wait(for: "word of it") { _ in log.notices.count == 3 }
            #expect(log.notices == ["coarse", "fine", "coarse"].map { .selected(source: $0) })
        }
        #expect(story.all.filter { $0.hasPrefix("+") }.count == story.all.filter { $0.hasPrefix("-") }.count)
    }

    @Test func whileOneIsBrokenTheNextBestRuns() async throws {
        let story = EventLog<String>()
        let coarse = ScriptedSource("coarse", .low, story)
        let fine = ScriptedSource("fine", .high, story)
        try await whileRunning(SourceRunner([coarse, fine])) { log in
            try await story.wait(for: "fine") { $0 == ["+fine"] }
            fine.order(.breakDown)
            try await story.wait(for: "coarse") { $0.contains("+coarse") }
            coarse.order(.fix(1))
            try await log.waitForFixes(1)
            // A second later it is tried again; until it delivers the other goes on.
            try await story.wait(for: "another try") { $0.filter { $0 == "+fine" }.count == 2 }
            #expect(!story.all.contains("-coarse"))
            fine.order(.fix(2))
            try await story.wait(for: "the other's end") { $0.last == "-coarse" }
            try await log.wait(for: "word of it") { _ in log.notices.last == .selected(source: "fine") }
            #expect(
                log.notices.suffix(4) == [
                    .lost(source: "fine", reason: TrackingError(.inputUnreadable, "fine broke")),
                    .selected(source: "coarse"), .found(source: "fine"), .selected(source: "fine"),
                ])
        }
    }

    @Test func itEndsWhenAllHaveEnded() async throws {
        let story = EventLog<String>()
        let first = ScriptedSource("first", .high, story, isLive: false)
        let second = ScriptedSource("second", .low, story, isLive: false)
        first.order(.fix(1))
        first.order(.end)
        second.order(.fix(2))
        second.order(.end)
        let (log, error) = await runToEnd(SourceRunner([first, second]))
        #expect(error == nil && log.fixes.map(\.time.seconds) == [1, 2])
    }

    /// Also beside a receiver, which cannot wait.
    @Test func aSourceThatCanWaitIsHeldBack() async throws {
        let story = EventLog<String>()
        let receiver = ScriptedSource("receiver", .low, story)
        let pipe = ScriptedSource("pipe", .high, story, isLive: false)
        let asked = EventLog<Int>()
        let runner = SourceRunner([receiver, pipe], catchUp: { asked.append(1) })
        try await whileRunning(runner) { log in
            pipe.order(.fix(1))
            pipe.order(.fix(2))
            try await asked.wait(for: "each fix of the pipe") { $0.count == 2 }
            await runner.use(.every(milliseconds: 1000, .low))
            receiver.order(.fix(3))
            try await log.waitForFixes(3)
        }
        #expect(asked.all.count == 2)
    }

    @Test func aRecordingThatCannotBeReadIsNotTriedAgain() async throws {
        let (_, error) = await runToEnd(SourceRunner([RecordingSource(.gpx, file: "/nonexistent/a.gpx")]))
        #expect(
            error == TrackingError(.inputUnreadable, "cannot use gpx:/nonexistent/a.gpx: No such file or directory"))
    }

    @Test func aDateThatRolledOverIsCorrectedOnTheWay() async throws {
        let source = ScriptedSource("old", .high, EventLog<String>())
        let runner = SourceRunner([source], isClockTrusted: { true })
        try await whileRunning(runner) { log in
            let now = DeviceClock.wall.seconds.rounded()
            source.order(.fix(now - WeekRollover.period))
            source.order(.fix(now + 1 - WeekRollover.period))
            try await log.waitForFixes(2)
            #expect(log.fixes.map(\.time.seconds) == [now, now + 1])
            #expect(log.notices == [.dateCorrected(source: "old", rollovers: -1)])
        }
    }

    @Test func datesThatAreRightNowAndThenAreSaidOnce() async throws {
        let source = ScriptedSource("old", .high, EventLog<String>())
        try await whileRunning(SourceRunner([source], isClockTrusted: { true })) { log in
            let now = DeviceClock.wall.seconds.rounded()
            for second in 0..<6 {
                source.order(.fix(now + Double(second) - (second % 2 == 1 ? WeekRollover.period : 0)))
            }
            try await log.waitForFixes(6)
            #expect(log.notices == [.dateCorrected(source: "old", rollovers: -1)])
        }
    }

    @Test func withoutATrustedClockTheDateIsMarkedOnTheWay() async throws {
        let source = ScriptedSource("old", .high, EventLog<String>())
        let runner = SourceRunner([source], isClockTrusted: { false })
        try await whileRunning(runner) { log in
            let old = DeviceClock.wall.seconds.rounded() - WeekRollover.period
            source.order(.fix(old))
            source.order(.fix(old + 1))
            try await log.waitForFixes(2)
            #expect(log.fixes.map(\.time.seconds) == [old, old + 1])
            #expect(log.fixes.allSatisfy { $0.extra == Array("{\"suspectWeeks\":-1024}".utf8) })
            #expect(log.notices == [.dateSuspect(source: "old", rollovers: -1)])
        }
    }

    @Test func theSimulatedCourierFollowsTheResolution() async throws {
        let courier = SimulatedSource(SimulatedSource.Configuration(speedFactor: 20))
        await courier.use(.every(milliseconds: 100, .maximum))
        try await whileRunning(courier) { log in
            try await log.waitForFixes(30)
            let fixes = log.fixes
            #expect(fixes.allSatisfy { $0.source == .simulated && ($0.accuracyHorizontal ?? 9) < 2 })
            #expect(zip(fixes, fixes.dropFirst()).allSatisfy { $1.time > $0.time })
            #expect((fixes.last?.coordinate.distance(to: fixes[0].coordinate).value ?? 0) > 20)
            await courier.use(.every(milliseconds: 3_600_000))
            let count = log.fixes.count
            #expect(log.fixes.count <= count + 1)
            await courier.use(.every(milliseconds: 100))
            try await log.waitForFixes(count + 5)
        }
    }
}
