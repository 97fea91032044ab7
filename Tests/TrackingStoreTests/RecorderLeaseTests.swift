import TestSupport
import Testing
import TrackingCore

@testable import TrackingStore

/// The lease of recorders with the same name, in PostgreSQL.
@Suite(.timeLimit(.minutes(5))) struct RecorderLeaseTests {
    /// A database with a history, and two recorders `keeper` on it.
    private final class Stage: Sendable {
        let server: PostgresServer
        let address: String
        let store: PostgresHistoryStore
        let one: RecorderLease
        let two: RecorderLease

        init() async throws {
            self.server = try await PostgresServer.shared()
            self.address = try await self.server.makeDatabase()
            self.store = try await PostgresHistoryStore(address: self.address)
            self.one = try Self.lease("one", self.address)
            self.two = try Self.lease("two", self.address)
        }

        static func lease(_ owner: String, _ address: String, name: String = "keeper") throws -> RecorderLease {
            RecorderLease(
                address: address, name: try ClientID(name), owner: try #require(SessionID(owner)))
        }

        /// Ends the lease, as its duration would.
        func expire() async throws {
            try await self.server.execute(
                "UPDATE godwit.recorder_lease SET until = clock_timestamp()", in: self.address)
        }
    }

    @Test func oneRecorderHasTheLeaseUntilItReleasesIt() async throws {
        let stage = try await Stage()
        #expect(try await stage.one.claim() == .held)
        guard case .heldByAnother(let remaining) = try await stage.two.claim() else {
            Issue.record("two recorders have the lease")
            return
        }
        #expect(remaining > .zero && remaining <= RecorderLease.duration)
        #expect(try await stage.one.claim() == .held)
        await stage.two.release()
        #expect(try await stage.one.claim() == .held)
        await stage.one.release()
        #expect(try await stage.two.claim() == .held)
    }

    @Test func aLeaseThatWasNotRenewedGoesToAnotherRecorder() async throws {
        let stage = try await Stage()
        #expect(try await stage.one.claim() == .held)
        try await stage.expire()
        #expect(try await stage.two.claim() == .held)
        guard case .heldByAnother = try await stage.one.claim() else {
            Issue.record("the former owner got the lease back")
            return
        }
    }

    @Test func namesHaveLeasesOfTheirOwn() async throws {
        let stage = try await Stage()
        #expect(try await stage.one.claim() == .held)
        #expect(try await Stage.lease("two", stage.address, name: "north").claim() == .held)
    }

    /// Several recorders ask at once, while the table does not exist yet.
    @Test func onlyOneOfManyGetsTheLease() async throws {
        let stage = try await Stage()
        let leases = try (0..<8).map { try Stage.lease("owner\($0)", stage.address) }
        let held = try await withThrowingTaskGroup(of: Bool.self) { group in
            for lease in leases { group.addTask { try await lease.claim() == .held } }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(held == 1)
    }

    @Test func aFormerOwnerCannotStore() async throws {
        let stage = try await Stage()
        stage.store.require(stage.one)
        var error = await #expect(throws: TrackingError.self) { _ = try await stage.store.store(batch(points(1...3))) }
        #expect(error?.code == .storeFailed, "it has no lease yet")
        #expect(try await stage.one.claim() == .held)
        #expect(try await stage.store.store(batch(points(1...3))).stored == 3)
        try await stage.expire()
        #expect(try await stage.store.store(batch(points(3...4))).stored == 1, "nobody else has the lease")
        #expect(try await stage.two.claim() == .held)
        // The server has ended its connection; then the lease is refused.
        for _ in 0..<2 {
            error = await #expect(throws: TrackingError.self) { _ = try await stage.store.store(batch(points(4...5))) }
        }
        #expect(error?.message.contains("no longer has the lease") == true, "\(error?.message ?? "")")
        let other = try await PostgresHistoryStore(address: stage.address)
        other.require(stage.two)
        #expect(try await other.store(batch(points(4...5))).stored == 1)
        try await other.close()
        try await stage.store.close()
    }

    /// The former owner was suspended inside a transaction, whose locks would block the new owner for two minutes.
    @Test func anOpenTransactionOfTheFormerOwnerIsEnded() async throws {
        let stage = try await Stage()
        #expect(try await stage.one.claim() == .held)
        let former = try PostgresConnection(stage.address)
        try former.runAll("SET search_path = godwit")
        try stage.one.check(former)
        try former.runAll("BEGIN; UPDATE turn SET holder = 77")
        try await stage.expire()
        #expect(try await stage.two.claim() == .held)
        stage.store.require(stage.two)
        #expect(try await stage.store.store(batch(points(1...3))).stored == 3)
        #expect(throws: TrackingError.self) { try former.runAll("COMMIT") }
        try await stage.store.close()
    }

    /// The address names two servers, and the first one can only be read, as a replica.
    @Test func anAddressOfSeveralServersFindsTheOneThatCanBeWritten() async throws {
        let (first, second) = (try await PostgresServer.start(), try await PostgresServer.shared())
        let address = try await second.makeDatabase()
        let name = try #require(address.split(separator: "/").last)
        for sql in ["CREATE DATABASE \(name)", "ALTER DATABASE \(name) SET default_transaction_read_only = on"] {
            try await first.execute(sql, in: "postgres://godwit@127.0.0.1:\(first.port)/postgres")
        }
        let both = "postgres://godwit@127.0.0.1:\(first.port),127.0.0.1:\(second.port)/\(name)"
        let store = try await PostgresHistoryStore(address: both)
        #expect(try await store.store(batch(points(1...3))).stored == 3)
        #expect(try await second.value("SELECT count(*) FROM godwit.point", in: address) == "3")
        try await first.kill()
        store.reconnect()
        #expect(try await store.store(batch(points(3...5))).stored == 2)
        try await store.close()
    }
}
