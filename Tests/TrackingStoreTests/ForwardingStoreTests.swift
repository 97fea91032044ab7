import GRDB
import Testing
import TrackingCore

@testable import TrackingStore

/// The queues of both stores.
@Suite(.timeLimit(.minutes(5))) struct ForwardingStoreTests {
    private func run(
        _ subject: StoreSubject, _ body: (any ForwardingStore) async throws -> Void
    ) async throws {
        try await subject.run { test in
            try await test.use { store in try await body(try #require(store as? any ForwardingStore)) }
        }
    }

    /// Runs the statements of the page "Forward to another server" for quarantined points.
    private func sendAgain(_ store: any ForwardingStore) async throws {
        let statements = """
            INSERT INTO forward_queue (sink, trackable, time, stream, seq) SELECT sink, trackable, time, stream, seq \
            FROM forward_quarantine; DELETE FROM forward_quarantine;
            """
        if let store = store as? SQLiteHistoryStore {
            try await store.write { db, _ in try db.execute(sql: statements) }
        } else if let store = store as? PostgresHistoryStore {
            try await store.writer.perform { connection throws(TrackingError) in try connection.runAll(statements) }
        }
    }

    private func seqs(_ page: ForwardPage) -> [UInt64?] { page.entries.map { $0.location?.seq } }

    @Test(arguments: StoreSubject.allCases) func aNewSinkGetsTheHistoryAndThenEachPointOnce(
        subject: StoreSubject
    ) async throws {
        try await self.run(subject) { store in
            _ = try await store.store(batch(points(3...5)))
            try await store.beginForwarding(to: ["a"])
            // A late point, and a repeated one.
            _ = try await store.store(batch(points(1...3)))
            let page = try await store.nextForwarded(to: "a", limit: 10)
            #expect(page.trackable == (try trackable("van")) && !page.hasMore)
            #expect(self.seqs(page) == [3, 4, 5, 1, 2])
            #expect(page.entries[0].location == (try point(3)))
            try await store.removeForwarded(page.entries.prefix(3).map(\.number))
            #expect(self.seqs(try await store.nextForwarded(to: "a", limit: 1)) == [1])
            #expect(try await store.nextForwarded(to: "a", limit: 1).hasMore)
            // The forwarder starts again with a second sink.
            try await store.beginForwarding(to: ["b", "a"])
            #expect(self.seqs(try await store.nextForwarded(to: "a", limit: 10)) == [1, 2])
            #expect(self.seqs(try await store.nextForwarded(to: "b", limit: 10)) == [1, 2, 3, 4, 5])
            // A sink that is not named is forgotten.
            try await store.beginForwarding(to: ["b"])
            #expect(try await store.nextForwarded(to: "a", limit: 10) == .empty)
            _ = try await store.store(batch(points(6...6)))
            #expect(self.seqs(try await store.nextForwarded(to: "b", limit: 10)) == [1, 2, 3, 4, 5, 6])
        }
    }

    @Test(arguments: StoreSubject.allCases) func aLaterForwarderTakesTheQueuesOver(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { first in
                let first = try #require(first as? any ForwardingStore)
                _ = try await first.store(batch(points(1...3)))
                try await first.beginForwarding(to: ["a"])
                try await test.use { second in
                    let second = try #require(second as? any ForwardingStore)
                    try await second.beginForwarding(to: ["a"])
                    await #expect(throws: TrackingError.forwardingTakenOver) {
                        try await first.nextForwarded(to: "a", limit: 10)
                    }
                    #expect(self.seqs(try await second.nextForwarded(to: "a", limit: 10)) == [1, 2, 3])
                }
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func aPageHasThePointsOfOneTrackable(subject: StoreSubject) async throws {
        try await self.run(subject) { store in
            try await store.beginForwarding(to: ["a"])
            for seq in UInt64(1)...3 {
                for name in ["van", "bus"] { _ = try await store.store(batch([point(seq)], of: name)) }
            }
            let page = try await store.nextForwarded(to: "a", limit: 10)
            #expect(page.trackable == (try trackable("van")) && self.seqs(page) == [1, 2, 3])
            try await store.removeForwarded(page.entries.map(\.number))
            #expect(try await store.nextForwarded(to: "a", limit: 10).trackable == (try trackable("bus")))
        }
    }

    @Test(arguments: StoreSubject.allCases) func erasedAndFaultyPointsAreNotSent(subject: StoreSubject) async throws {
        try await self.run(subject) { store in
            try await store.beginForwarding(to: ["a"])
            _ = try await store.store(batch(points(1...4)))
            _ = try await store.store(batch([point(5, at: now.seconds + 86_400)]))
            let erased = UnixTime(now.seconds + 3)
            _ = try await store.erase(try trackable("van"), before: erased, now: UnixTime(now.seconds + 100))
            let page = try await store.nextForwarded(to: "a", limit: 10)
            #expect(page.entries.compactMap { $0.location?.seq } == [3, 4])
            #expect(page.entries.last?.location == nil, "a point with a wrong clock")
            try await store.removeForwarded(page.entries.map(\.number))
            #expect(try await store.nextForwarded(to: "a", limit: 10) == .empty)
        }
    }

    @Test(arguments: StoreSubject.allCases) func aRejectedPointLeavesTheQueueOfItsSink(
        subject: StoreSubject
    ) async throws {
        try await self.run(subject) { store in
            try await store.beginForwarding(to: ["a", "b"])
            _ = try await store.store(batch(points(1...4)))
            let page = try await store.nextForwarded(to: "a", limit: 10)
            let numbers = page.entries.map(\.number)
            #expect(
                self.seqs(try await store.nextForwarded(to: "a", except: Array(numbers.prefix(2)), limit: 10)) == [
                    3, 4,
                ])
            #expect(try await store.nextForwarded(to: "a", except: numbers, limit: 10) == .empty)
            try await store.quarantineForwarded([numbers[1]], because: "the server rejects it")
            try await store.quarantineForwarded([numbers[1]], because: "again, after a failure")
            #expect(self.seqs(try await store.nextForwarded(to: "a", limit: 10)) == [1, 3, 4])
            #expect(self.seqs(try await store.nextForwarded(to: "b", limit: 10)) == [1, 2, 3, 4])
            // The points are still in the history, and can be sent again.
            #expect(try await store.points(PointQuery(try trackable("van")), after: nil, limit: 10).points.count == 4)
            try await self.sendAgain(store)
            #expect(self.seqs(try await store.nextForwarded(to: "a", limit: 10)) == [1, 3, 4, 2])
            // An erased point leaves the quarantine, and a forgotten sink has none.
            try await store.quarantineForwarded(numbers, because: "the server rejects it")
            let other = try await store.nextForwarded(to: "b", limit: 10).entries.map(\.number)
            try await store.quarantineForwarded(other, because: "the server rejects it")
            _ = try await store.erase(
                try trackable("van"), before: try point(3).time, now: now.advanced(by: .seconds(100)))
            try await store.beginForwarding(to: ["b"])
            try await self.sendAgain(store)
            #expect(self.seqs(try await store.nextForwarded(to: "b", limit: 10)) == [3, 4])
        }
    }

    /// A point without a stream that came with a time in the future, and again when the time had come.
    @Test(arguments: StoreSubject.allCases) func aPointWhoseClockProvesRightIsSent(subject: StoreSubject) async throws {
        try await self.run(subject) { store in
            try await store.beginForwarding(to: ["a"])
            var early = try point(1, at: now.seconds + 86_400)
            (early.seq, early.stream) = (nil, nil)
            _ = try await store.store(batch([early]))
            try await store.removeForwarded(store.nextForwarded(to: "a", limit: 10).entries.map(\.number))
            _ = try await store.store(batch([early], at: UnixTime(now.seconds + 86_401)))
            let page = try await store.nextForwarded(to: "a", limit: 10)
            #expect(page.entries.map { $0.location?.time } == [early.time])
        }
    }

    /// A new partition takes the points of its week over from the partition for other times.
    @Test func aNewPartitionRemovesNothingFromTheQueues() async throws {
        try await self.run(.postgres) { store in
            try await store.beginForwarding(to: ["a"])
            let later = now.seconds + 400 * 86_400
            _ = try await store.store(batch([point(2, at: later)]))
            _ = try await store.store(batch([point(4, at: later + 1)], at: UnixTime(later)))
            let page = try await store.nextForwarded(to: "a", limit: 10)
            #expect(page.entries.count == 2 && page.entries.last?.location?.seq == 4)
        }
    }
}
