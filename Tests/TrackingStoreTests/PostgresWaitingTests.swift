import Synchronization
import TestSupport
import Testing
import TrackingCore

@testable import TrackingStore

/// The waits between programs in PostgreSQL, and their lengths.
struct PostgresWaitingTests {
    /// A program that ends does not wait for a pending answer.
    @Test(.timeLimit(.minutes(5))) func aCancelledCallDoesNotWait() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        let other = try PostgresConnection(address)
        try other.runAll("BEGIN; LOCK TABLE godwit.trackable")
        let storing = Task { try await store.store(batch(points(1...3))) }
        try await Self.waitForAWaiter(in: address, of: server)
        storing.cancel()
        let error = await #expect(throws: TrackingError.self) { _ = try await storing.value }
        #expect(error?.code == .storeFailed)
        try other.runAll("ROLLBACK")
        #expect(try await store.store(batch(points(1...3))).stored == 3)
        try await store.close()
    }

    /// A store waits a limited time for another store, which may be gone. Then it reports the wait and tries again.
    /// Erasing waits without a limit.
    @Test(.timeLimit(.minutes(5))) func storingWaitsALimitedTimeForAnotherStore() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        _ = try await store.store(batch(points(1...3)))
        let session = try await store.writer.perform { connection throws(TrackingError) in
            let names = [
                "lock_timeout", "idle_in_transaction_session_timeout", "tcp_user_timeout", "tcp_keepalives_idle",
            ]
            return try names.map { name throws(TrackingError) in
                try connection.run("SELECT current_setting('\(name)')").text(0, 0)
            }
        }
        #expect(session == ["10s", "2min", "15000", "5"])
        let other = try PostgresConnection(address)
        try other.runAll("BEGIN; UPDATE godwit.turn SET holder = 77")
        let eraser = try await PostgresHistoryStore(address: address)
        async let erased = eraser.erase(trackable("van"), before: nil, now: UnixTime(now.seconds + 100))
        try await Self.waitForAWaiter(in: address, of: server)
        let error = await #expect(throws: TrackingError.self) { _ = try await store.store(batch(points(1...5))) }
        #expect(error?.code == .storeFailed && error?.message.contains("lock timeout") == true)
        try other.runAll("ROLLBACK")
        #expect(try await erased.points == 3)
        let after = try await eraser.writer.perform { connection throws(TrackingError) in
            try connection.run("SELECT current_setting('lock_timeout')").text(0, 0)
        }
        #expect(after == "10s")
        #expect(try await store.store(batch([point(200)])).stored == 1)
        for each in [store, eraser] { try await each.close() }
    }

    /// A program that pauses within a copy: the server waits for its rows without a limit, and other stores wait for
    /// its locks.
    @Test(.timeLimit(.minutes(5))) func anIdleCopyIsEnded() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        _ = try await store.store(batch(points(1...3)))
        store.known.withLock { $0.standstill.limit = .seconds(5) }
        let other = try PostgresConnection(address)
        try other.runAll("SET search_path = godwit, public; BEGIN; UPDATE turn SET holder = 77")
        try other.send("COPY point FROM STDIN (FORMAT binary); COMMIT")
        let five = try batch(points(1...5))
        var refusals = 0
        while refusals < 4 {
            do throws(TrackingError) {
                _ = try await store.store(five)
                break
            } catch {
                #expect(error.message.contains("lock timeout"))
                refusals += 1
            }
        }
        #expect(refusals == 2, "it is seen after the first, and has brought nothing since after the second")
        #expect(try await store.allPoints().count == 5)
        withExtendedLifetime(other) {}
        try await store.close()
    }

    /// A program that ends does not wait for its connection either: here another program makes the tables.
    @Test(.timeLimit(.minutes(5))) func whoClosesDoesNotWait() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        try await server.execute("DROP SCHEMA godwit CASCADE", in: address)
        let other = try PostgresConnection(address)
        try other.runAll("SELECT pg_advisory_lock(1197758324)")
        let reading = Task { try await store.allPoints() }
        try await Self.waitForAWaiter(in: address, of: server)
        let started = ContinuousClock.now
        try await store.close()
        #expect(ContinuousClock.now - started < .seconds(9))
        let error = await #expect(throws: TrackingError.self) { _ = try await reading.value }
        #expect(error?.code == .storeFailed)
    }

    /// A backup may read the partition for other times for hours. Nothing waits for it: the week gets its partition
    /// afterwards, and the following week gets one in advance.
    @Test(.timeLimit(.minutes(5))) func aBlockedPartitionBlocksNothing() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        _ = try await store.store(batch([point(1)]))
        let partitions =
            "SELECT string_agg(c.relname, ' ' ORDER BY c.relname) FROM pg_inherits i "
            + "JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'godwit.point'::regclass"
        #expect(try await server.value(partitions, in: address) == "point_2026_w39 point_2026_w40 point_other")
        let backup = try PostgresConnection(address)
        try backup.runAll("BEGIN; LOCK TABLE godwit.point_other IN ACCESS SHARE MODE")
        let old = 1_110_000_000.0
        let started = ContinuousClock.now
        #expect(try await store.store(batch([point(2, at: old), point(3)])).stored == 2)
        #expect(try await store.store(batch([point(4, at: old + 1)])).stored == 1)
        #expect(ContinuousClock.now - started < .seconds(18))
        #expect(try await server.value("SELECT count(*) FROM godwit.point_other", in: address) == "2")
        #expect(try await store.allPoints().map(\.location.seq) == [2, 4, 1, 3])
        try backup.runAll("ROLLBACK")
        try await store.close()
        let again = try await PostgresHistoryStore(address: address)
        _ = try await again.store(batch([point(5, at: old + 2)]))
        #expect(try await server.value("SELECT count(*) FROM godwit.point_2005_w09", in: address) == "3")
        #expect(try await again.allPoints().map(\.location.seq) == [2, 4, 5, 1, 3])
        try await again.close()
    }

    private static func waitForAWaiter(in address: String, of server: PostgresServer) async throws {
        let waiting =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        while try await server.value(waiting, in: address) == "0" { try await Task.sleep(for: .milliseconds(20)) }
    }
}
