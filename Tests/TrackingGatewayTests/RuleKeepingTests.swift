import Foundation
import GRDB
import ServiceLifecycle
import Synchronization
import Testing
import TrackingCore
import TrackingStore
import TrackingSubscriber

@testable import TrackingGateway

/// What a keeper of rules keeps, and when it counts.
@Suite(.timeLimit(.minutes(5))) struct RuleKeepingTests {
    private let folder = TemporaryFolder()
    private let van: TrackableID
    private let depot: Coordinate
    private let start = 1_700_000_000.0

    init() throws {
        self.van = try TrackableID("van-7")
        self.depot = try #require(Coordinate(latitude: 52.66, longitude: -8.63))
    }

    private func update(_ distance: Double, _ time: Double) -> SubscriberEvent {
        let fix = Location(
            coordinate: self.depot.destination(bearing: 0, distance: Meters(distance)), time: UnixTime(time))
        return .location(
            self.van,
            ReceivedUpdate(update: LocationUpdate(location: fix), skipped: [], isLate: false, isRetained: false))
    }

    /// Runs a keeper that is told by `heard`.
    private func keep(
        _ kinds: Set<Outbox.Kind> = [], at time: @escaping @Sendable () -> Double = { 1_700_000_000 },
        history: (any HistoryStore)? = nil, gate: OutboxGate = OutboxGate(),
        _ body: (_ heard: AsyncStream<SubscriberEvent>.Continuation) async throws -> Void
    ) async throws {
        let (events, heard) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let keeper = RuleKeeper(
            configuration: RuleKeeper.Configuration(kinds: kinds, readers: ["hook"], seed: 7) { UnixTime(time()) },
            database: try self.folder.database(), events: events, history: history, gate: gate
        ) { (_, _) throws(TrackingError) in }
        let running = Task {
            do { try await keeper.run() } catch  where !Task.isCancelled { Issue.record(error) }
        }
        try await body(heard)
        running.cancel()
        _ = try? await running.value
    }

    private func count(_ sql: String) async throws -> Int {
        try await self.folder.database().read { db in try Int.fetchOne(db, sql: sql) ?? 0 }
    }

    /// Waits until something is so.
    private func eventually(_ what: String, _ isSo: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await !isSo() {
            try #require(ContinuousClock.now < deadline, "\(what)")
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func places() async throws -> [String: Int64] {
        try await self.folder.database().read { db in
            let rows = try Row.fetchAll(db, sql: "SELECT name, place FROM outboxReader")
            return Dictionary(rows.map { ($0[0] as String, $0[1] as Int64) }, uniquingKeysWith: { $1 })
        }
    }

    /// What waits for a webhook is erased while no gateway runs: it is not told when one runs again, what is newer is.
    /// Positions may stand in what was set aside of requests.
    @Test func whatWasSetAsideIsErasedToo() async throws {
        let history = try SQLiteHistoryStore(path: self.folder.url.appending(path: "history.sqlite").path())
        let quarantine = Quarantine(database: try self.folder.database())
        let (bus, tram) = (try TrackableID("bus"), try TrackableID("tram"))
        for id in [self.van, bus, tram] {
            try await quarantine.add(
                [RefusedPiece(reason: "no", bytes: Array("{}".utf8))], of: id, from: "x", at: UnixTime(self.start))
        }
        var recording = Recording(of: bus, at: UnixTime(self.start))
        recording.points = [Location(coordinate: self.depot, time: UnixTime(self.start))]
        var batch = RecordingBatch()
        batch.recordings = [recording]
        _ = try await history.store(batch)
        _ = try await history.erase(bus, before: nil, now: UnixTime(self.start + 50))
        func left() async throws -> Set<String> {
            Set(try await quarantine.entries(limit: 10).map(\.trackable))
        }
        let silent = try Rule(name: "quiet", .silent(.seconds(60)), of: [tram])
        try await RuleStore(try self.folder.database()).add(
            RuleDefinition(name: silent.name, .silent(seconds: 60), trackables: [tram]))
        let gate = OutboxGate()
        try await self.keep(history: history, gate: gate) { heard in
            heard.yield(.positionsKept([]))
            // Of which nothing was ever recorded, what was set aside is all there is.
            try await self.eventually("erased while the gateway was away") { try await left() == ["van-7", "tram"] }
            heard.yield(.locationCleared(self.van))
            try await self.eventually("it is erased") { try await left() == ["tram"] }
        }
    }

    /// By a clock that jumps ahead what waits does not grow old.
    @Test func aClockThatJumpsAheadLetsNothingGo() throws {
        let now = Mutex(self.start)
        let configuration = RuleKeeper.Configuration(seed: 7) { UnixTime(now.withLock { $0 }) }
        let keeper = RuleKeeper(
            configuration: configuration, database: try self.folder.database(), events: AsyncStream { nil }
        ) { (_, _) throws(TrackingError) in }
        now.withLock { $0 += 3e8 }
        #expect((0..<60).contains(keeper.agingTime.seconds - self.start))
        now.withLock { $0 -= 6e8 }
        #expect(keeper.agingTime.seconds == self.start - 3e8)
    }

    @Test func whatWasErasedMeanwhileIsNotTold() async throws {
        let history = try SQLiteHistoryStore(path: self.folder.url.appending(path: "history.sqlite").path())
        let bus = try TrackableID("bus")
        for id in [self.van, bus] {
            var recording = Recording(of: id, at: UnixTime(self.start))
            recording.points = [Location(coordinate: self.depot, time: UnixTime(self.start))]
            var batch = RecordingBatch()
            batch.recordings = [recording]
            _ = try await history.store(batch)
        }
        let outbox = Outbox(try self.folder.database())
        try await outbox.begin("hook")
        let drafts = [self.van, bus].flatMap { id in
            [0.0, 100].map {
                Outbox.Draft(trackable: id, kind: .position, time: UnixTime(self.start + $0), payload: "{}")
            }
        }
        try await self.folder.database().write { try Outbox.add(drafts, to: $0) }
        _ = try await history.erase(self.van, before: nil, now: UnixTime(self.start + 50))
        func left() async throws -> [String] {
            try await outbox.next("hook", kinds: [.position], ownAlone: false, limit: 100).entries.map {
                "\($0.trackable) \(Int($0.time.seconds - self.start))"
            }
        }
        // It goes on being published: the broker has a position of it.
        var gate = OutboxGate()
        try await self.keep(history: history, gate: gate) { heard in
            try await Task.sleep(for: .milliseconds(200))
            #expect(!gate.isOpen, "before the broker is heard")
            heard.yield(.positionsKept([self.van]))
            try await self.eventually("it may be told") { gate.isOpen }
            #expect(try await left() == ["van-7 100", "bus 0", "bus 100"])
        }
        // Neither broker nor history has anything of it any more; of the bus the history has.
        gate = OutboxGate()
        try await self.keep(history: history, gate: gate) { heard in
            heard.yield(.positionsKept([]))
            try await self.eventually("it may be told") { gate.isOpen }
            #expect(try await left() == ["bus 0", "bus 100"])
        }
        // Without a history, what the broker does not keep was cleared.
        gate = OutboxGate()
        try await self.keep(gate: gate) { heard in
            heard.yield(.positionsKept([]))
            try await self.eventually("it may be told") { gate.isOpen }
            #expect(try await left() == [])
        }
        // Nothing waits: nobody is waited for.
        gate = OutboxGate()
        try await self.keep(gate: gate) { _ in try await self.eventually("it may be told") { gate.isOpen } }
        try await history.close()
    }

    @Test func theTopicsReaderGoesOnWhereNoRuleFindsAnything() async throws {
        let outbox = Outbox(try self.folder.database())
        for reader in ["hook", "gone"] { try await outbox.begin(reader) }
        try await self.keep([.position]) { heard in
            for second in 1...3 { heard.yield(self.update(500, self.start + Double(second))) }
            try await self.eventually("the topics' reader is where the outbox ends") {
                try await self.places()[RuleKeeper.topicReader] == 3
            }
            #expect(try await self.places() == [RuleKeeper.topicReader: 3, "hook": 0])
            try await outbox.told("hook", through: 3)
            #expect(try await outbox.trim(now: UnixTime(1_800_000_000)) == 0)
        }
    }

    @Test func aTripThatTheBrokerTellsAgainIsToldOnce() async throws {
        let outbox = Outbox(try self.folder.database())
        try await outbox.begin("hook")
        func trip(_ seq: UInt64) throws -> SubscriberEvent {
            .trip(
                self.van,
                Trip(
                    id: "t", mode: "car", start: UnixTime(self.start), stream: try #require(StreamID("abcdefgh")),
                    seq: seq))
        }
        func payloads() async throws -> [String] {
            try await outbox.next("hook", kinds: [.trip], ownAlone: false, limit: 100).entries.map(\.payload)
        }
        for told in [[1], [1, 2, 1, 2]] as [[UInt64]] {
            let before = try await payloads().count
            try await self.keep([.trip]) { heard in
                for seq in told { heard.yield(try trip(seq)) }
                try await self.eventually("one more trip") { try await payloads().count > before }
            }
        }
        let seqs = try await payloads().compactMap { try JSONValue(json: $0.utf8)["seq"]?.count }
        #expect(seqs == [1, 2])
    }

    /// A fence that was moved while no gateway ran: where the van was to the old one says nothing of the new one.
    @Test func aMovedFenceBeginsAnewOverARestart() async throws {
        let store = RuleStore(try self.folder.database())
        try await store.add(try Fence(name: "depot", shape: .circle(center: self.depot, radius: 100)))
        try await store.add(RuleDefinition(name: "out", .leave(fence: "depot")))
        try await store.add(RuleDefinition(name: "fast", .speed(above: 10)))
        func isKept(since time: Double) async throws {
            try await self.eventually("where it is to the fence is kept") {
                try await self.count("SELECT count(*) FROM ruleState WHERE rule = 'out' AND since = \(time)") == 1
            }
        }
        try await self.keep { heard in
            heard.yield(self.update(0, self.start))
            try await isKept(since: self.start)
        }
        let there = self.depot.destination(bearing: 0, distance: 5_000)
        try await store.add(try Fence(name: "depot", shape: .circle(center: there, radius: 100)))
        try await self.keep(at: { 1_700_000_010 }) { heard in
            heard.yield(self.update(0, self.start + 10))
            try await isKept(since: self.start + 10)
        }
        // What is found is kept with how it stands.
        #expect(try await self.count("SELECT count(*) FROM outbox") == 0)
    }

    @Test func whatIsPutAgainAsItWasGoesOn() async throws {
        let database = try self.folder.database()
        let store = RuleStore(database)
        let fence = try Fence(name: "depot", shape: .circle(center: self.depot, radius: 100))
        let rule = RuleDefinition(name: "out", .leave(fence: "depot"))
        try await store.add(fence)
        try await store.add(rule)
        try await database.write { db in
            try db.execute(sql: "INSERT INTO ruleState VALUES('van-7', 'out', 1, 5, 0)")
        }
        try await store.add(fence)
        try await store.add(RuleDefinition(name: "out", .leave(fence: "depot"), groups: ["north"]))
        #expect(try await self.count("SELECT count(*) FROM ruleState") == 1)
        try await store.add(RuleDefinition(name: "out", .enter(fence: "depot")))
        #expect(try await self.count("SELECT count(*) FROM ruleState") == 0)
    }

    @Test func whatIsClearedIsNotTold() async throws {
        let store = RuleStore(try self.folder.database())
        try await store.add(try Fence(name: "depot", shape: .circle(center: self.depot, radius: 100)))
        try await store.add(RuleDefinition(name: "out", .leave(fence: "depot")))
        let outbox = Outbox(try self.folder.database())
        try await outbox.begin("hook")
        try await self.keep([.position, .event]) { heard in
            heard.yield(self.update(0, self.start))
            try await self.eventually("a position waits for the webhook") {
                try await self.count("SELECT count(*) FROM outbox") == 1
            }
            #expect(try await self.count("SELECT count(*) FROM ruleState") == 1)
            // What was found and is not kept yet goes as well; what comes later is told.
            heard.yield(self.update(500, self.start + 1))
            heard.yield(.locationCleared(self.van))
            heard.yield(self.update(500, self.start + 2))
            try await self.eventually("what came later counts anew") {
                try await self.count("SELECT count(*) FROM ruleState WHERE since = \(self.start + 2)") == 1
            }
            #expect(try await self.count("SELECT count(*) FROM outbox WHERE kind = 'position'") == 1)
            #expect(try await self.count("SELECT count(*) FROM outbox") == 1)
        }
    }

    /// A rule that comes while the gateway runs knows what the gateway knows.
    @Test func aRuleThatComesLaterMissesNoCrossing() async throws {
        let store = RuleStore(try self.folder.database())
        try await store.add(try Fence(name: "depot", shape: .circle(center: self.depot, radius: 100)))
        func resolution(isNear: Bool) -> SubscriberEvent {
            .resolution(
                self.van,
                ResolutionInForce(
                    resolution: .standard, isNear: isNear, subscribers: 0, isLowBattery: false, state: .online,
                    filter: .both, maximumSilence: .zero))
        }
        try await self.keep { heard in
            heard.yield(self.update(500, self.start))
            heard.yield(resolution(isNear: false))
            try await store.add(RuleDefinition(name: "in", .enter(fence: "depot")))
            try await store.add(RuleDefinition(name: "there", .arrived))
            try await self.eventually("the rules know") {
                try await self.count("SELECT count(*) FROM ruleState WHERE holds = 0") == 2
            }
            heard.yield(self.update(0, self.start + 1))
            heard.yield(resolution(isNear: true))
            try await self.eventually("both are told") {
                try await self.count("SELECT count(*) FROM outbox WHERE isOwn = 1") == 2
            }
        }
    }

    @Test func aBrokerThatIsAwaySilencesNobody() async throws {
        try await RuleStore(try self.folder.database()).add(RuleDefinition(name: "quiet", .silent(seconds: 60)))
        let clock = Mutex(self.start)
        try await self.keep([.event], at: { clock.withLock { $0 } }) { heard in
            /// Returns once everything that was told before is heard.
            func settle(_ seq: UInt64) async throws {
                let event = TrackingEvent(
                    id: "e", stream: try #require(StreamID("abcdefgh")), seq: seq, time: UnixTime(self.start),
                    kind: .clockJump)
                heard.yield(.event(self.van, event))
                try await self.eventually("event \(seq)") {
                    try await self.count("SELECT count(*) FROM outbox WHERE isOwn = 0") == Int(seq)
                }
            }
            let reason = TrackingError(.connectionLost, "away")
            heard.yield(.connection(nil))
            heard.yield(self.update(0, self.start))
            heard.yield(.connection(Disconnection(reason: reason, retry: .zero, lasted: .zero)))
            try await settle(1)
            // Twenty minutes later it is back, and silence counts from then.
            clock.withLock { $0 += 1200 }
            try await settle(2)
            heard.yield(.connection(nil))
            try await settle(3)
            clock.withLock { $0 += 61 }
            try await self.eventually("it is silent") {
                try await self.count("SELECT count(*) FROM outbox WHERE isOwn = 1") == 1
            }
            #expect(try await self.count("SELECT time FROM outbox WHERE isOwn = 1") == 1_700_001_260)
        }
    }

    /// Where the file cannot be written there is an end all the same.
    @Test func aFileThatCannotBeWrittenHoldsUpNoEnd() async throws {
        let (events, heard) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let database = try self.folder.database()
        let keeper = RuleKeeper(
            configuration: RuleKeeper.Configuration(seed: 7) { UnixTime(1_700_000_000) }, database: database,
            events: events
        ) { (_, _) throws(TrackingError) in }
        let group = ServiceGroup(services: [keeper])
        try await withThrowingTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                try await group.run()
                return true
            }
            tasks.addTask {
                try await Task.sleep(for: .seconds(60))
                return false
            }
            heard.yield(.connection(nil))
            try await self.eventually("it listens") {
                try await self.count("SELECT count(*) FROM outboxToldUntil") == 1
            }
            try await database.write { db in try db.execute(sql: "DROP TABLE outboxToldUntil") }
            await group.triggerGracefulShutdown()
            #expect(try await tasks.next() == true)
            tasks.cancelAll()
        }
    }
}
