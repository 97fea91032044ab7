import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingRuntime
import TrackingMQTT
import TrackingStore

/// `godwit record` as a user runs it: real Mosquitto, the built agent, and the final content of the history.
///
/// `GODWIT_DRILL_KILLS`: how often a program is killed; a larger number makes the drill longer.
@Suite(.serialized, .timeLimit(.minutes(60))) struct RecordTests {
    private static let kills = Int(ProcessInfo.processInfo.environment["GODWIT_DRILL_KILLS"] ?? "") ?? 9

    @Test func aDriveIsStoredOnceAndLeavesTheDevice() async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let agent = try stage.agent(fixes: 2_000, speed: "1000")
        let result = try await agent.result(within: .seconds(60))
        #expect(result.code == 0, "\(result.errors.suffix(2000))")
        let written = agent.loggedRecords
        #expect(written.count == 2_000)
        try await stage.waitUntilStored(written)
        #expect(try await stage.stored().count == 2_000)
        #expect(try await stage.report().isComplete)
        // The device keeps no record that the recorder has acknowledged.
        try await waitUntil {
            try await MosquittoTool.retained("tracking/van/ack/keeper", on: stage.broker).contains("2000")
        }
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(60)).code == 0, "\(recorder.errors.suffix(2000))")
        #expect(try await MosquittoTool.retained("tracking/_clients/keeper", on: stage.broker).contains("offline"))
    }

    @Test func acceptedRecordsSurviveEveryKill() async throws {
        let stage = try await RecordStage()
        var recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        var written: Set<TestRecorder.Name> = []
        for number in 0..<Self.kills {
            let agent = try stage.agent(fixes: 40_000, speed: "20")
            let enough = Int.random(in: 5...60)
            try await agent.wait { _ in agent.loggedRecords.count >= enough }
            switch number % 3 {
            case 0:
                recorder.signal(SIGKILL)
                _ = try await recorder.result(within: .seconds(60))
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...300)))
                recorder = try stage.recorder()
            case 1:
                // This broker saves nothing on disk: its messages are lost when it is killed.
                try await stage.broker.kill()
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...300)))
                try await stage.broker.restart()
            default: break
            }
            let more = agent.loggedRecords.count + Int.random(in: 1...40)
            try await agent.wait { _ in agent.loggedRecords.count >= more }
            agent.signal(SIGKILL)
            _ = try await agent.result(within: .seconds(60))
            written.formUnion(agent.loggedRecords)
        }
        let last = try stage.agent(fixes: 40_000, speed: "20")
        try await last.wait { _ in !last.loggedRecords.isEmpty }
        try await stage.waitUntilStored(written)
        last.terminate()
        #expect(try await last.result(within: .seconds(60)).code == 0, "\(last.errors.suffix(2000))")
        written.formUnion(last.loggedRecords)
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(60)).code == 0, "\(recorder.errors.suffix(2000))")
    }

    /// Messages of another program's publisher: the broker's acknowledgement has to wait for the commit.
    @Test func aStrangersPositionsAreStoredOnceThoughTheRecorderIsKilled() async throws {
        let stage = try await RecordStage()
        var recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
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
                        // The pace of the load.
                        if index % 20 == 19 { try await Task.sleep(for: .milliseconds(10)) }
                    }
                }
            }
            for _ in 0..<4 {
                try await Task.sleep(for: .milliseconds(Int.random(in: 50...500)))
                recorder.signal(SIGKILL)
                _ = try await recorder.result(within: .seconds(60))
                recorder = try stage.recorder()
            }
            try await group.next()
            let deadline = ContinuousClock.now + .seconds(60)
            while try await stage.report().points < count, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(100))
            }
            group.cancelAll()
        }
        #expect(try await stage.report().points == count)
        #expect(try await stage.report().unnumbered == count)
        // The one before may have stored the last point: whoever is ended while its program loads ends by the signal.
        try await recorder.waitForLog("Recorder is storing messages")
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(60)).code == 0, "\(recorder.errors.suffix(2000))")
    }

    @Test func unreadableMessagesAreQuarantinedAndOthersStored() async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
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
        #expect(try await recorder.result(within: .seconds(60)).code == 0)
    }

    /// An agent whose log is in memory ends only after the recorder has stored every record.
    @Test func theEndOfARecordingWaitsForTheRecorder() async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let agent = try stage.agent(fixes: 3_000, speed: "max", ["--spool", "memory"])
        #expect(try await agent.result(within: .seconds(60)).code == 0, "\(agent.errors.suffix(2000))")
        #expect(try await stage.stored().isSuperset(of: agent.loggedRecords))
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(60)).code == 0)
    }

    @Test func theEndOfARecordingWithoutARecorderIsAnError() async throws {
        let stage = try await RecordStage()
        let agent = try stage.agent(fixes: 50, speed: "max")
        let result = try await agent.result(within: .seconds(120))
        #expect(result.code == 69)
        #expect(
            result.errors.contains("the recorders of --acknowledge-by (keeper) have not acknowledged every record"),
            "\(result.errors.suffix(2000))")
    }

    @Test func aStoreThatIsAwayIsWaitedFor() async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let first = try stage.agent(fixes: 1_200, speed: "20")
        try await first.wait { _ in first.loggedRecords.count >= 20 }
        try await stage.waitUntilStored(first.loggedRecords)
        // Another program holds the database, with the same effect as a full disk.
        let lock = try ChildProcess(
            "/usr/bin/env",
            // The recorder may be in the middle of a commit.
            ["sqlite3", stage.database, ".timeout 20000", "BEGIN IMMEDIATE; SELECT 1;", ".shell sleep 12"],
            output: stage.folder.appending(path: "lock").path())
        try await recorder.waitForLog("History is unavailable", within: .seconds(60))
        try await lock.waitForEnd(within: .seconds(60))
        try await recorder.waitForLog("History is available again", within: .seconds(60))
        #expect(try await first.result(within: .seconds(120)).code == 0, "\(first.errors.suffix(2000))")
        try await stage.waitUntilStored(first.loggedRecords)
        #expect(try await stage.report().isComplete)
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(60)).code == 0)
    }

    /// A message that arrives after the file was removed is not acknowledged: the broker keeps it for the next
    /// recorder.
    @Test func removingTheFileLosesNoLaterRecord() async throws {
        let stage = try await RecordStage()
        func publish(_ seqs: ClosedRange<Int>) async throws {
            let lines = seqs.map { seq in
                "{\"location\":{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[-8.5,52]},"
                    + "\"properties\":{\"time\":\(1_700_000_000 + seq),\"seq\":\(seq),\"stream\":\"one\"}},"
                    + "\"skippedLocations\":[],\"type\":\"ACTUAL\"}"
            }
            try await MosquittoTool.publish(
                lines.joined(separator: "\n"), to: "tracking/van", isLines: true, on: stage.broker)
        }
        let names = try (6...15).map { TestRecorder.Name(stream: try #require(StreamID("one")), seq: $0) }
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        try await publish(1...5)
        for file in try FileManager.default.contentsOfDirectory(atPath: stage.folder.path())
        where file.hasPrefix("history.sqlite") {
            try FileManager.default.removeItem(at: stage.folder.appending(path: file))
        }
        try await publish(6...15)
        try await recorder.waitForLog("was removed or replaced while the history was open")
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(60)).code == 0)
        let next = try stage.recorder()
        try await next.waitForLog("Recorder is storing messages")
        try await stage.waitUntilStored(Set(names))
        try await stage.end(next)
    }

    /// A server that is absent at the start is waited for as well. Ending at once requires --fail-fast.
    @Test func aServerThatComesLaterIsWaitedFor() async throws {
        let server = try await PostgresServer.start()
        let stage = try await RecordStage(store: try await server.makeDatabase())
        try await server.kill()
        let hasty = try stage.recorder(["--fail-fast"])
        #expect(try await hasty.result(within: .seconds(60)).code == 66, "\(hasty.errors)")
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder could not open the history to store records")
        try await server.restart()
        try await recorder.waitForLog("Recorder is storing messages", within: .seconds(60))
        let agent = try stage.agent(fixes: 40, speed: "1000")
        #expect(try await agent.result(within: .seconds(60)).code == 0, "\(agent.errors.suffix(2000))")
        try await stage.waitUntilStored(agent.loggedRecords)
        try await stage.end(recorder)
    }

    @Test func recordersShareTheWorkAndAPostgres() async throws {
        let stage = try await RecordStage()
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        func recorder(_ name: String) throws -> RunningProgram {
            try Programs.start(
                "godwit",
                [
                    "record", "--broker", stage.broker.url, "--name", name, "--share", "team", "--store", address,
                    "--log-level", "trace",
                ], environment: ["GODWIT_SHARE_SECRET": Self.shareSecret])
        }
        var first = try recorder("one")
        try await first.waitForLog("Recorder is storing messages")
        let second = try recorder("two")
        try await second.waitForLog("Recorder is storing messages")
        let agent = try stage.agent(fixes: 3_000, speed: "200", ["--acknowledge-by", "team"])
        try await agent.wait { _ in agent.loggedRecords.count >= 300 }
        first.signal(SIGKILL)
        _ = try await first.result(within: .seconds(60))
        first = try recorder("one")
        #expect(try await agent.result(within: .seconds(90)).code == 0, "\(agent.errors.suffix(2000))")
        let store = try await PostgresHistoryStore(address: address)
        let deadline = ContinuousClock.now + .seconds(60)
        var report = try #require(try await store.verify(stage.van))
        while !(report.points == 3_000 && report.isComplete), ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(100))
            report = try #require(try await store.verify(stage.van))
        }
        try await store.close()
        #expect(report.points == 3_000)
        #expect(report.isComplete)
        // The lower of two simultaneous acknowledgements may arrive last. The next batch would correct it.
        #expect(try await MosquittoTool.retained("tracking/van/ack/team", on: stage.broker).contains("streams"))
        for recorder in [first, second] {
            recorder.terminate()
            let result = try await recorder.result(within: .seconds(60))
            #expect(result.code == 0, "\(result.errors.suffix(2000))")
            #expect(!result.errors.contains(Self.shareSecret))
        }
        // The subscription contains the secret, and not the public name of the group.
        #expect(stage.broker.log.contains("$share/\(Self.shareSecret)/tracking/+/history"))
        #expect(!stage.broker.log.contains("$share/team/"))
    }

    private static let shareSecret = "c0ffee00c0ffee00"

    /// Any user of the broker could join a group that needs only its public name.
    @Test(arguments: [nil, "short", "team", "0123456789/abcdef"]) func aGroupNeedsASecret(secret: String?) async throws
    {
        let environment = secret.map { ["GODWIT_SHARE_SECRET": $0] } ?? [:]
        let result = try await Programs.run(
            "godwit", ["record", "--share", "team", "--store", "postgres://me@127.0.0.1/tracks"],
            environment: environment)
        #expect(result.code == 64 && result.errors.contains("secret"), "\(result.errors)")
        if let secret, secret != "team" { #expect(!result.errors.contains(secret)) }
    }

    /// Points that are too old are deleted at the start, not stored again when they are repeated, and not reported as
    /// missing.
    @Test func oldPointsAreDeletedByTheRuleOfTheirTrackable() async throws {
        let stage = try await RecordStage()
        var recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let agent = try stage.agent(fixes: 50, speed: "1000")
        #expect(try await agent.result(within: .seconds(60)).code == 0, "\(agent.errors.suffix(2000))")
        try await stage.waitUntilStored(agent.loggedRecords)
        let old = """
            {"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.5,52.5]},"properties":\
            {"time":1700000000,"stream":"s1","seq":1}},"skippedLocations":[],"type":"ACTUAL"}
            """
        for id in ["bus", "tram"] { try await MosquittoTool.publish(old, to: "tracking/\(id)", on: stage.broker) }
        let (bus, tram) = (try TrackableID("bus"), try TrackableID("tram"))
        func points(_ id: TrackableID) async throws -> Int? {
            try await stage.withStore { try await $0.verify(id)?.points }
        }
        func wait(_ id: TrackableID, for count: Int) async throws {
            let deadline = ContinuousClock.now + .seconds(60)
            while try await points(id) != count, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(try await points(id) == count, "\(id)")
        }
        try await wait(tram, for: 1)
        try await stage.end(recorder)

        recorder = try stage.recorder(["--keep", "30d", "--keep", "bus=36500d", "--keep", "tram=45s"])
        try await recorder.waitForLog("Recorder is storing messages")
        for (id, count) in [(stage.van, 0), (tram, 0), (bus, 1)] { try await wait(id, for: count) }
        for id in ["van", "bus", "tram"] {
            let verified = try await Programs.run("godwit", ["verify", id, "--store", stage.address])
            #expect(verified.code == 0 && verified.output.hasSuffix("complete\n"), "\(verified.output)")
        }
        let history = try await Programs.run("godwit", ["history", "van", "--store", stage.address])
        #expect(history.code == 1 && history.output.isEmpty, "\(history.output)")
        // A repeated point is known although it was deleted. The next point is new, but also too old.
        try await MosquittoTool.publish(old, to: "tracking/tram", on: stage.broker)
        let fresh = old.replacing("1700000000", with: "\(Int(Date().timeIntervalSince1970))")
            .replacing("\"seq\":1", with: "\"seq\":2")
        try await MosquittoTool.publish(fresh, to: "tracking/tram", on: stage.broker)
        try await wait(tram, for: 1)
        try await stage.end(recorder)
    }

    /// On a machine whose unverified clock starts twenty years ahead, no recorded point is too old.
    @Test(.enabled(if: !SystemClockTrust.isSynchronized, "this machine's clock is vouched for"))
    func aClockThatIsAheadRemovesNothing() async throws {
        let libraries = ["x86_64", "aarch64"].map { "/usr/lib/\($0)-linux-gnu/faketime/libfaketimeMT.so.1" }
        guard let library = libraries.first(where: { FileManager.default.fileExists(atPath: $0) }) else {
            throw TestSupportError("libfaketime is missing: scripts/setup installs what the tests need")
        }
        let stage = try await RecordStage()
        var recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let now = Int(Date().timeIntervalSince1970)
        for (seq, time) in [now - 90 * 86_400, now].enumerated() {
            let text = """
                {"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.5,52.5]},"properties":\
                {"time":\(time),"stream":"s1","seq":\(seq + 1)}},"skippedLocations":[],"type":"ACTUAL"}
                """
            try await MosquittoTool.publish(text, to: "tracking/van", on: stage.broker)
        }
        try await stage.waitUntilStored(
            Set([1, 2].map { TestRecorder.Name(stream: StreamID("s1")!, seq: $0) }))  // a valid name
        try await stage.end(recorder)
        // Started through another program: libfaketime moves the environment of the first program.
        recorder = try RunningProgram(
            executable: URL(filePath: "/usr/bin/env"),
            arguments: [
                Programs.root.appending(path: ".build/debug/godwit").path(), "record", "--broker", stage.broker.url,
                "--name", "keeper", "--store", stage.address, "--log-level", "info", "--keep", "30d",
            ],
            environment: [
                "LD_PRELOAD": library, "FAKETIME": "+20y", "DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            ], input: "/dev/null")
        try await recorder.waitForLog("Expired records were removed")
        try await recorder.waitForLog(
            "System clock is not synchronised and is ahead of the newest record")
        #expect(try await stage.stored().map(\.seq) == [2])
        try await stage.end(recorder)
    }

    /// A broker that lost the recorder's session: records may be missing without a gap in the numbers.
    @Test func aSessionThatTheBrokerForgotIsShown() async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let agent = try stage.agent(fixes: 20, speed: "1000")
        #expect(try await agent.result(within: .seconds(60)).code == 0, "\(agent.errors.suffix(2000))")
        try await stage.waitUntilStored(agent.loggedRecords)
        #expect(try await !stage.verify().output.contains("possible gap"))
        // The broker saves nothing on disk.
        try await stage.broker.restart()
        try await recorder.waitForLog("Broker kept no session for this recorder")
        let deadline = ContinuousClock.now + .seconds(60)
        while try await stage.report().possibleGaps.isEmpty, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(50))
        }
        let verified = try await stage.verify()
        #expect(verified.code == 0 && verified.output.contains("\npossible gap before "), "\(verified.output)")
        let json = try await Programs.run("godwit", ["verify", "van", "--store", stage.address, "--format", "json"])
        #expect(json.output.contains("\"possibleGaps\":[1"), "\(json.output)")
        try await stage.end(recorder)
    }

    /// Two recorded drives, a current drive, and a running recorder: each point appears once, by time, without a gap.
    @Test func aWatcherGetsTheHistoryAndThenWhatIsLive() async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let agents = try ["van", "bus"].map { id in
            try Programs.start(
                "godwit-agent",
                [
                    "run", "--trackable", id, "--client-id", "box-\(id)", "--broker", stage.broker.url, "--source",
                    "simulate:", "--speed", "10", "--battery", "none", "--default-resolution", "HIGH/300/0",
                    "--batch-window", "1", "--acknowledge-by", "keeper", "--spool", "memory",
                ])
        }
        let bus = try TrackableID("bus")
        func recorded() async throws -> Int {
            try await stage.withStore { store in
                let van = try await store.verify(stage.van)?.points ?? 0
                return min(van, try await store.verify(bus)?.points ?? 0)
            }
        }
        let deadline = ContinuousClock.now + .seconds(60)
        while try await recorded() < 8, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(100)) }
        let watch = try Programs.start(
            "godwit",
            [
                "watch", "van", "bus", "--broker", stage.broker.url, "--format", "csv", "--skipped", "--since", "10m",
                "--store", stage.address,
            ])
        try await watch.wait(within: .seconds(60)) { $0.split(separator: "\n").count > 80 }
        watch.terminate()
        let result = try await watch.result(within: .seconds(60))
        #expect(result.code == 0, "\(result.errors)")
        let rows = result.lines.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        let header = try #require(rows.first)
        let (id, time) = (try #require(header.firstIndex(of: "trackable")), try #require(header.firstIndex(of: "time")))
        let (seq, event) = (try #require(header.firstIndex(of: "seq")), try #require(header.firstIndex(of: "event")))
        let points = rows.dropFirst().filter { $0[event] == "location" && !$0[seq].isEmpty }
        for name in ["van", "bus"] {
            let seqs = points.filter { $0[id] == name }.compactMap { UInt64($0[seq]) }.sorted()
            #expect(seqs.first == 1 && seqs.count > 10 && Set(seqs).count == seqs.count, "none twice: \(seqs)")
            #expect(zip(seqs, seqs.dropFirst()).allSatisfy { $1 == $0 + 1 }, "none is missing: \(seqs)")
        }
        // The recorded points of both drives, by time.
        let first = points.prefix(14)
        #expect(Set(first.map { $0[id] }).count == 2)
        #expect(first.map { $0[time] } == first.map { $0[time] }.sorted())
        for agent in agents { agent.terminate() }
        for agent in agents { _ = try await agent.result(within: .seconds(60)) }
        try await stage.end(recorder)
    }

    @Test func wrongUsageAndAnUnusableHistoryHaveTheirOwnExitCodes() async throws {
        let stage = try await RecordStage()
        for arguments in [
            ["--receive-maximum", "0"], ["--keep", "ninety"], ["--keep", "1d", "--keep", "2d"], ["--name", "a b"],
            ["--share", "team"],
        ] {
            let result = try await stage.recorder(arguments).result(within: .seconds(60))
            #expect(result.code == 64, "\(arguments): \(result.errors)")
        }
        try "this is no database, but text that is long enough to be taken for a header".write(
            toFile: stage.database, atomically: true, encoding: .utf8)
        #expect(try await stage.recorder().result(within: .seconds(60)).code == 66)
        let nobody = try Programs.start(
            "godwit",
            [
                "record", "--broker", "mqtt://127.0.0.1:\(try LoopbackPort.free())", "--fail-fast",
                "--store", "sqlite:\(stage.folder.path())/other.sqlite",
            ])
        #expect(try await nobody.result(within: .seconds(60)).code == 69)
    }
}
