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

    @Test func whatIsRecordedAnewLeavesItsOldNumber() async throws {
        let storage = InMemorySpool()
        let (van, one, two) = (
            try TrackableID("van"), try #require(StreamID("one")), try #require(StreamID("two"))
        )
        _ = try await storage.open(now: UnixTime(0))
        let events = (UInt64(1)...3).map { seq in
            TrackingEvent(id: "e\(seq)", stream: one, seq: seq, time: UnixTime(Double(seq)), kind: .paused)
        }
        let unreadable = SpoolRecord(seq: 4, time: UnixTime(4), kind: .point, payload: [1])
        try await storage.append(
            (events.map { SpoolRecord(seq: $0.seq, time: $0.time, kind: .event, payload: MessageCodec.encode($0)) }
                + [unreadable]).map { SpoolEntry($0, of: van, in: one) })
        let worker = LogWorker(
            storage: storage, limits: SpoolLimits(), logger: Logger(label: "test"), clock: { UnixTime(0) })
        let told = AsyncStream.makeStream(of: PublisherStateMachine.LogEvent.self)
        worker.ask([(van, .renumber(one, SeqSet([2...5]), from: RecordName(stream: two, seq: 7)))])
        worker.finish()
        await worker.run { told.continuation.yield($1) }
        var answers = told.stream.makeAsyncIterator()
        #expect(await answers.next() == .appended(two, SeqSet([7...8])))
        guard case .appendFailed(two, SeqSet([9...10]), _)? = await answers.next() else {
            return #expect(Bool(false), "the numbers that nothing bears are given up")
        }
        let waiting = try await storage.waiting(after: 0, through: .max, maximumCount: 9).map(\.entry)
        #expect(waiting.map { "\($0.name)" } == ["one:1", "one:4", "two:7", "two:8"])
        #expect(try MessageCodec.decodeEvent(waiting[3].record.payload).id == "e3")
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
