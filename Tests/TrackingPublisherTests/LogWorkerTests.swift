import Logging
import Synchronization
import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for waking the worker of the log.
@Suite(.timeLimit(.minutes(5))) struct LogWorkerTests {
    /// A removal alone does not wake the worker while a batch is in flight, at most five times in a row.
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
            while try await storage.summary().total.count > 15 { try await Task.sleep(for: .milliseconds(2)) }
            remove(6, goesOn: true)
            #expect(try await storage.summary().total.count == 15)
            remove(7, goesOn: false)
            while try await storage.summary().total.count > 13 { try await Task.sleep(for: .milliseconds(2)) }
            remove(8, goesOn: true)
            worker.finish()
            try await group.waitForAll()
        }
        #expect(try await storage.summary().total.count == 12, "nothing is left undone at the end")
    }

    /// A safe record that is not removed yet does not count against a limit, so no unsent record is dropped for it.
    @Test func whatIsSafeTakesNobodysRoom() async throws {
        let (storage, said) = (FailingSpool(), Said())
        let worker = try await Self.worker(storage, limits: SpoolLimits(maximumCount: 3))
        let (van, stream) = (try TrackableID("van"), try #require(StreamID("one")))
        worker.ask([try Self.append(2), try Self.append(3)])
        // The newest was sent live, while the oldest waits.
        worker.ask([(van, .remove(stream, SeqSet([3...3])))], goesOn: true)
        worker.ask([try Self.append(4), try Self.read(1)])
        worker.finish()
        await worker.run { _, event in said.say(event) }
        let left = try await storage.inner.waiting(after: 0, through: .max, maximumCount: 10)
        #expect(left.map(\.entry.record.seq) == [1, 2, 4])
        #expect(try await storage.summary().dropped == 0)
    }

    /// The numbers of one stream of one trackable.
    private static func append(_ seq: UInt64) throws -> (TrackableID, PublisherStateMachine.LogAction) {
        let record = SpoolRecord(seq: seq, time: UnixTime(1), kind: .point, payload: [1])
        return (try TrackableID("van"), .append(try #require(StreamID("one")), record))
    }

    /// The events that a worker posts.
    private final class Said: Sendable {
        private let texts = Mutex<[String]>([])

        var all: [String] { self.texts.withLock { $0 } }

        func say(_ event: PublisherStateMachine.LogEvent) { self.texts.withLock { $0.append(Self.text(event)) } }

        func wait(for count: Int) async throws {
            while self.all.count < count {
                try await Task.sleep(for: .milliseconds(2))
            }
        }

        private static func text(_ event: PublisherStateMachine.LogEvent) -> String {
            switch event {
            case .appended(_, let seqs): "appended \(Self.text(seqs))"
            case .appendFailed(_, let seqs, let error): "failed \(Self.text(seqs)) \(error.code)"
            case .reopened: "reopened"
            case .found(let known): "found \(known.count)"
            default: "other"
            }
        }

        private static func text(_ seqs: SeqSet) -> String {
            seqs.ranges.joined().map(String.init).joined(separator: " ")
        }
    }

    /// An open log with record 1, and its worker.
    private static func worker(
        _ storage: FailingSpool, limits: SpoolLimits = SpoolLimits(), pause: Duration = LogOutage.pause
    ) async throws -> LogWorker {
        _ = try await storage.open(now: UnixTime(0))
        let record = SpoolRecord(seq: 1, time: UnixTime(1), kind: .point, payload: [1])
        let entry = SpoolEntry(record, of: try TrackableID("van"), in: try #require(StreamID("one")))
        try await storage.inner.append([entry])
        return LogWorker(
            storage: storage, limits: limits, logger: Logger(label: "test"), outage: LogOutage(pause: pause),
            clock: { UnixTime(0) })
    }

    private static func read(_ seq: UInt64) throws -> (TrackableID, PublisherStateMachine.LogAction) {
        let stream = try #require(StreamID("one"))
        let query = RecordQuery(number: 1, stream: stream, seqs: SeqSet([seq...seq]), maximumBytes: 100)
        return (try TrackableID("van"), .read(query))
    }

    /// A record that arrives again while it still waits to be written, as when the log is reopened, is known by then.
    @Test func whatIsLookedUpIsWrittenFirst() async throws {
        let (storage, said) = (FailingSpool(), Said())
        let worker = try await Self.worker(storage)
        let (van, stream) = (try TrackableID("van"), try #require(StreamID("one")))
        let digest = try #require(RecordDigest([UInt8](repeating: 1, count: RecordDigest.size)))
        let (bus, mark) = (try TrackableID("bus"), RecordMark(time: UnixTime(1), digest: digest))
        worker.ask([
            (van, .append(stream, SpoolRecord(seq: 2, time: UnixTime(1), kind: .point, payload: [2]), mark: mark)),
            (van, .find([mark])), (bus, .find([mark])),
        ])
        worker.finish()
        await worker.run { _, event in said.say(event) }
        #expect(said.all == ["found 0", "appended 2", "found 1"])
    }

    /// A value that could not be written is written with the next transaction; the newest value of each name counts.
    @Test func whatIsToBeKeptIsNotLostToAFullDisk() async throws {
        let (storage, said, full) = (FailingSpool(), Said(), TrackingError(.spoolFailed, "the disk is full"))
        let (worker, van) = (try await Self.worker(storage), try TrackableID("van"))
        storage.fail(.append, with: full, full)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await worker.run { _, event in said.say(event) } }
            worker.ask([try Self.append(2), (van, .keep("trip", [1])), (van, .keep("commands", [1]))])
            try await said.wait(for: 1)
            #expect(worker.unwritten == LogWorker.Queue.Unwritten(count: 1, reason: full))
            worker.ask([(van, .keep("trip", [2]))])
            while storage.calls.count(where: { $0 == .append }) < 2 { try await Task.sleep(for: .milliseconds(2)) }
            worker.ask([try Self.append(3)])
            try await said.wait(for: 2)
            worker.finish()
            try await group.waitForAll()
        }
        #expect(said.all == ["failed 2 spoolFailed", "appended 3"])
        #expect(worker.unwritten == LogWorker.Queue.Unwritten(count: 1, reason: nil))
        try await storage.inner.close()
        #expect(try await storage.inner.open(now: UnixTime(0)).state == ["trip": [2], "commands": [1]])
    }

    @Test func whatIsToBeKeptIsTriedOnceMoreAtTheEnd() async throws {
        let (storage, full) = (FailingSpool(), TrackingError(.spoolFailed, "the disk is full"))
        let (worker, van) = (try await Self.worker(storage), try TrackableID("van"))
        storage.fail(.append, with: full)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await worker.run { _, _ in } }
            worker.ask([(van, .keep("trip", [1]))])
            while !storage.calls.contains(.append) { try await Task.sleep(for: .milliseconds(2)) }
            worker.finish()
            try await group.waitForAll()
        }
        try await storage.inner.close()
        #expect(try await storage.inner.open(now: UnixTime(0)).state == ["trip": [1]])
    }

    /// Each trim fails, and no other operation would reopen the file.
    @Test func damageThatATrimMeetsIsMended() async throws {
        let (storage, said) = (FailingSpool(), Said())
        let worker = try await Self.worker(storage, limits: SpoolLimits(maximumCount: 1))
        storage.fail(.trim, with: TrackingError(.spoolDamaged, "a page"))
        worker.ask([try Self.append(2)])
        worker.finish()
        await worker.run { _, event in said.say(event) }
        #expect(storage.calls == [.open, .trim, .open, .append, .trim])
        #expect(said.all == ["reopened", "appended 2", "other"])
    }

    /// A record that was not written because of damage is written to the salvaged log.
    @Test func whatIsBeingWrittenWhenDamageIsMetIsWrittenOnceMore() async throws {
        let (storage, said) = (FailingSpool(), Said())
        let worker = try await Self.worker(storage)
        storage.fail(.append, with: TrackingError(.spoolDamaged, "a page"))
        worker.ask([try Self.append(2)])
        worker.finish()
        await worker.run { _, event in said.say(event) }
        #expect(said.all == ["reopened", "appended 2"])
        #expect(try await storage.summary().total.count == 2)
    }

    /// No job arrives during the outage.
    @Test func aLogThatCannotBeOpenedAgainIsTriedAnewAndRecordsWaitForIt() async throws {
        let (storage, said, full) = (FailingSpool(), Said(), TrackingError(.spoolFailed, "the disk is full"))
        let worker = try await Self.worker(storage, pause: .milliseconds(10))
        storage.fail(.read, with: TrackingError(.spoolDamaged, "a page"))
        storage.fail(.open, with: full, full)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await worker.run { _, event in said.say(event) } }
            worker.ask([try Self.append(2), try Self.read(1), try Self.append(3)])
            try await said.wait(for: 4)
            #expect(said.all == ["appended 2", "other", "reopened", "appended 3"])
            #expect(try await storage.summary().total.count == 3)
            worker.finish()
            try await group.waitForAll()
        }
        #expect(storage.calls.count { $0 == .open } == 4)
    }

    /// At the end the worker makes one more attempt, even shortly after another one. After that no record can wait.
    @Test(arguments: [false, true]) func whatWaitsAtTheEndIsWrittenOrGivenUp(opens: Bool) async throws {
        let (storage, said, full) = (FailingSpool(), Said(), TrackingError(.spoolFailed, "the disk is full"))
        let worker = try await Self.worker(storage)
        storage.fail(.read, with: TrackingError(.spoolDamaged, "a page"))
        storage.fail(.open, with: full)
        if !opens { storage.fail(.open, with: full) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await worker.run { _, event in said.say(event) } }
            worker.ask([try Self.read(1), try Self.append(2)])
            try await said.wait(for: 1)
            worker.finish()
            try await group.waitForAll()
        }
        #expect(said.all == (opens ? ["other", "reopened", "appended 2"] : ["other", "failed 2 spoolFailed"]))
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
        let reported = AsyncStream.makeStream(of: PublisherStateMachine.LogEvent.self)
        worker.ask([(van, .renumber(one, SeqSet([2...5]), from: RecordName(stream: two, seq: 7)))])
        worker.finish()
        await worker.run { reported.continuation.yield($1) }
        var answers = reported.stream.makeAsyncIterator()
        #expect(await answers.next() == .appended(two, SeqSet([7...8])))
        guard case .appendFailed(two, SeqSet([9...10]), _)? = await answers.next() else {
            return #expect(Bool(false), "the numbers that nothing bears are given up")
        }
        let waiting = try await storage.waiting(after: 0, through: .max, maximumCount: 9).map(\.entry)
        #expect(waiting.map { "\($0.name)" } == ["one:1", "one:4", "two:7", "two:8"])
        #expect(try MessageCodec.decodeEvent(waiting[3].record.payload).id == "e3")
    }

    @Test func theResultOfAQuarantineIsPosted() async throws {
        let storage = InMemorySpool()
        let (van, stream) = (try TrackableID("van"), try #require(StreamID("one")))
        _ = try await storage.open(now: UnixTime(0))
        let record = SpoolRecord(seq: 1, time: UnixTime(1), kind: .point, payload: [1])
        try await storage.append([SpoolEntry(record, of: van, in: stream)])
        let worker = LogWorker(
            storage: storage, limits: SpoolLimits(), logger: Logger(label: "test"), clock: { UnixTime(0) })
        let reported = AsyncStream.makeStream(of: PublisherStateMachine.LogEvent.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await worker.run { reported.continuation.yield($1) } }
            var events = reported.stream.makeAsyncIterator()
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
