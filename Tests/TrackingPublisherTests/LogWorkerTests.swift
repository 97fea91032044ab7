import Logging
import Testing
import TrackingCore

@testable import TrackingPublisher

/// Who wakes the log's worker.
@Suite(.timeLimit(.minutes(1))) struct LogWorkerTests {
    /// A removal alone waits for what is asked for when the batch that went out with it is answered, five times at the most.
    @Test func aRemovalWaitsWhereMoreWillBeAskedFor() async throws {
        let storage = InMemorySpool()
        let (van, stream) = (try TrackableID("van"), try #require(StreamID("one")))
        _ = try await storage.open(now: UnixTime(0))
        try await storage.append(
            (1...20).map { seq in
                SpoolEntry(SpoolRecord(seq: seq, time: UnixTime(1), kind: .point, payload: [1]), of: van, in: stream)
            })
        let worker = LogWorker(
            storage: storage, limits: SpoolLimits(), logger: Logger(label: "test"), clock: { UnixTime(0) })
        func remove(_ seq: UInt64, goesOn: Bool) {
            worker.ask([(van, .remove(stream, SeqSet([seq...seq])))], goesOn: goesOn)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await worker.run { _, _ in } }
            for seq in UInt64(1)...4 { remove(seq, goesOn: true) }
            #expect(try await storage.summary().total.count == 20)
            remove(5, goesOn: true)
            while try await storage.summary().total.count > 15 { await Task.yield() }
            remove(6, goesOn: true)
            #expect(try await storage.summary().total.count == 15)
            remove(7, goesOn: false)
            while try await storage.summary().total.count > 13 { await Task.yield() }
            remove(8, goesOn: true)
            worker.finish()
            try await group.waitForAll()
        }
        #expect(try await storage.summary().total.count == 12, "nothing is left undone at the end")
    }

    @Test func whatBecameOfAQuarantineIsTold() async throws {
        let storage = InMemorySpool()
        let (van, stream) = (try TrackableID("van"), try #require(StreamID("one")))
        _ = try await storage.open(now: UnixTime(0))
        let record = SpoolRecord(seq: 1, time: UnixTime(1), kind: .point, payload: [1])
        try await storage.append([SpoolEntry(record, of: van, in: stream)])
        let worker = LogWorker(
            storage: storage, limits: SpoolLimits(), logger: Logger(label: "test"), clock: { UnixTime(0) })
        let told = AsyncStream.makeStream(of: PublisherStateMachine.LogEvent.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await worker.run { told.continuation.yield($1) } }
            var events = told.stream.makeAsyncIterator()
            let reason = TrackingError(.payloadTooLarge, "too large")
            storage.fail(with: TrackingError(.spoolFailed, "the disk is full"))
            worker.ask([(van, .quarantine(stream, 1, reason))])
            #expect(await events.next() == .setAsideFailed(stream, 1))
            storage.fail(with: nil)
            worker.ask([(van, .quarantine(stream, 1, reason))])
            #expect(await events.next() == .setAside(stream, 1))
            #expect(try await storage.quarantined(after: 0, maximumCount: 9).map(\.entry.record) == [record])
            worker.finish()
            try await group.waitForAll()
        }
    }
}
