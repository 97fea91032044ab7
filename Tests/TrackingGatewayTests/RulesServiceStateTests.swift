import Foundation
import ServiceLifecycle
import Synchronization
import Testing
import TrackingCore
import TrackingStore
import TrackingSubscriber

@testable import TrackingGateway
@testable import TrackingRules

/// The state that the rules service saves, and its use after a restart.
@Suite(.timeLimit(.minutes(5))) struct RulesServiceStateTests {
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

    /// Runs a rules service with the events of `heard`.
    private func keep(
        _ kinds: Set<Outbox.Kind> = [], at time: @escaping @Sendable () -> Double = { 1_700_000_000 },
        history: (any HistoryStore)? = nil, gate: OutboxGate = OutboxGate(),
        _ body: (_ received: AsyncStream<SubscriberEvent>.Continuation) async throws -> Void
    ) async throws {
        let (events, received) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let service = RulesService(
            configuration: RulesService.Configuration(
                kinds: kinds, readers: ["hook"], related: [Quarantine.erasable], seed: 7
            ) { UnixTime(time()) },
            database: try self.folder.database(), events: events, history: history, gate: gate,
            effects: RulesService.Effects(publish: { (_, _) throws(TrackingError) in }))
        let running = Task {
            do { try await service.run() } catch  where !Task.isCancelled { Issue.record(error) }
        }
        try await body(received)
        running.cancel()
        _ = try? await running.value
    }

    private func count(_ sql: String) async throws -> Int {
        try await self.folder.database().read { db in try Int.fetchOne(db, sql: sql) ?? 0 }
    }

    /// Waits until a condition holds.
    private func eventually(_ what: String, _ isSo: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await !isSo() {
            try #require(ContinuousClock.now < deadline, "\(what)")
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func places() async throws -> [String: Int64] {
        try await self.folder.database().read { db in
            let rows = try GatewayRow.fetchAll(db, sql: "SELECT name, place FROM outboxReader")
            return Dictionary(rows.map { ($0[0] as String, $0[1] as Int64) }, uniquingKeysWith: { $1 })
        }
    }

    /// Messages for a webhook are erased while no gateway runs: the next gateway sends only newer ones. The quarantine
    /// may contain positions as well.
    @Test func quarantinedDataIsErasedToo() async throws {
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
        try await self.keep(history: history, gate: gate) { received in
            received.yield(.positionsKept([]))
            // For a trackable without recorded points, the quarantined requests are its only data.
            try await self.eventually("erased while the gateway was away") { try await left() == ["van-7", "tram"] }
            received.yield(.locationCleared(self.van))
            try await self.eventually("it is erased") { try await left() == ["tram"] }
        }
    }

    @Test func eventsErasedDuringAnOutageAreNotSent() async throws {
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
        // The van is still published: the broker retains a position.
        var gate = OutboxGate()
        try await self.keep(history: history, gate: gate) { received in
            try await Task.sleep(for: .milliseconds(200))
            #expect(!gate.isOpen, "before the retained messages are received")
            received.yield(.positionsKept([self.van]))
            try await self.eventually("the gate is open") { gate.isOpen }
            #expect(try await left() == ["van-7 100", "bus 0", "bus 100"])
        }
        // Neither the broker nor the history has data of the van any more. The history has data of the bus.
        gate = OutboxGate()
        try await self.keep(history: history, gate: gate) { received in
            received.yield(.positionsKept([]))
            try await self.eventually("the gate is open") { gate.isOpen }
            #expect(try await left() == ["bus 0", "bus 100"])
        }
        // Without a history, a trackable without a retained position counts as cleared.
        gate = OutboxGate()
        try await self.keep(gate: gate) { received in
            received.yield(.positionsKept([]))
            try await self.eventually("the gate is open") { gate.isOpen }
            #expect(try await left() == [])
        }
        // Without pending messages, the gate opens at once.
        gate = OutboxGate()
        try await self.keep(gate: gate) { _ in try await self.eventually("the gate is open") { gate.isOpen } }
        try await history.close()
    }

    @Test func theTopicsReaderGoesOnWhereNoRuleFindsAnything() async throws {
        let outbox = Outbox(try self.folder.database())
        for reader in ["hook", "gone"] { try await outbox.begin(reader) }
        try await self.keep([.position]) { received in
            for second in 1...3 { received.yield(self.update(500, self.start + Double(second))) }
            try await self.eventually("the topics' reader is where the outbox ends") {
                try await self.places()[RuleEventPublisher.reader] == 3
            }
            #expect(try await self.places() == [RuleEventPublisher.reader: 3, "hook": 0])
            try await outbox.advance("hook", to: 3)
            #expect(try await outbox.trim(now: UnixTime(1_800_000_000)) == 0)
        }
    }

    @Test func aRepeatedTripIsSentOnce() async throws {
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
        for reported in [[1], [1, 2, 1, 2]] as [[UInt64]] {
            let before = try await payloads().count
            try await self.keep([.trip]) { received in
                for seq in reported { received.yield(try trip(seq)) }
                try await self.eventually("one more trip") { try await payloads().count > before }
            }
        }
        let seqs = try await payloads().compactMap { try JSONValue(json: $0.utf8)["seq"]?.count }
        #expect(seqs == [1, 2])
    }

    /// A fence is moved while no gateway runs: the van's relation to the old fence does not apply to the new one.
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
        try await self.keep { received in
            received.yield(self.update(0, self.start))
            try await isKept(since: self.start)
        }
        let there = self.depot.destination(bearing: 0, distance: 5_000)
        try await store.add(try Fence(name: "depot", shape: .circle(center: there, radius: 100)))
        try await self.keep(at: { 1_700_000_010 }) { received in
            received.yield(self.update(0, self.start + 10))
            try await isKept(since: self.start + 10)
        }
        // An event would be saved with the state of its rule: the move of the fence caused none.
        #expect(try await self.count("SELECT count(*) FROM outbox") == 0)
    }

    @Test func anUnchangedDefinitionKeepsItsState() async throws {
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

    @Test func clearedTrackablesAreNotReported() async throws {
        let store = RuleStore(try self.folder.database())
        try await store.add(try Fence(name: "depot", shape: .circle(center: self.depot, radius: 100)))
        try await store.add(RuleDefinition(name: "out", .leave(fence: "depot")))
        let outbox = Outbox(try self.folder.database())
        try await outbox.begin("hook")
        try await self.keep([.position, .event]) { received in
            received.yield(self.update(0, self.start))
            try await self.eventually("a position waits for the webhook") {
                try await self.count("SELECT count(*) FROM outbox") == 1
            }
            #expect(try await self.count("SELECT count(*) FROM ruleState") == 1)
            // An event that is not saved yet is erased as well. A later one is sent.
            received.yield(self.update(500, self.start + 1))
            received.yield(.locationCleared(self.van))
            received.yield(self.update(500, self.start + 2))
            try await self.eventually("what came later counts anew") {
                try await self.count("SELECT count(*) FROM ruleState WHERE since = \(self.start + 2)") == 1
            }
            #expect(try await self.count("SELECT count(*) FROM outbox WHERE kind = 'position'") == 1)
            #expect(try await self.count("SELECT count(*) FROM outbox") == 1)
        }
    }

    /// A rule that is added to a running gateway starts with the gateway's knowledge.
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
        try await self.keep { received in
            received.yield(self.update(500, self.start))
            received.yield(resolution(isNear: false))
            try await store.add(RuleDefinition(name: "in", .enter(fence: "depot")))
            try await store.add(RuleDefinition(name: "there", .arrived))
            try await self.eventually("the rules know") {
                try await self.count("SELECT count(*) FROM ruleState WHERE holds = 0") == 2
            }
            received.yield(self.update(0, self.start + 1))
            received.yield(resolution(isNear: true))
            try await self.eventually("both are told") {
                try await self.count("SELECT count(*) FROM outbox WHERE isOwn = 1") == 2
            }
        }
    }

    /// A service that cannot write its file ends nevertheless.
    @Test func aFileThatCannotBeWrittenDoesNotDelayTheEnd() async throws {
        let (events, received) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let database = try self.folder.database()
        let service = RulesService(
            configuration: RulesService.Configuration(seed: 7) { UnixTime(1_700_000_000) }, database: database,
            events: events, effects: RulesService.Effects(publish: { (_, _) throws(TrackingError) in }))
        let group = ServiceGroup(services: [service])
        try await withThrowingTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                try await group.run()
                return true
            }
            tasks.addTask {
                try await Task.sleep(for: .seconds(60))
                return false
            }
            received.yield(.connection(nil))
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
