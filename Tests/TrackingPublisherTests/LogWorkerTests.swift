import Logging
import Synchronization
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

    /// Of one stream of one trackable.
    private static func append(_ seq: UInt64) throws -> (TrackableID, PublisherStateMachine.LogAction) {
        let record = SpoolRecord(seq: seq, time: UnixTime(1), kind: .point, payload: [1])
        return (try TrackableID("van"), .append(try #require(StreamID("one")), record))
    }

    /// What a worker says.
    private final class Said: Sendable {
        private let texts = Mutex<[String]>([])

        var all: [String] { self.texts.withLock { $0 } }

        func say(_ event: PublisherStateMachine.LogEvent) { self.texts.withLock { $0.append(Self.text(event)) } }

        private static func text(_ event: PublisherStateMachine.LogEvent) -> String {
            switch event {
            case .appended(_, let seqs): "appended \(Self.text(seqs))"
            case .appendFailed(_, let seqs, let error): "failed \(Self.text(seqs)) \(error.code)"
            case .reopened: "reopened"
            default: "other"
            }
        }

        private static func text(_ seqs: SeqSet) -> String {
            seqs.ranges.joined().map(String.init).joined(separator: " ")
        }
    }

    /// A log that is open, and a worker whose log keeps to these limits.
    private static func worker(
        _ storage: FailingSpool, limits: SpoolLimits = SpoolLimits()
    ) async throws -> LogWorker {
        _ = try await storage.open(now: UnixTime(0))
        return LogWorker(storage: storage, limits: limits, logger: Logger(label: "test"), clock: { UnixTime(0) })
    }

    /// The file would be opened anew by nobody else: each append trims, and fails to.
    @Test func damageThatATrimMeetsIsMended() async throws {
        let (storage, said) = (FailingSpool(), Said())
        let worker = try await Self.worker(storage, limits: SpoolLimits(maximumCount: 1))
        storage.fail(.trim, with: TrackingError(.spoolDamaged, "a page"))
        worker.ask([try Self.append(1)])
        worker.finish()
        await worker.run { _, event in said.say(event) }
        #expect(storage.calls == [.open, .append, .trim, .open])
        #expect(said.all == ["appended 1", "reopened"])
    }
}
