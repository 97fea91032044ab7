import Foundation
import Synchronization
import Testing
import TrackingCore
import TrackingPublisher
import TrackingSpool
import TrackingTesting

/// Tests for a publisher and its log, in memory and in a file, on the broker in memory.
@Suite(.timeLimit(.minutes(5))) struct PublisherLogTests {
    /// The place of the log.
    enum Place: CaseIterable {
        case memory, file
    }

    /// One publisher of `van` on a broker that acknowledges only its presence until `let` is called.
    private struct Bench {
        let broker = InMemoryBroker()
        let storage: any SpoolStorage
        let publisher: AssetPublisher<InMemoryBroker.Client>
        let van: TrackableID
        let client: ClientID
        /// The numbers of the records in each batch that arrived.
        let arrived = Arrivals()

        init(_ storage: any SpoolStorage) throws {
            self.storage = storage
            self.van = try TrackableID("van")
            self.client = try ClientID("d1")
            var configuration = PublisherConfiguration(
                client: self.client, session: try #require(SessionID("mine")))
            configuration.recording.longestWait = .milliseconds(50)
            self.publisher = AssetPublisher(
                configuration: configuration, transport: self.broker.client(self.client), spool: storage)
            self.shut()
        }

        func shut() { self.broker.refuse(["tracking/van/history", "tracking/van"], from: self.client) }
        func open() { self.broker.refuse([], from: self.client) }

        func drive(_ seconds: ClosedRange<Int>) throws {
            for second in seconds {
                let coordinate = try #require(Coordinate(latitude: Double(second) / 10_000, longitude: 1))
                self.publisher.publish(Location(coordinate: coordinate, time: UnixTime(1_790_000_000 + Double(second))))
            }
        }

        /// Waits until this number of records is pending.
        func waits(_ count: Int) async throws {
            while await self.publisher.logFigures().total.count != count { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    /// The messages received on `history`.
    private final class Arrivals: Sendable {
        private let batches = Mutex<[[UInt64]]>([])
        var all: [[UInt64]] { self.batches.withLock { $0 } }
        func add(_ seqs: [UInt64]) { self.batches.withLock { $0.append(seqs) } }
    }

    private func run(
        _ place: Place, _ prepare: (any SpoolStorage) async throws -> Void = { _ in },
        _ body: @Sendable (Bench) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-log-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let storage: any SpoolStorage =
            switch place {
            case .memory: InMemorySpool()
            case .file: SQLiteSpool(path: folder.appending(path: "log.sqlite").path())
            }
        try await prepare(storage)
        let bench = try Bench(storage)
        bench.publisher.track(Trackable(bench.van))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await bench.publisher.run() }
            group.addTask { await self.listen(bench) }
            try await body(bench)
            bench.publisher.finish(within: .zero)
            try await group.next()
            group.cancelAll()
        }
    }

    private func listen(_ bench: Bench) async {
        guard let id = try? ClientID("keeper") else { return }
        let keeper = bench.broker.client(id)
        await withDiscardingTaskGroup { group in
            group.addTask { await keeper.run() }
            for await events in keeper.events {
                for event in events {
                    switch event {
                    case .connected: keeper.send([.subscribe(["tracking/+/history"], 1)])
                    case .received(let message):
                        guard let batch = try? HistoryCodec.decode(message.payload).batch else { continue }
                        bench.arrived.add(batch.records.map(\.seq))
                    default: break
                    }
                }
            }
        }
    }

    @Test func thePublisherCountsTheRecordsThatItLeaves() async throws {
        try await self.run(.memory) { bench in
            try bench.drive(1...10)
            try await bench.waits(10)
            #expect(bench.publisher.recordsAtEnd == 0)
            bench.publisher.finish(within: .zero)
            while bench.publisher.recordsAtEnd == 0 { try await Task.sleep(for: .milliseconds(5)) }
            #expect(bench.publisher.recordsAtEnd == 10)
        }
    }

    @Test(arguments: Place.allCases) func whatWasPublishedIsInTheLogOnceThatWasWaitedFor(_ place: Place) async throws {
        try await self.run(place) { bench in
            for last in stride(from: 1000, through: 5000, by: 1000) {
                try bench.drive((last - 999)...last)
                await bench.publisher.publishedIsLogged()
                #expect(try await bench.storage.summary().total.count == last)
            }
        }
    }

    @Test(arguments: Place.allCases) func whatWaitsIsCountedListedAndExported(_ place: Place) async throws {
        try await self.run(place) { bench in
            try bench.drive(1...250)
            try await bench.waits(250)
            let figures = await bench.publisher.logFigures()
            #expect(figures.failure == nil)
            #expect(figures.trackables[bench.van]?.points == 250)
            #expect(figures.total.oldest == UnixTime(1_790_000_001))
            #expect(try await bench.publisher.waiting(limit: 3).map(\.record.seq) == [1, 2, 3])
            let exported = Arrivals()
            try await bench.publisher.exportWaiting { entry in
                // A record that is added during the export is not exported.
                if entry.record.seq == 1 { try bench.drive(251...260) }
                if entry.record.seq == 100 { try await bench.waits(260) }
                exported.add([entry.record.seq])
            }
            #expect(exported.all.flatMap { $0 } == Array(1...250))
        }
    }

    @Test(arguments: Place.allCases) func flushSendsWhatWaits(_ place: Place) async throws {
        try await self.run(place) { bench in
            try bench.drive(1...500)
            try await bench.waits(500)
            while await bench.publisher.logFigures().sending.refusals[bench.van]?.code != .notAuthorized {
                try await Task.sleep(for: .milliseconds(5))
            }
            bench.open()
            let steps = Arrivals()
            let count = try await bench.publisher.flush { done, total in steps.add([UInt64(done), UInt64(total)]) }
            #expect(count == 500)
            #expect(steps.all.allSatisfy { $0[1] == 500 })
            let figures = await bench.publisher.logFigures()
            #expect(figures.total == SpoolAmount())
            #expect(figures.sending.refusals.isEmpty)
            #expect(figures.sending.lastAcknowledged != nil && figures.sending.lastAttempt != nil)
        }
    }

    @Test(arguments: Place.allCases) func flushSendsWhatIsBeingWritten(_ place: Place) async throws {
        try await self.run(place) { bench in
            bench.open()
            while bench.publisher.isOpeningLog { try await Task.sleep(for: .milliseconds(5)) }
            for round in 0..<10 {
                try bench.drive((round * 50 + 1)...(round * 50 + 50))
                _ = try await bench.publisher.flush { _, _ in }
                #expect(await bench.publisher.logFigures().total == SpoolAmount())
            }
        }
    }

    @Test(arguments: Place.allCases) func sendNowSendsABatch(_ place: Place) async throws {
        try await self.run(place) { bench in
            bench.open()
            #expect(try await bench.publisher.sendNow() == 0)
            try bench.drive(1...20)
            // The first goes live, the others wait for it to be silent, or for the window.
            let count = try await bench.publisher.sendNow()
            #expect(bench.arrived.all.first?.count == (count == 0 ? nil : count))
            try await bench.waits(0)
        }
    }

    @Test(arguments: Place.allCases) func purgeEmptiesTheLogAndNothingOfItArrives(_ place: Place) async throws {
        try await self.run(place) { bench in
            try bench.drive(1...300)
            try await bench.waits(300)
            #expect(try await bench.publisher.purge() == 300)
            #expect(await bench.publisher.logFigures().total == SpoolAmount())
            #expect(try await bench.publisher.waiting(limit: 10).isEmpty)
            try bench.drive(301...320)
            try await bench.waits(20)
            bench.open()
            #expect(try await bench.publisher.flush { _, _ in } == 20)
            #expect(bench.arrived.all.flatMap { $0 }.allSatisfy { $0 > 300 })
            #expect(try await bench.publisher.purge() == 0)
        }
    }

    @Test(arguments: Place.allCases) func whatWasSetAsideIsListedPutBackAndDropped(_ place: Place) async throws {
        let (van, old) = (try TrackableID("van"), try #require(StreamID("old")))
        func entry(_ seq: UInt64) -> SpoolEntry {
            let event = TrackingEvent(
                id: "e\(seq)", stream: old, seq: seq, time: UnixTime(1_790_000_000), kind: .paused, detail: [:])
            let payload = MessageCodec.encode(event)
            return SpoolEntry(SpoolRecord(seq: seq, time: event.time, kind: .event, payload: payload), of: van, in: old)
        }
        try await self.run(place) { storage in
            _ = try await storage.open(now: UnixTime(1_790_000_000))
            try await storage.append((1...4).map { entry($0) })
            for seq in UInt64(1)...4 { try await storage.quarantine(seq, of: old, reason: "too large") }
            try await storage.close()
        } _: { bench in
            bench.open()
            #expect(await bench.publisher.logFigures().quarantined == 4)
            #expect(try await bench.publisher.quarantined(limit: 2).map(\.entry.record.seq) == [1, 2])
            let unknown = RecordName(stream: old, seq: 99)
            let third = RecordName(stream: old, seq: 3)
            #expect(try await bench.publisher.dropQuarantined([unknown, third]) == 1)
            #expect(try await bench.publisher.retryQuarantined([RecordName(stream: old, seq: 2), third]) == 1)
            #expect(try await bench.publisher.retryQuarantined(nil) == 2)
            // Under new numbers of the stream that goes on.
            while Set(bench.arrived.all.flatMap { $0 }) != [5, 6, 7] { try await Task.sleep(for: .milliseconds(5)) }
            try await bench.waits(0)
            #expect(await bench.publisher.logFigures().quarantined == 0)
            #expect(try await bench.publisher.retryQuarantined(nil) == 0)
        }
    }

    @Test(arguments: Place.allCases) func anotherIsBoundWhenEverythingIsSent(_ place: Place) async throws {
        try await self.run(place) { bench in
            try bench.drive(1...50)
            try await bench.waits(50)
            let bus = Trackable(try TrackableID("bus"))
            let refusal = await #expect(throws: TrackingError.self) {
                try await bench.publisher.bind(bus, unsent: .refuse) { _, _ in }
            }
            #expect(refusal?.code == .unsentPoints)
            #expect(refusal?.message.contains(": 50 records of 'van' are not sent") == true)
            bench.open()
            try await bench.publisher.bind(bus, unsent: .send) { _, _ in }
            #expect(bench.publisher.active == bus.id)
            #expect(bench.publisher.state(of: bench.van) == nil)
            #expect(await bench.publisher.logFigures().total == SpoolAmount())
        }
    }

    /// A slow disk does not make the publisher give up.
    @Test func whatIsBeingWrittenIsSentAsWell() async throws {
        let (appending, end) = AsyncStream.makeStream(of: Never.self)
        let storage = FailingSpool(appending: appending)
        let bench = try Bench(storage)
        bench.open()
        let bus = Trackable(try TrackableID("bus"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            bench.publisher.track(Trackable(bench.van))
            group.addTask { try await bench.publisher.run() }
            try bench.drive(1...1)
            while !storage.calls.contains(.append) { try await Task.sleep(for: .milliseconds(2)) }
            group.addTask {
                try await bench.publisher.bind(bus, unsent: .send) { _, _ in }
                #expect(await bench.publisher.logFigures().total == SpoolAmount())
                bench.publisher.finish(within: .zero)
            }
            for _ in 1...500 { _ = await bench.publisher.snapshot() }
            end.finish()
            try await group.waitForAll()
        }
        #expect(bench.publisher.active == bus.id)
    }

    @Test func nothingIsAnsweredForEverOnceThePublisherHasEnded() async throws {
        let bench = try Bench(InMemorySpool())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await bench.publisher.run() }
            // Asked while it ends.
            group.addTask { _ = try? await bench.publisher.flush { _, _ in } }
            group.addTask { _ = try? await bench.publisher.waiting(limit: 1) }
            bench.publisher.finish(within: .zero)
            try await group.waitForAll()
        }
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await bench.publisher.flush { _, _ in } }, { _ = try await bench.publisher.sendNow() },
            { _ = try await bench.publisher.waiting(limit: 1) }, { _ = try await bench.publisher.purge() },
            { try await bench.publisher.exportWaiting { _ in } },
        ]
        for call in calls {
            let error = await #expect(throws: TrackingError.self) { try await call() }
            #expect(error?.code == .stopped)
        }
        #expect(await bench.publisher.logFigures().failure?.code == .stopped)
    }
}
