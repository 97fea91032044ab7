import Foundation
import Synchronization
import TestSupport
import Testing
import TrackingCore

@testable import TrackingStore

/// The behaviour of the store in PostgreSQL alone.
struct PostgresHistoryTests {
    @Test func aServerThatGivesNoAnswerIsGivenUp() async throws {
        let server = try await PostgresServer.start()
        // libpq itself would wait for longer than the test does.
        let address = try await server.makeDatabase() + "?connect_timeout=300"
        let store = try await PostgresHistoryStore(address: address, patience: .seconds(1))
        _ = try await store.trackables(after: nil, limit: 1)
        server.freeze()
        defer { server.freeze(false) }
        // The first call has an established connection. The others wait behind it, or for a connection that cannot be
        // made.
        await withTaskGroup { group in
            for _ in 0..<3 {
                group.addTask {
                    let started = ContinuousClock.now
                    let error = await #expect(throws: TrackingError.self) {
                        _ = try await store.trackables(after: nil, limit: 1)
                    }
                    #expect(error?.code == .storeFailed)
                    #expect(ContinuousClock.now - started < .seconds(60), "no longer than it is told to wait")
                }
            }
        }
        server.freeze(false)
        // Calls that wait for a connection end with it.
        let deadline = ContinuousClock.now + .seconds(60)
        while (try? await store.trackables(after: nil, limit: 1)) == nil {
            try #require(ContinuousClock.now < deadline, "it is not asked again")
        }
        try await store.close()
    }

    @Test func anotherVersionIsRefusedWithItsNumber() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        try await PostgresHistoryStore(address: address).close()
        try await server.execute("UPDATE godwit.schema_version SET version = 99", in: address)
        let error = await #expect(throws: TrackingError.self) { _ = try await PostgresHistoryStore(address: address) }
        #expect(error?.code == .storeUnusable)
        for part in ["schema godwit", "version 99", "expects version 1", "name another database"] {
            #expect(error?.message.contains(part) == true, "\(error?.message ?? "") lacks '\(part)'")
        }
    }

    /// A program that only reads creates nothing. Once another program has made the history, it is read.
    @Test func aMissingHistoryIsReportedAndNotMade() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let error = await #expect(throws: TrackingError.self) {
            _ = try await PostgresHistoryStore(address: address, mayMake: false)
        }
        #expect(error?.code == .inputUnreadable && error?.message.contains("no schema godwit") == true)
        let schemas = "SELECT 1::bigint FROM pg_namespace WHERE nspname = 'godwit'"
        let isMade = try PostgresConnection(address).run(schemas).count > 0
        #expect(!isMade)
        let reasons = Mutex<[TrackingError]>([])
        let reader = try await PostgresHistoryStore(address: address, mayMake: false) { error in
            reasons.withLock { $0.append(error) }
        }
        #expect(reasons.withLock { $0.count } == 1)
        let early = await #expect(throws: TrackingError.self) { try await reader.trackables(after: nil, limit: 1) }
        #expect(early?.code == .storeFailed && early?.message == error?.message)
        let maker = try await PostgresHistoryStore(address: address)
        #expect(try await maker.store(batch(points(1...3))).stored == 3)
        #expect(try await reader.trackables(after: nil, limit: 1).count == 1)
        try await maker.close()
        try await reader.close()
    }

    @Test func theErrorForAMissingServerOmitsThePassword() async throws {
        let address = "postgres://godwit:very-secret@127.0.0.1:\(try LoopbackPort.free())/none"
        let error = await #expect(throws: TrackingError.self) { _ = try await PostgresHistoryStore(address: address) }
        #expect(error?.code == .storeFailed && error?.message.contains("very-secret") == false)
    }

    /// A character that ends a password early turns the rest of it into a port, a host or a database, and
    /// libpq's message names these.
    @Test(arguments: ["ver/y-secret", "12/y-secret", "p@ver/y-secret", "p@y-secret", "ver/?y-secret", "%zzy-secret"])
    func theErrorForAnUnreadableAddressOmitsTheAddress(password: String) async throws {
        let address = "postgres://godwit:\(password)@127.0.0.1:\(try LoopbackPort.free())/none"
        let error = await #expect(throws: TrackingError.self) { _ = try await PostgresHistoryStore(address: address) }
        #expect(
            error?.code == .invalidConfiguration && error?.message.contains("secret") == false,
            "\(String(describing: error))")
        #expect(error?.message.contains("ver") == false && error?.message.contains("cannot be read") == true)
    }

    /// A rejection by a reachable server is final. An unreachable server may come back.
    @Test func aRefusedLoginFailsAtOnce() async throws {
        let server = try await PostgresServer.start()
        let address = try await server.makeDatabase()
        let error = await #expect(throws: TrackingError.self) {
            _ = try await PostgresHistoryStore(address: address + "-none")
        }
        #expect(error?.code == .storeUnusable, "\(String(describing: error))")
        try await server.kill()
        let away = await #expect(throws: TrackingError.self) { _ = try await PostgresHistoryStore(address: address) }
        #expect(away?.code == .storeFailed)
    }

    /// The time after which the connection gives up, in milliseconds, unless the address names another. Option
    /// 18 is Linux's TCP_USER_TIMEOUT.
    @Test(arguments: [("", 15_000), ("?tcp_user_timeout=3000", 3000)])
    func aServerThatVanishesIsGivenUp(options: String, limit: Int32) async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase() + options
        let connection = try PostgresConnection(address)
        func option(_ name: Int32) -> Int32 {
            var (value, size) = (Int32(0), socklen_t(4))
            #expect(getsockopt(connection.socket, Int32(IPPROTO_TCP), name, &value, &size) == 0)
            return value
        }
        #expect(option(18) == limit)
        #expect(option(TCP_KEEPIDLE) == 5 && option(TCP_KEEPINTVL) == 5 && option(TCP_KEEPCNT) == 3)
    }

    /// Some administrators keep extensions in a schema of their own.
    @Test func extensionsMayBeInAnySchema() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        try await server.execute(
            #"DROP EXTENSION postgis; CREATE SCHEMA "The Maps"; CREATE EXTENSION postgis SCHEMA "The Maps""#,
            in: address)
        for _ in 0..<2 {
            let store = try await PostgresHistoryStore(address: address)
            _ = try await store.store(batch(points(1...600)))
            let box = try #require(GeoBox(south: 52.00045, west: -9, north: 52.00105, east: -8))
            let found = try await store.allPoints(PointQuery(trackable("van"), in: box))
            #expect(found.map(\.location.seq) == [5, 6, 7, 8, 9, 10])
            try await store.close()
        }
    }

    /// A missing PostGIS is installed in the first schema of the user's own search path.
    @Test func theSearchPathOfTheUserDoesNotMatter() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        try await server.execute("DROP EXTENSION postgis; CREATE SCHEMA app", in: address)
        let store = try await PostgresHistoryStore(address: address + "?options=-csearch_path%3Dapp")
        #expect(try await store.store(batch(points(1...3))).stored == 3)
        try await store.close()
    }

    @Test func severalRecordersStoreTogether() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let names = (0..<20).map { "van-\($0)" }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for recorder in 0..<3 {
                group.addTask {
                    let store = try await PostgresHistoryStore(address: address)
                    var random = SplitMix64(seed: UInt64(recorder + 1))
                    var stored = 0
                    for first in stride(from: UInt64(1), through: 191, by: 10) {
                        var batch = RecordingBatch()
                        for name in names.shuffled(using: &random) {
                            var recording = Recording(of: try trackable(name), at: now)
                            recording.points = try points(first...(first + 9))
                            batch.recordings.append(recording)
                        }
                        stored += try await store.store(batch).stored
                    }
                    let acknowledged = try await store.acknowledgement(of: trackable("van-7"))
                    #expect(acknowledged.streams == [try stream("one"): 200])
                    try await store.close()
                    return stored
                }
            }
            let stored = try await group.reduce(0, +)
            #expect(stored == names.count * 200)
        }
        let store = try await PostgresHistoryStore(address: address)
        for name in names { #expect(try await store.allPoints(of: name, limit: 1000).count == 200) }
        try await store.close()
    }

    /// The planner stores sample values of each column, including those of emptied tables.
    @Test(arguments: [false, true]) func erasedValuesAreNotInThePlannersStatistics(isAlone: Bool) async throws {
        // Transactions in other databases of the server have an effect as well.
        let server = try await PostgresServer.start()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        let marker = "very-secret-place"
        let (one, van) = (try stream("one"), try trackable("van"))
        var secret = try points(1...2000) + [point(2001, at: 5)]
        for index in secret.indices { secret[index].extra = Array(#"{"x":"\#(marker)"}"#.utf8) }
        let event = TrackingEvent(
            id: marker, stream: one, seq: 3000, time: now, kind: .lowBattery, detail: [:])
        var all = try batch(secret) {
            $0.events = [RecordedDocument(event, json: MessageCodec.encode(event))]
            $0.state = StateChange("resolution", json: Array(marker.utf8))
        }
        all.refused = [
            RefusedMessage(topic: marker, receivedAt: now, trackable: van, reason: "bad", payload: Array(marker.utf8))
        ]
        _ = try await store.store(all)
        if !isAlone { _ = try await store.store(batch(points(5000...5010), of: "bus")) }
        try await server.execute("VACUUM ANALYZE", in: address)
        let noted =
            "SELECT count(*) FROM pg_stats WHERE schemaname = 'godwit' AND (most_common_vals::text ~ '\(marker)|52[.]0[01]' "
            + "OR histogram_bounds::text ~ '\(marker)|52[.]0[01]')"
        #expect(try await server.value(noted, in: address) != "0")
        let report = try await store.erase(van, before: nil, now: UnixTime(now.seconds + 5000))
        #expect(report.remains.isEmpty && report.elsewhere.count == 1, "\(report.remains)")
        #expect(try await server.value(noted, in: address) == "0")
        // The box of the spatial index: its extent is stored as numbers.
        #expect(
            try await server.value(
                "SELECT count(*) FROM pg_statistic WHERE starelid = 'godwit.run'::regclass AND "
                    + "concat(stanumbers1, stanumbers2, stanumbers3) ~ '52[.]0[01]'", in: address) == "0")
        // No file of a table contains it.
        let files =
            "SELECT string_agg(oid::regclass::text, ' ') FROM pg_class WHERE pg_relation_filepath(oid) IS NOT NULL "
            + "AND relkind IN ('r', 't', 'i', 'm') AND position('\(marker)'::bytea IN pg_read_binary_file(pg_relation_filepath(oid))) > 0"
        let found = try await server.value(files, in: address)
        #expect(found.isEmpty, "\(found)")
        #expect(try await store.allPoints(of: "bus").count == (isAlone ? 0 : 11))
        #expect(try await server.value("SELECT count(*) FROM godwit.point WHERE trackable = 0", in: address) == "0")
        #expect(try await server.value("SELECT count(*) FROM godwit.quarantine", in: address) == "0")
        try await store.close()
    }

    /// A backup sees the state at its start, so erased rows remain in the table until it ends.
    @Test func anEraseIsNotReportedWhileABackupSeesTheRecords() async throws {
        let server = try await PostgresServer.start()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        _ = try await store.store(batch(points(1...10)))
        let backup = try PostgresConnection(address)
        try backup.runAll("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        let report = try await store.erase(trackable("van"), before: nil, now: UnixTime(now.seconds + 5000))
        #expect(report.points == 10 && report.remains.count == 1)
        #expect(
            report.remains.first?.contains("transactions that began before the erasure are still in progress") == true)
        try backup.runAll("COMMIT")
        let again = try await store.erase(trackable("van"), before: nil, now: UnixTime(now.seconds + 5000))
        #expect(again.remains.isEmpty, "\(again.remains)")
        try await store.close()
    }

    /// All later queries would wait behind it as well.
    @Test func anEraseDoesNotWaitForReaders() async throws {
        let server = try await PostgresServer.start()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        _ = try await store.store(batch(points(1...10)))
        let reader = try PostgresConnection(address)
        try reader.runAll("BEGIN; SELECT * FROM godwit.points; SELECT * FROM godwit.event")
        let start = ContinuousClock.now
        let report = try await store.erase(trackable("van"), before: nil, now: UnixTime(now.seconds + 5000))
        #expect(ContinuousClock.now - start < .seconds(60))
        #expect(report.points == 10 && report.remains.count == 1)
        let remains = report.remains.first ?? ""
        #expect(
            remains.contains("event, trackable, point_2026_w39, point_2026_w40, point_other could not be rewritten"),
            "\(remains)")
        #expect(remains.contains("lock timeout"), "\(remains)")
        _ = try await store.store(batch([point(11)], of: "bus"))
        try reader.runAll("COMMIT")
        let again = try await store.erase(trackable("van"), before: nil, now: UnixTime(now.seconds + 5000))
        #expect(again.remains.isEmpty)
        try await store.close()
    }

    /// A point from next year is stored in the partition for other times until its week has a partition.
    @Test func aNewPartitionTakesOverItsWaitingPoints() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        let later = now.seconds + 400 * 86_400
        _ = try await store.store(batch([point(1), point(2, at: later), point(3, at: 5)]))
        #expect(try await server.value("SELECT count(*) FROM godwit.point_other", in: address) == "2")
        _ = try await store.store(batch([point(4, at: later + 1)], at: UnixTime(later)))
        #expect(try await server.value("SELECT count(*) FROM godwit.point_other", in: address) == "1")
        #expect(try await store.allPoints().map(\.location.seq) == [3, 1, 2, 4])
        try await store.close()
    }

    /// A partition whose points were all removed by their age is dropped once autovacuum has truncated its file.
    @Test func theRetentionDropsEmptyPartitions() async throws {
        let server = try await PostgresServer.start()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        let week = 7 * 86_400.0
        let (old, bus) = (now.seconds - 3 * week, now.seconds - 2 * week)
        _ = try await store.store(batch([point(1, at: old), point(2)]))
        _ = try await store.store(batch([point(1, at: bus)], of: "bus"))
        let limit = UnixTime(now.seconds - week)
        func removed() async throws -> Int {
            try await store.removeExpired(before: limit, of: nil, except: [try trackable("bus")])
        }
        func partitions() async throws -> String {
            try await server.value(
                "SELECT string_agg(c.relname, ' ' ORDER BY c.relname) FROM pg_inherits i JOIN pg_class c "
                    + "ON c.oid = i.inhrelid WHERE i.inhparent = 'godwit.point'::regclass", in: address)
        }
        #expect(try await removed() == 1)
        let backup = try PostgresConnection(address)
        try await server.execute("VACUUM godwit.point", in: address)
        try backup.runAll("BEGIN; SELECT * FROM godwit.point LIMIT 1")
        #expect(try await removed() == 0)
        let all = "point_2026_w36 point_2026_w37 point_2026_w39 point_2026_w40 point_other"
        #expect(try await partitions() == all, "another program reads the table")
        try backup.runAll("ROLLBACK")
        #expect(try await removed() == 0)
        #expect(try await partitions() == "point_2026_w37 point_2026_w39 point_2026_w40 point_other")
        // A late point gets its partition again.
        #expect(try await store.store(batch([point(3, at: old + 1)])).stored == 1)
        #expect(try await partitions() == all)
        #expect(try await store.allPoints().map(\.location.seq) == [3, 2])
        try await store.close()
    }

    @Test func namesThatPostgresRejectsBlockNothing() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        var odd = try point(1, of: "odd")
        odd.tripID = "\0"
        let report = try await store.store(batch([odd, point(1), point(2)]))
        #expect(report.stored == 3)
        #expect(try await store.store(batch([odd])).duplicates == 1)
        try await store.close()
    }

    @Test func theViewsReadAsTheyAreDocumented() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        _ = try await store.store(batch([fullPoint(1), point(2)]))
        let row = try await server.value(
            """
            SELECT concat_ws('|', trackable, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), stream, seq, mode, motion, \
            source, ST_AsText(place)) FROM godwit.points ORDER BY time LIMIT 1
            """, in: address)
        #expect(row == "van|2026-09-21 14:13:21|one|1|BALANCED|driving,stationary|gps|POINT(-8.66 52.0001)")
        #expect(try await server.value("SELECT seq FROM godwit.last_position", in: address) == "2")
        #expect(
            try await server.value("SELECT concat(stream, first, last, mark) FROM godwit.streams", in: address)
                == "one12stored")
        for seq in UInt64(3)...9 { _ = try await store.store(batch([point(seq)])) }
        try await store.close()
        #expect(try await server.value("SELECT last_seq FROM godwit.trackable", in: address) == "2")
        #expect(try await server.value("SELECT seq FROM godwit.last_position", in: address) == "9")
        #expect(try await server.value("SELECT concat(first, last) FROM godwit.streams", in: address) == "19")
    }

    /// A point exists without a row that covers it. Only a program that bypasses the store can leave that.
    @Test func anExistingPointBlocksNothing() async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        _ = try await store.store(batch(points(1...2)))
        try await store.close()
        try await server.execute("DELETE FROM godwit.coverage", in: address)
        let again = try await PostgresHistoryStore(address: address)
        #expect(try await again.store(batch(points(1...3))).stored == 1)
        #expect(try await again.verify(trackable("van"))?.points == 3)
        try await again.close()
    }

    /// The server stops between two batches and restarts. Reported records are stored, and the store reconnects by
    /// itself.
    @Test func aRestartedServerIsUsedAgain() async throws {
        let server = try await PostgresServer.start()
        let address = try await server.makeDatabase()
        let store = try await PostgresHistoryStore(address: address)
        for round in UInt64(0)..<3 {
            _ = try await store.store(batch(points((round * 100 + 1)...(round * 100 + 50))))
            try await server.kill()
            let error = await #expect(throws: TrackingError.self) {
                _ = try await store.store(batch(points((round * 100 + 51)...(round * 100 + 100))))
            }
            #expect(error?.code == .storeFailed)
            try await server.restart()
            let again = try await store.store(batch(points((round * 100 + 1)...(round * 100 + 100))))
            #expect(again.stored == 50 && again.duplicates == 50)
        }
        #expect(try await store.allPoints(limit: 1000).count == 300)
        try await store.close()
    }
}
