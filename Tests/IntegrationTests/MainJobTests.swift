import Foundation
import TestSupport
import Testing
import TrackingCore

/// The main use case: the built programs with a real broker.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MainJobTests {
    private func field(_ line: String, _ number: Int) -> String {
        String(line.split(separator: ",", omittingEmptySubsequences: false)[number])
    }

    /// Replays a recording at full speed past a watcher and checks that every fix was seen, once and in order.
    private func replay(_ source: String, count: Int, options: [String] = []) async throws -> [String] {
        let broker = try await MosquittoProcess.start()
        let watch = try Programs.start(
            "godwit", ["watch", "bus", "--broker", broker.url, "--format", "csv", "--skipped"])
        try await watch.wait(within: .seconds(60)) { $0.hasPrefix("trackable,") }
        let agent = try await Programs.run(
            "godwit-agent",
            [
                "run", "--trackable", "bus", "--broker", broker.url, "--source", source, "--speed", "max", "--battery",
                "none",
            ]
                + options)
        #expect(agent.code == 0, "\(agent.errors)")
        try await watch.wait(within: .seconds(60)) { $0.split(separator: "\n").count >= count + 1 }
        watch.terminate()
        let result = try await watch.result(within: .seconds(60))
        #expect(result.code == 0, "\(result.errors)")
        let lines = Array(result.lines.dropFirst())
        #expect(lines.map { self.field($0, 10) } == (1...count).map(String.init))
        return lines
    }

    @Test func everyFixOfARecordingIsSentOrSkippedInOrder() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let points = (0..<500).map { number in
            let time = TimeText(1_700_000_000 + Double(number))
            return "<trkpt lat=\"\(52.0 + Double(number) * 1e-4)\" lon=\"-8.5\"><time>\(time.text)</time></trkpt>"
        }
        let file = folder.appending(path: "track.gpx")
        let text = "<gpx version=\"1.1\"><trk><trkseg>\(points.joined())</trkseg></trk></gpx>"
        try text.write(to: file, atomically: true, encoding: .utf8)
        let lines = try await self.replay("gpx:\(file.path())", count: 500)
        // One fix every 30 s of the fixes' own time is sent by itself, and the first and the last fix always.
        #expect(lines.filter { self.field($0, 11) == "false" }.count == 18)
    }

    @Test(.enabled(if: Programs.tracks != nil, "the shared recordings are absent")) func theLimerickBusArrivesWhole()
        async throws
    {
        let file = try #require(Programs.tracks).appending(path: "limerick_bus/304_to_UL_2019-02-18.gpx")
        _ = try await self.replay("gpx:\(file.path())", count: 2144)
    }

    @Test(.enabled(if: Programs.tracks != nil, "the shared recordings are absent")) func theMunichDriveArrivesWhole()
        async throws
    {
        let file = try #require(Programs.tracks).appending(path: "munich_drive/x0001-001.json")
        let array = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [[String: Any]])
        let features = try array.map { sample in
            let point = try #require(sample["point"] as? String)
            let numbers = point.dropFirst("POINT(".count).dropLast().split(separator: " ")
            let text = try #require(sample["time"] as? String).replacing(" ", with: "T")
            let seconds = try Date(String(text), strategy: .iso8601).timeIntervalSince1970
            return
                "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[\(numbers[0]),\(numbers[1])]},"
                + "\"properties\":{\"time\":\(seconds)}}"
        }
        let copy = FileManager.default.temporaryDirectory.appending(path: "munich-\(UUID().uuidString).jsonl")
        defer { try? FileManager.default.removeItem(at: copy) }
        try features.joined(separator: "\n").write(to: copy, atomically: true, encoding: .utf8)
        _ = try await self.replay("jsonl:\(copy.path())", count: features.count)
    }

    @Test func aWatchersRequestChangesHowOftenTheDeviceSpeaks() async throws {
        let broker = try await MosquittoProcess.start()
        let agent = try Programs.start(
            "godwit-agent",
            ["run", "--trackable", "van-7", "--broker", broker.url, "--source", "simulate:", "--battery", "none"])
        let watch = try await Programs.run(
            "godwit",
            [
                "watch", "van-7", "--broker", broker.url, "--format", "json", "--resolution", "HIGH/200/0", "--count",
                "6",
                "--timeout", "30",
            ])
        #expect(watch.code == 0, "\(watch.output) \(watch.errors)")
        #expect(watch.lines.contains { $0.contains("\"event\":\"state\"") && $0.contains("ONLINE") })
        #expect(
            watch.lines.contains { $0.contains("\"event\":\"resolution\"") && $0.contains("\"desiredInterval\":500") },
            "the default floor limits the request")
        for line in watch.lines { _ = try JSONSerialization.jsonObject(with: Data(line.utf8)) }
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }

    @Test func aBrokerThatIsKilledAndComesBackIsRejoined() async throws {
        let broker = try await MosquittoProcess.start()
        let agent = try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--broker", broker.url, "--source", "simulate:", "--battery", "none",
                "--default-resolution", "HIGH/200/0",
            ])
        let watch = try Programs.start("godwit", ["watch", "van-7", "--broker", broker.url, "--format", "json"])
        /// Returns how often the watcher reported its own state ONLINE. The publisher reports its state as well.
        func online(_ output: String) -> Int {
            output.split(separator: "\n").count {
                $0.hasPrefix("{\"event\":\"state\"") && $0.contains("\"state\":\"ONLINE\"")
            }
        }
        try await watch.wait(within: .seconds(60)) { online($0) > 0 }
        try await broker.kill()
        try await watch.wait(within: .seconds(60)) { $0.contains("\"state\":\"OFFLINE\",\"reason\"") }
        try await broker.restart()
        try await watch.wait(within: .seconds(60)) { online($0) > 1 }
        #expect(!watch.output.contains("FAILED"))
        agent.terminate()
        watch.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        #expect(try await watch.result(within: .seconds(60)).code == 0)
    }

    @Test func garbageOnEveryTopicLeavesTheWatcherAlive() async throws {
        let broker = try await MosquittoProcess.start()
        let watch = try Programs.start(
            "godwit", ["watch", "v", "--broker", broker.url, "--format", "json", "--log-level", "warning"])
        try await watch.wait(within: .seconds(60)) { $0.contains("\"status\":\"ABSENT\"") }
        let payloads = ["garbage", "{}", "[]", "null", "{\"location\":5}", String(repeating: "[", count: 50_000)]
        for topic in ["v", "v/raw", "v/publisher/x", "v/resolution", "v/event", "v/trip", "_clients/x"] {
            for payload in payloads { try await self.publish(payload, to: "tracking/\(topic)", broker) }
        }
        let good =
            "{\"location\":{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[1,2]},\"properties\":{\"time\":5}}}"
        try await self.publish(good, to: "tracking/v", broker)
        try await watch.wait(within: .seconds(60)) { $0.contains("\"event\":\"location\"") }
        watch.terminate()
        let result = try await watch.result(within: .seconds(60))
        #expect(result.code == 0)
        #expect(result.errors.contains("message skipped"))
    }

    private func publish(_ payload: String, to topic: String, _ broker: MosquittoProcess) async throws {
        try await ChildProcess.run(
            "/usr/bin/mosquitto_pub", ["-p", "\(broker.port)", "-q", "1", "-t", topic, "-m", payload])
    }

    // MARK: - Exit codes

    private static let wrongCalls: [(arguments: [String], code: Int32)] = [
        (["run"], 64), (["run", "--trackable", "a"], 64), (["run", "--trackable", "a", "--source", "x:"], 64),
        (["run", "--trackable", "a", "--trackable", "b", "--floor", "HIGH/1/1", "--source", "simulate:"], 64),
        (["run", "--trackable", "a", "--source", "simulate:", "--config", "/nonexistent.yaml"], 66),
        (["run", "--trackable", "a", "--source", "gpx:/nonexistent.gpx", "--broker", "mqtt://127.0.0.1:1"], 66),
        (["run", "--trackable", "a", "--source", "simulate:", "--fail-fast", "--broker", "mqtt://127.0.0.1:1"], 69),
    ]

    @Test(arguments: wrongCalls)
    func theAgentsExitCodeIdentifiesTheFailure(arguments: [String], code: Int32) async throws {
        let result = try await Programs.run("godwit-agent", arguments)
        #expect(result.code == code, "\(result.errors)")
        #expect(!result.errors.isEmpty)
    }

    private static let outOfRange: [(program: String, arguments: [String], message: String)] = [
        ("godwit-agent", ["run", "--trackable", "a", "--source", "simulate:", "--speed", "-1"], "0.001 to 1000000"),
        (
            "godwit-agent", ["run", "--trackable", "a", "--source", "simulate:", "--maximum-silence", "-1"],
            "0 to 1000000000 seconds"
        ),
        ("godwit", ["watch", "a", "--count", "-1"], "1 or more"),
        ("godwit", ["watch", "a", "--timeout", "-1"], "above 0 and below 1e9 seconds"),
        ("godwit", ["watch", "a", "--cert", "/nonexistent.crt"], "--cert and --key must be given together"),
    ]

    @Test(arguments: outOfRange)
    func theErrorForAValueOutOfRangeNamesTheRange(program: String, arguments: [String], message: String) async throws {
        let result = try await Programs.run(program, arguments)
        #expect(result.code == 64 && result.errors.contains(message), "\(result.errors)")
    }

    @Test func aRefusalByTheBrokerIs77() async throws {
        let broker = try await MosquittoProcess.start { port, folder in
            let passwords = folder.appending(path: "passwords")
            try "".write(to: passwords, atomically: true, encoding: .utf8)
            return "listener \(port) 127.0.0.1\nallow_anonymous false\npassword_file \(passwords.path())"
        }
        let url = "mqtt://me:secret@127.0.0.1:\(broker.port)"
        let watch = try await Programs.run("godwit", ["watch", "v", "--broker", url])
        #expect(watch.code == 77, "\(watch.errors)")
        #expect(!watch.errors.contains("secret"))
        let agent = try await Programs.run(
            "godwit-agent", ["run", "--trackable", "v", "--source", "simulate:", "--fail-fast", "--broker", url])
        #expect(agent.code == 77, "\(agent.errors)")
    }
}

/// RFC 3339 in UTC.
private struct TimeText {
    let text: String
    init(_ seconds: Double) { self.text = Date(timeIntervalSince1970: seconds).ISO8601Format() }
}
