import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingStore

/// `godwit record` as a user runs it: real Mosquitto, the built agent, and what is in the history in the end.
///
/// `GODWIT_DRILL_KILLS` makes the drill longer: how often something is killed.
@Suite(.serialized, .timeLimit(.minutes(60))) struct RecordTests {
    private static let kills = Int(ProcessInfo.processInfo.environment["GODWIT_DRILL_KILLS"] ?? "") ?? 9

    /// A broker, a folder that is gone with the test, and what runs there.
    private final class Stage: Sendable {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-record-\(UUID().uuidString)")
        let broker: MosquittoProcess
        var database: String { self.folder.appending(path: "history.sqlite").path() }
        let van = try! TrackableID("van")

        init(extra: [String] = []) async throws {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
            self.broker = try await MosquittoProcess.start(extra: ["max_inflight_messages 500"] + extra)
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func recorder(_ more: [String] = []) throws -> RunningProgram {
            try Programs.start(
                "godwit",
                [
                    "record", "--broker", self.broker.url, "--name", "keeper", "--store", "sqlite:\(self.database)",
                    "--log-level", "info",
                ] + more)
        }

        func agent(fixes: Int, speed: String, _ more: [String] = []) throws -> RunningProgram {
            let drive = self.folder.appending(path: "drive.jsonl")
            if !FileManager.default.fileExists(atPath: drive.path()) {
                let lines = (0..<fixes).map { index in
                    let (latitude, longitude) = (52.0 + Double(index) * 1e-4, -8.5 + Double(index % 7) * 1e-5)
                    return
                        "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[\(longitude),\(latitude)]},"
                        + "\"properties\":{\"time\":\(1_700_000_000 + Double(index) * 0.25)}}"
                }
                try lines.joined(separator: "\n").write(to: drive, atomically: true, encoding: .utf8)
            }
            return try Programs.start(
                "godwit-agent",
                [
                    "run", "--trackable", "van", "--broker", self.broker.url, "--client-id", "box", "--battery", "none",
                    "--source", "jsonl:\(drive.path())", "--speed", speed,
                    "--spool", self.folder.appending(path: "spool.sqlite").path(), "--log-level", "trace",
                    "--default-resolution", "HIGH/1000/0", "--sensor-resolution", "HIGH/0/0",
                    "--batch-size", "50", "--batch-window", "0.2",
                ] + (more.contains("--acknowledge-by") ? [] : ["--acknowledge-by", "keeper"]) + more)
        }

        /// The names of the points that are stored.
        func stored() async throws -> Set<TestRecorder.Name> {
            let store = try SQLiteHistoryStore(path: self.database)
            var names: [TestRecorder.Name] = []
            var next: PointName?
            repeat {
                let page = try await store.points(PointQuery(self.van), after: next, limit: 10_000)
                names += page.points.compactMap { point in
                    guard let stream = point.location.stream, let seq = point.location.seq else { return nil }
                    return TestRecorder.Name(stream: stream, seq: seq)
                }
                next = page.next
            } while next != nil
            try await store.close()
            #expect(Set(names).count == names.count, "a point is stored twice")
            return Set(names)
        }

        func waitUntilStored(_ names: Set<TestRecorder.Name>, within limit: Duration = .seconds(60)) async throws {
            let deadline = ContinuousClock.now + limit
            while true {
                let missing = names.subtracting(try await self.stored())
                if missing.isEmpty { return }
                guard ContinuousClock.now < deadline else {
                    throw TestSupportError("not stored: \(missing.sorted().prefix(20)), \(missing.count) in all")
                }
                try await Task.sleep(for: .milliseconds(200))
            }
        }

        func report() async throws -> VerifyReport {
            let store = try SQLiteHistoryStore(path: self.database)
            let report = try await store.verify(self.van)
            try await store.close()
            return try #require(report)
        }
    }

    @Test func aDriveIsStoredOnceAndLeavesTheDevice() async throws {
        let stage = try await Stage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("taking in")
        let agent = try stage.agent(fixes: 2_000, speed: "1000")
        let result = try await agent.result(within: .seconds(60))
        #expect(result.code == 0, "\(result.errors.suffix(2000))")
        let written = agent.loggedRecords
        #expect(written.count == 2_000)
        try await stage.waitUntilStored(written)
        #expect(try await stage.stored().count == 2_000)
        #expect(try await stage.report().isComplete)
        // Nothing is left on the device that the recorder has acknowledged.
        let spool = try await MosquittoTool.retained("tracking/van/ack/keeper", on: stage.broker)
        #expect(spool.contains("2000"), "\(spool)")
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(20)).code == 0, "\(recorder.errors.suffix(2000))")
        #expect(try await MosquittoTool.retained("tracking/_clients/keeper", on: stage.broker).contains("offline"))
    }

    @Test func nothingAcceptedIsMissingWhoeverIsKilled() async throws {
        let stage = try await Stage()
        var recorder = try stage.recorder()
        try await recorder.waitForLog("taking in")
        var written: Set<TestRecorder.Name> = []
        for number in 0..<Self.kills {
            let agent = try stage.agent(fixes: 40_000, speed: "20")
            let enough = Int.random(in: 5...60)
            try await agent.wait { _ in agent.loggedRecords.count >= enough }
            switch number % 3 {
            case 0:
                recorder.signal(SIGKILL)
                _ = try await recorder.result(within: .seconds(20))
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...300)))
                recorder = try stage.recorder()
            case 1:
                // It keeps nothing on disk: what it had taken is gone with it.
                try await stage.broker.kill()
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...300)))
                try await stage.broker.restart()
            default: break
            }
            let more = agent.loggedRecords.count + Int.random(in: 1...40)
            try await agent.wait { _ in agent.loggedRecords.count >= more }
            agent.signal(SIGKILL)
            _ = try await agent.result(within: .seconds(20))
            written.formUnion(agent.loggedRecords)
        }
        let last = try stage.agent(fixes: 40_000, speed: "20")
        try await last.wait { _ in !last.loggedRecords.isEmpty }
        try await stage.waitUntilStored(written)
        last.terminate()
        #expect(try await last.result(within: .seconds(20)).code == 0, "\(last.errors.suffix(2000))")
        written.formUnion(last.loggedRecords)
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(20)).code == 0, "\(recorder.errors.suffix(2000))")
    }

    /// Messages of a publisher that knows nothing of us: the broker's own acknowledgement has to wait for the commit.
    @Test func aStrangersPositionsAreStoredOnceThoughTheRecorderIsKilled() async throws {
        let stage = try await Stage()
        var recorder = try stage.recorder()
        try await recorder.waitForLog("taking in")
        let count = 3_000
        let client = try MQTTClient(
            configuration: MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: stage.broker.port)],
                client: try ClientID("stranger")))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            group.addTask {
                try await withThrowingDiscardingTaskGroup { publishing in
                    for index in 0..<count {
                        let text = """
                            {"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.5,\
                            \(52 + Double(index) * 1e-5)]},"properties":{"time":\(1_700_000_000 + index)}},\
                            "skippedLocations":[],"type":"ACTUAL"}
                            """
                        publishing.addTask {
                            _ = try await client.publish(
                                OutgoingMessage(topic: "tracking/van", payload: Array(text.utf8), isRetained: true))
                        }
                        if index % 20 == 19 { try await Task.sleep(for: .milliseconds(10)) }
                    }
                }
            }
            for _ in 0..<4 {
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...500)))
                recorder.signal(SIGKILL)
                _ = try await recorder.result(within: .seconds(20))
                recorder = try stage.recorder()
            }
            try await group.next()
            let deadline = ContinuousClock.now + .seconds(30)
            while try await stage.report().points < count, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(100))
            }
            group.cancelAll()
        }
        #expect(try await stage.report().points == count)
        #expect(try await stage.report().unnumbered == count)
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(20)).code == 0)
    }

    @Test func whatCannotBeReadIsSetAsideAndTheRestGoesOn() async throws {
        let stage = try await Stage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("taking in")
        let bad = [
            "tracking/van": "nonsense", "tracking/van/history": "{\"batch\":", "tracking/van/event": "[[[[",
        ]
        for (topic, text) in bad {
            try await MosquittoTool.publish(text, to: topic, on: stage.broker)
        }
        try await MosquittoTool.publish(String(repeating: "[", count: 200_000), to: "tracking/van", on: stage.broker)
        try await MosquittoTool.publish("x", to: "tracking/no=such=id", on: stage.broker)
        let agent = try stage.agent(fixes: 100, speed: "1000")
        #expect(try await agent.result(within: .seconds(60)).code == 0, "\(agent.errors.suffix(2000))")
        try await stage.waitUntilStored(agent.loggedRecords)
        let store = try SQLiteHistoryStore(path: stage.database)
        let refused = try await store.quarantined(limit: 100)
        try await store.close()
        #expect(
            Set(refused.map(\.topic)) == [
                "tracking/van", "tracking/van/history", "tracking/van/event", "tracking/no=such=id",
            ])
        #expect(refused.count == 5)
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(20)).code == 0)
    }

    @Test func aStoreThatIsAwayIsWaitedFor() async throws {
        let stage = try await Stage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("taking in")
        let first = try stage.agent(fixes: 400, speed: "20")
        try await first.wait { _ in first.loggedRecords.count >= 20 }
        try await stage.waitUntilStored(first.loggedRecords)
        // Another program holds the database: as good as a disk that is full.
        let lock = try ChildProcess(
            "/usr/bin/env", ["sqlite3", stage.database, "BEGIN IMMEDIATE; SELECT 1;", ".shell sleep 12"],
            output: stage.folder.appending(path: "lock").path())
        try await recorder.waitForLog("the store takes nothing", within: .seconds(30))
        try await lock.waitForEnd(within: .seconds(30))
        try await recorder.waitForLog("the store takes again", within: .seconds(60))
        #expect(try await first.result(within: .seconds(120)).code == 0, "\(first.errors.suffix(2000))")
        try await stage.waitUntilStored(first.loggedRecords)
        #expect(try await stage.report().isComplete)
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(20)).code == 0)
    }

    @Test func recordersShareTheWorkAndAPostgres() async throws {
        let stage = try await Stage()
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        func recorder(_ name: String) throws -> RunningProgram {
            try Programs.start(
                "godwit",
                [
                    "record", "--broker", stage.broker.url, "--name", name, "--share", "team", "--store", address,
                    "--log-level", "info",
                ])
        }
        var first = try recorder("one")
        try await first.waitForLog("taking in")
        let second = try recorder("two")
        try await second.waitForLog("taking in")
        let agent = try stage.agent(fixes: 3_000, speed: "200", ["--acknowledge-by", "team"])
        try await agent.wait { _ in agent.loggedRecords.count >= 300 }
        first.signal(SIGKILL)
        _ = try await first.result(within: .seconds(20))
        first = try recorder("one")
        #expect(try await agent.result(within: .seconds(90)).code == 0, "\(agent.errors.suffix(2000))")
        let store = try await PostgresHistoryStore(address: address)
        let deadline = ContinuousClock.now + .seconds(30)
        var report = try #require(try await store.verify(stage.van))
        while !(report.points == 3_000 && report.isComplete), ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(100))
            report = try #require(try await store.verify(stage.van))
        }
        try await store.close()
        #expect(report.points == 3_000)
        #expect(report.isComplete)
        // Of what two of them acknowledge in one moment the lower may come last: the next batch would put it right.
        #expect(try await MosquittoTool.retained("tracking/van/ack/team", on: stage.broker).contains("streams"))
        for recorder in [first, second] {
            recorder.terminate()
            let result = try await recorder.result(within: .seconds(20))
            #expect(result.code == 0, "\(result.errors.suffix(2000))")
        }
    }

    @Test func wrongUsageAndAnUnusableHistoryAreToldByTheirCodes() async throws {
        let stage = try await Stage()
        for arguments in [["--receive-maximum", "0"], ["--keep", "ninety"], ["--name", "a b"], ["--share", "team"]] {
            let result = try await stage.recorder(arguments).result(within: .seconds(20))
            #expect(result.code == 64, "\(arguments): \(result.errors)")
        }
        try "this is no database, but text that is long enough to be taken for a header".write(
            toFile: stage.database, atomically: true, encoding: .utf8)
        #expect(try await stage.recorder().result(within: .seconds(20)).code == 66)
        let nobody = try Programs.start(
            "godwit",
            [
                "record", "--broker", "mqtt://127.0.0.1:\(try LoopbackPort.free())", "--fail-fast",
                "--store", "sqlite:\(stage.folder.path())/other.sqlite",
            ])
        #expect(try await nobody.result(within: .seconds(20)).code == 69)
    }
}

/// Mosquitto's own clients, as other people's programs are.
enum MosquittoTool {
    static func publish(_ text: String, to topic: String, on broker: MosquittoProcess) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "godwit-payload-\(UUID().uuidString)")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        try await ChildProcess.run(
            "/usr/bin/env", ["mosquitto_pub", "-p", "\(broker.port)", "-q", "1", "-t", topic, "-f", file.path()])
    }

    /// What stands on a topic; empty when nothing does.
    static func retained(_ topic: String, on broker: MosquittoProcess) async throws -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: "godwit-retained-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let child = try ChildProcess(
            "/usr/bin/env",
            ["mosquitto_sub", "-p", "\(broker.port)", "-t", topic, "-C", "1", "-W", "2", "--retained-only"],
            output: file.path())
        _ = try await child.waitForEnd(within: .seconds(20))
        return (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    }
}
