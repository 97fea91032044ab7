import Foundation
import TestSupport
import Testing

/// The effects of the agent's sending options on positions and events, from its input to its messages.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SendingOptionsTests {
    /// A broker, a client that receives its messages, and a temporary folder.
    private final class Stage: Sendable {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-sending-\(UUID().uuidString)")
        let broker: MosquittoProcess
        let tap: WireTap

        init() async throws {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
            self.broker = try await MosquittoProcess.start()
            self.tap = try await WireTap.listen(to: self.broker)
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func file(_ name: String, _ text: String) throws -> String {
            let file = self.folder.appending(path: name)
            try text.write(to: file, atomically: true, encoding: .utf8)
            return file.path()
        }

        /// Starts an agent that reads every fix and requests no other resolution.
        func agent(
            _ more: [String], environment: [String: String] = [:], input: String = "/dev/null"
        ) throws -> RunningProgram {
            try Programs.start(
                "godwit-agent",
                [
                    "run", "--trackable", "van", "--broker", self.broker.url, "--default-resolution", "HIGH/0/0",
                    "--sensor-resolution", "HIGH/0/0",
                ] + (more.contains("--battery") ? more : more + ["--battery", "none"]),
                environment: environment, input: input)
        }
    }

    /// A drive northward with one fix a second, at `steps(second)` times 20 m, and with the further properties `more`.
    private func way(
        _ count: Int, steps: (Int) -> Int = { $0 }, more: (Int) -> String = { _ in "" }
    ) -> String {
        (0..<count).map { second in
            "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":"
                + "[18.4,\(52 + Double(steps(second)) * 20 / 111_195)]},"
                + "\"properties\":{\"time\":\(1_700_000_000 + second)\(more(second))}}"
        }.joined(separator: "\n") + "\n"
    }

    /// The numbers that the agent has logged as written.
    private func logged(_ agent: RunningProgram) -> Set<Int> { Set(agent.loggedRecords.map { Int($0.seq) }) }

    /// The numbers of all points that arrived on either lane.
    private func arrived(_ tap: WireTap) -> Set<Int> {
        Set(tap.points(of: "van").compactMap(WireTap.seq))
    }

    // MARK: - When

    @Test func sendingWaitsForTheWayAndRecordingDoesNot() async throws {
        let stage = try await Stage()
        let drive = try stage.file("drive.jsonl", self.way(120))
        let agent = try stage.agent([
            "--source", "jsonl:\(drive)", "--speed", "20", "--defer", "490", "--batch-window", "0.1",
        ])
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        try await stage.tap.wait { self.arrived($0) == Set(1...120) }
        let updates = stage.tap.updates(of: "van").map(\.seq)
        // 25 fixes are 500 m, and the last position is sent at the end. With a slow broker, a newer position replaces
        // an older one.
        #expect((2...7).contains(updates.count) && updates.last == 120, "\(updates)")
        for (number, seq) in updates.dropLast().enumerated() { #expect(seq >= number * 25, "\(updates)") }
    }

    @Test func deferredRecordsAreInTheLogAtOnceAndSentAtTheEnd() async throws {
        let stage = try await Stage()
        let drive = try stage.file("drive.jsonl", self.way(4_000))
        let agent = try stage.agent([
            "--source", "jsonl:\(drive)", "--speed", "20", "--defer", "1000000", "--batch-window", "0.1",
            "--log-level", "trace",
        ])
        // The records before the connection are sent, and no others.
        try await stage.tap.wait { !$0.updates(of: "van").isEmpty }
        let before = self.logged(agent).count
        try await agent.wait { _ in self.logged(agent).count >= before + 120 }
        #expect(stage.tap.updates(of: "van").count == 1)
        #expect(self.arrived(stage.tap).allSatisfy { $0 <= before + 60 }, "\(before) \(self.arrived(stage.tap))")
        #expect(try await agent.end().code == 0)
        try await stage.tap.wait { self.arrived($0).isSuperset(of: self.logged(agent)) }
    }

    @Test func withoutTheLiveLaneBatchesBringEverything() async throws {
        let stage = try await Stage()
        let watch = try Programs.start("godwit", ["watch", "--broker", stage.broker.url, "--format", "json", "van"])
        try await watch.wait { $0.contains(#""status":"ABSENT""#) }
        let drive = try stage.file("drive.jsonl", self.way(120))
        let agent = try stage.agent([
            "--source", "jsonl:\(drive)", "--speed", "20", "--live", "off", "--batch-window", "0.5",
            "--automatic-trips", "car", "--pause-after", "20",
        ])
        try await watch.wait(within: .seconds(60)) { $0.contains(#""state":"ONLINE""#) }
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        try await stage.tap.wait { Set($0.batched(of: "van").compactMap(WireTap.seq)).count == 120 }
        #expect(stage.tap.messages(on: "van").isEmpty)
        #expect(stage.tap.messages(on: "van/trip").isEmpty)
        let states = stage.tap.messages(on: "van/resolution").compactMap { $0.json["state"] as? String }
        #expect(states.contains("ONLINE"), "\(states)")
        #expect(stage.tap.messages(on: "van/resolution").allSatisfy { $0.json["maximumSilence"] as? Int == 0 })
        #expect(!watch.output.contains(#""event":"location""#))
        // Events have no place, not even in batches: the place of an event would be published live.
        #expect(!stage.tap.messages(on: "van/event").contains { $0.json["location"] != nil })
        try await watch.end()
    }

    @Test func withoutAWindowNothingGoesByItself() async throws {
        let stage = try await Stage()
        let drive = try stage.file("drive.jsonl", self.way(60))
        let agent = try stage.agent([
            "--source", "jsonl:\(drive)", "--speed", "20", "--batch-window", "off", "--tracking-stats",
            "--log-level", "trace",
        ])
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        // 60 points, STARTED and STOPPING.
        #expect(self.logged(agent) == Set(1...62))
        // The presence was published and cleared.
        try await stage.tap.wait { tap in
            tap.messages.last { $0.topic.hasPrefix("tracking/van/publisher/") }?.payload == ""
        }
        for topic in ["van", "van/event", "van/trip", "van/history"] {
            #expect(stage.tap.messages(on: topic).isEmpty, "\(topic)")
        }
    }

    @Test func rawPositionsWithoutALiveLaneAreAContradiction() async throws {
        let result = try await Programs.run(
            "godwit-agent", ["run", "--trackable", "van", "--source", "simulate:", "--raw", "--live", "off"])
        #expect(result.code == 64 && result.errors.contains("--live off"), "\(result.errors)")
    }

    // MARK: - Which

    private static func isMock(_ feature: [String: Any]) -> Bool {
        Self.extra(feature)["mock"] as? Bool == true
    }

    @Test(arguments: ["mark", "reject"]) func mockPositionsAreMarkedOrRejected(policy: String) async throws {
        let stage = try await Stage()
        let text = self.way(30, more: { $0 % 3 == 0 ? #","extra":{"mock":true,"of":"me"}"# : "" })
        let input = try stage.file("drive.jsonl", text)
        let agent = try stage.agent(["--source", "jsonl:-", "--mock", policy], input: input)
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        try await stage.tap.wait { self.arrived($0).count == (policy == "mark" ? 30 : 20) }
        // A live receiver's positions as well: this receiver reports that its data is simulated.
        let receiver = try LineServer(welcome: "")
        let nmea = try stage.agent([
            "--trackable", "sim", "--source", "nmea:tcp://127.0.0.1:\(receiver.port)", "--mock", policy,
            "--tracking-stats", "--default-resolution", "HIGH/0/0",
        ])
        try await stage.tap.wait { !$0.events("STARTED", of: "sim").isEmpty && receiver.openConnections == 1 }
        for second in 0..<5 {
            let fix = Fix.invented(second, start: Fix.recently)
            receiver.send(fix.sentences.replacing(",1,09,", with: ",8,09,").withChecksums)
        }
        receiver.send(Fix.invented(9, start: Fix.recently).sentences)
        receiver.send(Fix.invented(10, start: Fix.recently).sentences)
        try await stage.tap.wait { $0.points(of: "sim").contains { !Self.isMock($0) } }
        #expect(stage.tap.points(of: "sim").contains(where: Self.isMock) == (policy == "mark"))
        try await nmea.end()
    }

    @Test(arguments: [
        ("only", [], [1, 26, 51, 76, 101]),
        ("200", ["--minimum-time", "60"], Array(stride(from: 1, through: 120, by: 10))),
    ])
    func significantChangesAreRecorded(value: String, more: [String], expected: [Int]) async throws {
        let stage = try await Stage()
        let input = try stage.file("drive.jsonl", self.way(120))
        // A little more than the step: rounding makes 200 m smaller.
        let agent = try stage.agent(
            ["--source", "jsonl:-", "--significant-change", value == "only" ? value : "199"] + more, input: input)
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        try await stage.tap.wait { self.arrived($0).count == expected.count }
        let times = stage.tap.points(of: "van").compactMap { WireTap.properties($0)["time"] as? Double }
        #expect(Set(times.map { Int($0) - 1_700_000_000 + 1 }) == Set(expected))
    }

    @Test func aPauseIsPublishedAndNotRecorded() async throws {
        let stage = try await Stage()
        // 30 s of driving, four minutes in a traffic jam, 30 s of driving.
        let input = try stage.file("drive.jsonl", self.way(300, steps: { min($0, 30) + max(0, $0 - 270) }))
        let agent = try stage.agent(
            ["--source", "jsonl:-", "--pause", "on", "--pause-after", "60", "--visits"], input: input)
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        let kinds = ["PAUSED", "RESUMED", "VISIT"]
        try await stage.tap.wait { tap in kinds.allSatisfy { !tap.events($0, of: "van").isEmpty } }
        for kind in kinds { #expect(stage.tap.events(kind, of: "van").count == 1, "\(kind)") }
        try await stage.tap.wait { tap in
            tap.points(of: "van").contains { WireTap.properties($0)["time"] as? Int == 1_700_000_299 }
        }
        let points = stage.tap.points(of: "van")
        let seconds = points.compactMap { WireTap.properties($0)["time"] as? Int }.map { $0 - 1_700_000_000 }
        #expect(!seconds.contains { (95..<270).contains($0) })
        #expect((0..<80).allSatisfy(seconds.contains))
    }

    @Test func statisticsAreIncludedAndTheAgentsStartAndStopArePublished() async throws {
        let stage = try await Stage()
        let input = try stage.file("drive.jsonl", self.way(5))
        let agent = try stage.agent(
            [
                "--source", "jsonl:-", "--tracking-stats", "--activity", "automotive", "--desired-accuracy", "100",
                "--pause", "on", "--significant-change", "700", "--defer", "30",
            ], input: input)
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        try await stage.tap.wait { !$0.events("STOPPING", of: "van").isEmpty && self.arrived($0).count == 5 }
        #expect(stage.tap.events("STARTED", of: "van").count == 1)
        #expect(stage.tap.events("STOPPING", of: "van").count == 1)
        let point = try #require(stage.tap.messages(on: "van").first?.json["location"])
        let extra = WireTap.properties(point)["extra"] as? [String: Any] ?? [:]
        #expect(
            Set(extra.keys) == [
                "pauses", "activity", "desired_accuracy", "deferred", "significant_change", "locations_in_payload",
            ])
        #expect(extra["pauses"] as? Bool == true && extra["activity"] as? String == "automotive_navigation")
        #expect(extra["desired_accuracy"] as? Int == 100 && extra["deferred"] as? Int == 30)
        #expect(extra["significant_change"] as? String == "enabled")
        for message in stage.tap.messages(on: "van") {
            let skipped = message.json["skippedLocations"] as? [[String: Any]] ?? []
            let points = [message.json["location"] as? [String: Any] ?? [:]] + skipped
            let extras = points.map { WireTap.properties($0)["extra"] as? [String: Any] }
            #expect(extras.allSatisfy { $0?["locations_in_payload"] as? Int == points.count }, "\(extras)")
        }
    }

    @Test(arguments: [["--low-battery", "20"], ["--resolution", "HIGH/100/0", "--battery-threshold", "20"]])
    func aLowBatteryIsPublishedOncePerCrossing(threshold: [String]) async throws {
        let stage = try await Stage()
        let battery = try stage.file("battery", "50\n")
        let agent = try stage.agent(["--source", "simulate:", "--battery", "file:\(battery)"] + threshold)
        // 19.5 at first, then back and forth, well above, and below again.
        for (percent, count) in [(50, 0), (19, 1), (22, 1), (18, 1), (23, 1), (19, 2)] {
            _ = try stage.file("battery", "\(percent)\n")
            try await stage.tap.wait(within: .seconds(60)) { tap in
                let level = tap.messages(on: "van").last.map { WireTap.properties($0.json["location"])["batteryLevel"] }
                return (level as? Double).map { ($0 * 100).rounded() } == Double(percent)
            }
            try await stage.tap.wait { $0.events("LOW_BATTERY", of: "van").count >= count }
            #expect(stage.tap.events("LOW_BATTERY", of: "van").count == count, "at \(percent)")
        }
        #expect(try await agent.end().code == 0)
    }

    // MARK: - A clock that is not set

    /// The agent's clock starts in 1970. Its receiver knows the date, but not at once.
    @Test func aDeviceThatBootedIn1970NumbersAndHasTheReceiversTime() async throws {
        let stage = try await Stage()
        let receiver = try LineServer(welcome: "")
        // Started through `env`: libfaketime moves the environment of the first program, and Swift looks for its
        // arguments in front of it.
        let agent = try RunningProgram(
            "/usr/bin/env",
            [
                Programs.root.appending(path: ".build/debug/godwit-agent").path(), "run", "--trackable", "van",
                "--broker", stage.broker.url, "--source", "nmea:tcp://127.0.0.1:\(receiver.port)",
                "--default-resolution", "HIGH/0/0", "--battery", "none", "--tracking-stats", "--batch-size", "1",
            ], environment: try Self.environment(at: "@1970-01-01 00:05:00"))
        try await stage.tap.wait { tap in
            !tap.events("STARTED", of: "van").isEmpty && receiver.openConnections == 1
        }
        // GGA alone gives a time of day without a date. Such a point is not a live position and is sent in a batch.
        let start = Fix.recently / 86_400 * 86_400 + 43_200
        let dateless = Fix.invented(0, start: start).sentences.split(separator: "\r\n")[1] + "\r\n"
        receiver.send(String(dateless))
        try await stage.tap.wait { $0.points(of: "van").count >= 1 }
        for number in 1...3 { receiver.send(Fix.invented(number, start: start).sentences) }
        // The next epoch completes the one before.
        receiver.send(Fix.invented(4, start: start).sentences)
        try await stage.tap.wait { tap in
            tap.points(of: "van").contains { WireTap.properties($0)["time"] as? Int == start + 3 }
        }
        receiver.stop()
        try await stage.tap.wait { !$0.events("SOURCE_LOST", of: "van").isEmpty }
        #expect(try await agent.end().code == 0)
        try await stage.tap.wait { !$0.events("STOPPING", of: "van").isEmpty }

        let started = try #require(stage.tap.events("STARTED", of: "van").first)
        #expect((started["detail"] as? [String: Any])?["clock"] as? String == "unset")
        #expect((290...400).contains(started["time"] as? Double ?? 0))
        let points = stage.tap.points(of: "van").sorted { WireTap.seq($0) ?? 0 < WireTap.seq($1) ?? 0 }
        let unset = points.filter { Self.extra($0)["clock"] as? String == "unset" }
        #expect(Set(unset.compactMap(WireTap.seq)) == [2])
        #expect(Set(points.compactMap(WireTap.seq)).isSuperset(of: [2, 3, 4, 5]))
        for kind in ["SOURCE_LOST", "STOPPING"] {
            let event = try #require(stage.tap.events(kind, of: "van").first)
            let time = event["time"] as? Double ?? 0
            // The time includes the time that has passed on the device since the receiver's first date.
            #expect((Double(start)...Double(start + 120)).contains(time), "\(kind) at \(time)")
            #expect((event["detail"] as? [String: Any])?["clock"] == nil)
        }
    }

    /// The environment for a program whose clock has this time when it starts.
    private static func environment(at time: String) throws -> [String: String] {
        let folders = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib")
        let paths = folders.map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }
        guard let path = paths.first(where: FileManager.default.fileExists) else {
            throw TestSupportError("libfaketime is missing: scripts/setup installs what the tests need")
        }
        return ["TZ": "UTC", "LD_PRELOAD": path, "FAKETIME": time, "FAKETIME_DONT_FAKE_MONOTONIC": "1"]
    }

    private static func extra(_ feature: [String: Any]) -> [String: Any] {
        WireTap.properties(feature)["extra"] as? [String: Any] ?? [:]
    }

    // MARK: - A program that is told

    @Test func aProgramReceivesEachEventAsPublished() async throws {
        let stage = try await Stage()
        let reported = stage.folder.appending(path: "told").path()
        let script = try stage.file(
            "tell.sh",
            """
            #!/bin/sh
            # What there is to read, who it is about, what it was given, and what it must not have.
            echo "$GODWIT_TRACKABLE|$2|$(env | grep -c -e secret -e GODWIT_BROKER)|$(cat)" >> "$1"
            """)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
        let agent = try stage.agent(
            [
                "--source", "simulate:", "--tracking-stats", "--notify", "\(script) \(reported)  second ",
                "--broker", "mqtt://me@127.0.0.1:\(stage.broker.port)",
            ], environment: ["GODWIT_PASSWORD": "secret", "GODWIT_BROKER": "mqtt://me:secret@127.0.0.1:1"])
        try await stage.tap.wait { !$0.messages(on: "van").isEmpty }
        #expect(try await agent.end().code == 0)
        try await stage.tap.wait { !$0.events("STOPPING", of: "van").isEmpty }
        let lines = try String(contentsOfFile: reported, encoding: .utf8).split(separator: "\n").map(String.init)
        let wire = stage.tap.messages(on: "van/event").map(\.payload)
        #expect(lines == wire.map { "van|second|0|\($0)" })
        #expect(wire.count == 2 && wire[0].contains("STARTED") && wire[1].contains("STOPPING"))
    }

    @Test(arguments: ["/nonexistent/program", "/bin/false", "sh -c"])
    func aProgramThatFailsHarmsNothing(command: String) async throws {
        let stage = try await Stage()
        let input = try stage.file("drive.jsonl", self.way(20))
        let agent = try stage.agent(
            ["--source", "jsonl:-", "--tracking-stats", "--notify", command], input: input)
        let result = try await agent.result(within: .seconds(60))
        #expect(result.code == 0)
        #expect(result.errors.contains("Program for events (--notify) failed"), "\(result.errors)")
        try await stage.tap.wait { self.arrived($0).count == 20 }
    }

    @Test func eventsThatTheProgramMissesAreCounted() async throws {
        let stage = try await Stage()
        // Each of 1,500 fixes enters or leaves a zone.
        let input = try stage.file("drive.jsonl", self.way(1_500, steps: { $0 % 2 * 50 }))
        let agent = try stage.agent(
            ["--source", "jsonl:-", "--zone", "home,52,18.4,100", "--notify", "sleep 60"], input: input)
        let result = try await agent.result(within: .seconds(60))
        #expect(result.code == 0)
        try await stage.tap.wait { tap in tap.points(of: "van").contains { WireTap.seq($0) ?? 0 >= 2_990 } }
        let reported = result.errors.matches(of: #/Events were not passed to the program.*count=(\d+)/#).compactMap {
            Int($0.1)
        }
        // Of 1,500, one was told, or one more for every half minute that it took; 1,000 waited for the end.
        #expect((1_497...1_499).contains(reported.reduce(0, +)) && reported.contains(1_000), "\(result.errors)")
    }

    // MARK: - Units

    @Test(arguments: [("metric", "km/h"), ("imperial", "mph"), ("nautical", "kn")])
    func peopleReadTheUnitsOfTheirChoice(units: String, name: String) async throws {
        let broker = try await MosquittoProcess.start()
        let watch = try Programs.start(
            "godwit", ["watch", "--broker", broker.url, "--units", units, "--count", "3", "van"])
        let agent = try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van", "--broker", broker.url, "--source", "simulate:", "--battery", "none",
                "--default-resolution", "HIGH/100/0",
            ])
        let text = try await watch.result(within: .seconds(60)).output
        let pattern = try Regex("location [-0-9.,]+ [0-9.]+ \(name) ")
        #expect(text.split(separator: "\n").filter { $0.contains(pattern) }.count == 3, "\(text)")
        try await agent.end()
    }
}

extension String {
    /// NMEA sentences with their correct checksums.
    fileprivate var withChecksums: String {
        self.split(separator: "\r\n").map { line in
            NMEAText.sentence(String(line.dropFirst().prefix { $0 != "*" }))
        }.joined()
    }
}
