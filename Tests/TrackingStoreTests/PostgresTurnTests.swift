import Foundation
import TestSupport
import Testing
import TrackingCore

@testable import TrackingStore

/// Several stores on one database in PostgreSQL.
struct PostgresTurnTests {
    /// A store that writes alone does not query the turn. Several stores do, and each sees the others' changes.
    @Test func aSingleWriterHoldsTheTurn() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let (one, two) = (
            try await PostgresHistoryStore(address: address), try await PostgresHistoryStore(address: address)
        )
        func isHeld() async throws -> Bool {
            try await server.value("SELECT holder > 0 FROM godwit.turn", in: address) == "t"
        }
        _ = try await one.store(batch(points(1...2)))
        #expect(try await isHeld())
        for seq in UInt64(3)...12 {
            let store = seq.isMultiple(of: 2) ? one : two
            let report = try await store.store(batch(points((seq - 1)...seq)))
            #expect(report.stored == 1 && report.duplicates == 1)
        }
        #expect(try await !isHeld(), "neither has it for a while")
        for seq in 1...UInt64(PostgresTurn.commitsAmongOthers) { _ = try await one.store(batch([point(12 + seq)])) }
        #expect(try await isHeld())
        let last = 12 + UInt64(PostgresTurn.commitsAmongOthers)
        #expect(try await two.store(batch(points((last - 10)...(last + 1)))).stored == 1)
        try await one.close()
        try await two.close()
    }

    /// Another store has the turn for a while, and a third one ends it. This store discards everything that it knew
    /// before.
    @Test func exclusiveWritesAreVisibleToAll() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let (one, two) = try await Self.twoAmongOthers(address)
        let alone = try await PostgresHistoryStore(address: address)
        _ = try await two.store(batch(points(1...4)))
        let elsewhere = try points(4010...4020).map { far in
            var point = far
            point.seq = far.seq.map { $0 - 4000 }
            return point
        }
        _ = try await alone.store(batch(elsewhere))
        _ = try await one.store(Self.first(of: ["other"]))
        _ = try await two.store(batch([point(21, at: now.seconds + 5000)]))
        let box = try #require(GeoBox(south: 52.35, west: -8.7, north: 52.45, east: -8.6))
        #expect(try await two.trackables(in: box, during: .all) == [trackable("van")])
        for store in [one, two, alone] { try await store.close() }
    }

    /// Two stores both see that a third one has just taken the turn, and both end it.
    @Test(.timeLimit(.minutes(5))) func twoThatEndATurnDoNotWaitForEachOther() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let (one, two) = try await Self.twoAmongOthers(address)
        let other = try PostgresConnection(address)
        try other.runAll("BEGIN; UPDATE godwit.turn SET holder = 77")
        async let first = one.store(Self.first(of: ["van"]))
        async let second = two.store(Self.first(of: ["bus"]))
        try await Self.wait(for: 2, in: address, of: server)
        try other.runAll("COMMIT")
        let stored = try await [first.stored, second.stored]
        #expect(stored == [1, 1])
        try await one.close()
        try await two.close()
    }

    /// A copy is restored while the stores write. Records since the copy are not reported as stored, and are stored
    /// when they come again.
    @Test(arguments: [true, false]) func aRestoredCopyIsReadAgain(isAlone: Bool) async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        let other = isAlone ? nil : try await PostgresHistoryStore(address: address)
        for seq in UInt64(1)...4 {
            _ = try await (seq.isMultiple(of: 2) ? other ?? store : store).store(batch([point(seq)]))
        }
        _ = try await store.store(batch(points(1...4)))
        try await Self.forEachTable("CREATE TABLE public.kept_% AS TABLE godwit.%", in: address, of: server)
        _ = try await store.store(batch(points(5...6)))
        _ = try await store.store(batch(points(1...2), of: "late"))
        try await Self.forEachTable(
            "TRUNCATE godwit.%; INSERT INTO godwit.% OVERRIDING SYSTEM VALUE TABLE public.kept_%",
            in: address, of: server)
        let report = try await Self.stored(batch([point(7)]), in: store)
        #expect(try report.acknowledgements[trackable("van")]?.streams[stream("one")] == 4)
        for name in ["bus", "late"] {
            #expect(try await Self.stored(batch([point(1)], of: name), in: store).stored == 1)
        }
        #expect(try await Self.stored(batch(points(1...7)), in: store).stored == 2)
        for (name, count) in [("van", 7), ("bus", 1), ("late", 1)] {
            #expect(try await store.allPoints(of: name).count == count, "\(name)")
        }
        try await store.close()
        try await other?.close()
    }

    /// While a copy is being restored, nothing is stored into the existing tables.
    @Test func nothingIsStoredWhileACopyIsRestored() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let (one, two) = try await Self.twoAmongOthers(address)
        let alone = try await PostgresHistoryStore(address: address)
        try await server.execute("TRUNCATE godwit.turn", in: address)
        for store in [one, two, alone] {
            let error = await #expect(throws: TrackingError.self) { _ = try await store.store(Self.first(of: ["van"])) }
            #expect(error?.code == .storeFailed && error?.message.contains("restored from a backup") == true)
        }
        #expect(try await server.value("SELECT count(*) FROM godwit.point", in: address) == "1")
        try await server.execute("INSERT INTO godwit.turn VALUES (0)", in: address)
        #expect(try await one.store(Self.first(of: ["van"])).stored == 1)
        for store in [one, two, alone] { try await store.close() }
    }

    /// Stores a batch, and tries it a second time as a recorder does.
    private static func stored(_ batch: RecordingBatch, in store: PostgresHistoryStore) async throws -> StoreReport {
        do { return try await store.store(batch) } catch { return try await store.store(batch) }
    }

    private static func forEachTable(_ sql: String, in address: String, of server: PostgresServer) async throws {
        let tables = ["point", "coverage", "stream", "trackable", "turn"]
        try await server.execute(
            tables.map { sql.replacing("%", with: $0) }.joined(separator: "; "), in: address)
    }

    /// Two stores without the turn.
    private static func twoAmongOthers(
        _ address: String
    ) async throws -> (PostgresHistoryStore, PostgresHistoryStore) {
        let one = try await PostgresHistoryStore(address: address)
        let two = try await PostgresHistoryStore(address: address)
        for store in [one, two, one, two] { _ = try await store.store(Self.first(of: ["first"])) }
        return (one, two)
    }

    /// A batch with the first point of each stream.
    private static func first(of names: [String]) throws -> RecordingBatch {
        var batch = RecordingBatch()
        for name in names {
            var recording = Recording(of: try trackable(name), at: now)
            recording.points = [try point(1)]
            batch.recordings.append(recording)
        }
        return batch
    }

    /// Waits until `count` connections wait for another one.
    private static func wait(for count: Int, in address: String, of server: PostgresServer) async throws {
        let waiting =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        while try await server.value(waiting, in: address) != "\(count)" {
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
