import Foundation
import TestSupport
import Testing

/// The effects of the agent's options, as a watcher sees them.
@Suite(.serialized) struct AgentTests {
    /// A folder that is removed with the test.
    private final class Folder {
        let url = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString), here")
        init() throws { try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: self.url) }

        func file(_ name: String, _ text: String) throws -> String {
            let file = self.url.appending(path: name)
            try text.write(to: file, atomically: true, encoding: .utf8)
            return file.path(percentEncoded: false)
        }
    }

    /// A drive of `count` seconds northward at 20 m/s, which ends at 33.9 south, 18.4 east.
    private func way(_ count: Int) -> String {
        (0..<count).map { second in
            let latitude = -33.9 - Double(count - 1 - second) * 20 / 111_195
            return
                "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[18.4,\(latitude)]},"
                + "\"properties\":{\"time\":\(1_700_000_000 + second)}}"
        }.joined(separator: "\n")
    }

    private func events(_ text: String, _ name: String) -> [[String: Any]] {
        text.split(separator: "\n").compactMap {
            (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any]
        }.filter { $0["event"] as? String == name }
    }

    private func simulate(
        _ broker: MosquittoProcess, _ more: [String], environment: [String: String] = [:]
    ) throws -> RunningProgram {
        try Programs.start(
            "godwit-agent",
            ["run", "--trackable", "van-7", "--broker", broker.url, "--source", "simulate:"] + more,
            environment: environment)
    }

    private func watch(_ broker: MosquittoProcess, _ more: [String]) throws -> RunningProgram {
        try Programs.start("godwit", ["watch", "--broker", broker.url, "--format", "json"] + more)
    }

    // MARK: - Lanes and conditions

    @Test func rawPositionsReachTheWatcherWhereTheyAreSwitchedOn() async throws {
        let broker = try await MosquittoProcess.start()
        let watch = try self.watch(broker, ["van-7"])
        try await watch.wait(within: .seconds(60)) { $0.contains("\"status\":\"ABSENT\"") }
        let agent = try self.simulate(broker, ["--raw", "--default-resolution", "HIGH/100/0", "--battery", "none"])
        try await watch.wait(within: .seconds(60)) { self.events($0, "raw").count >= 3 }
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        let raw = self.events(watch.output, "raw").compactMap { $0["location"] as? [String: Any] }
        let properties = raw.compactMap { $0["properties"] as? [String: Any] }
        #expect(Set(properties.compactMap { $0["stream"] as? String }).count == 1)
        let numbers = properties.compactMap { $0["seq"] as? Int }
        #expect(numbers.count == raw.count && numbers == numbers.sorted() && Set(numbers).count == raw.count)
    }

    @Test(arguments: [["--proximity", "300"], ["--arrival", "15"]])
    func comingNearTheDestinationChangesTheResolution(threshold: [String]) async throws {
        let broker = try await MosquittoProcess.start()
        let folder = try Folder()
        let drive = try folder.file("drive.jsonl", self.way(120))
        let watch = try self.watch(broker, ["van-7", "--silent"])
        try await watch.wait(within: .seconds(60)) { $0.contains("\"status\":\"ABSENT\"") }
        let agent = try await Programs.run(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--broker", broker.url, "--source", "jsonl:\(drive)", "--speed", "max",
                "--battery", "none", "--destination", "-33.9,18.4", "--resolution-far", "LOW/60000/0",
                "--resolution-near", "HIGH/1000/0",
            ] + threshold)
        #expect(agent.code == 0, "\(agent.errors)")
        // The publisher clears its presence after the last position.
        try await watch.wait(within: .seconds(60)) { output in
            let seen = self.events(output, "presence").compactMap { $0["status"] as? String }
            return seen.contains("PRESENT") && seen.last == "ABSENT"
        }
        let resolutions = self.events(watch.output, "resolution").filter { $0["near"] != nil }
        #expect(resolutions.first?["near"] as? Bool == false)
        // Far from the destination there is one position a minute, in the last 300 m one a second.
        #expect((14...20).contains(self.events(watch.output, "location").count))
    }

    @Test func comingNearTheDestinationIsPublished() async throws {
        let broker = try await MosquittoProcess.start()
        let folder = try Folder()
        let drive = try folder.file("drive.jsonl", self.way(60))
        let watch = try self.watch(broker, ["van-7", "--silent"])
        try await watch.wait(within: .seconds(60)) { $0.contains("\"status\":\"ABSENT\"") }
        let agent = try await Programs.run(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--broker", broker.url, "--source", "jsonl:\(drive)", "--speed", "10",
                "--battery", "none", "--destination", "-33.9,18.4", "--resolution-far", "LOW/2000/0",
                "--resolution-near", "HIGH/1000/0", "--proximity", "500",
            ])
        #expect(agent.code == 0, "\(agent.errors)")
        try await watch.wait(within: .seconds(60)) { output in
            self.events(output, "resolution").contains { event in
                event["near"] as? Bool == true
                    && (event["resolution"] as? [String: Any])?["desiredInterval"] as? Int == 1_000
            }
        }
    }

    @Test func aBatteryFileIsFollowedAsItChanges() async throws {
        let broker = try await MosquittoProcess.start()
        let folder = try Folder()
        let battery = try folder.file("battery", "80\n")
        let watch = try self.watch(broker, ["van-7", "--silent"])
        let agent = try self.simulate(
            broker,
            [
                "--battery", "file:\(battery)", "--resolution", "HIGH/500/0", "--battery-threshold", "20",
                "--low-battery-multiplier", "4",
            ])
        try await watch.wait(within: .seconds(60)) { $0.contains("\"desiredInterval\":500") }
        _ = try folder.file("battery", "19\n")
        try await watch.wait(within: .seconds(60)) { output in
            self.events(output, "resolution").contains { event in
                event["lowBattery"] as? Bool == true
                    && (event["resolution"] as? [String: Any])?["desiredInterval"] as? Int == 2_000
            }
        }
        _ = try folder.file("battery", "20\n")
        try await watch.wait(within: .seconds(60)) { output in
            self.events(output, "resolution").last?["lowBattery"] as? Bool == false
        }
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }

    // MARK: - Several trackables

    @Test func eachTrackableOfTheFileHasSettingsOfItsOwn() async throws {
        let broker = try await MosquittoProcess.start()
        let folder = try Folder()
        let file = try folder.file(
            "agent.yaml",
            """
            broker: \(broker.url)
            source: "simulate:"
            battery: none
            default-resolution: BALANCED/700/0
            trackables:
              - id: van-7
              - id: "order:17"
                resolution: HIGH/300/0
                floor: HIGH/200/0
              - id: bike
                floor: BALANCED/400/0
                filter: either
                maximum-silence: 9
            """)
        let agent = try Programs.start("godwit-agent", ["run", "--config", file])
        let watch = try self.watch(broker, ["--all", "--resolution", "MAXIMUM/100/0"])
        let expected: [String: Int] = ["van-7": 500, "order:17": 200, "bike": 400]
        try await watch.wait(within: .seconds(60)) { output in
            let last = Dictionary(
                self.events(output, "resolution").map { ($0["trackable"] as? String ?? "", $0) },
                uniquingKeysWith: { $1 })
            return expected.allSatisfy { id, interval in
                (last[id]?["resolution"] as? [String: Any])?["desiredInterval"] as? Int == interval
            }
        }
        let bike = self.events(watch.output, "resolution").last { $0["trackable"] as? String == "bike" }
        #expect(bike?["filter"] as? String == "either")
        #expect(bike?["maximumSilence"] as? Int == 9_000)
        try await watch.wait(within: .seconds(60)) { output in
            Set(self.events(output, "location").compactMap { $0["trackable"] as? String }) == Set(expected.keys)
        }
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }

    @Test func aWrongKeyIsNamedWithItsLine() async throws {
        let folder = try Folder()
        let outer = try folder.file("outer.yaml", "trackable: van\nsource: \"simulate:\"\nbrokr: x\n")
        let inner = try folder.file(
            "inner.yaml", "source: \"simulate:\"\ntrackables:\n  - id: van\n    flor: LOW/1/1\n")
        for (file, key, line) in [(outer, "'brokr'", "line 3"), (inner, "'flor'", "line 4")] {
            let result = try await Programs.run("godwit-agent", ["run", "--config", file])
            #expect(result.code == 64)
            #expect(result.errors.contains(key) && result.errors.contains(line), "\(result.errors)")
        }
    }

    // MARK: - The environment

    @Test func aCommaInTheEnvironmentIsPartOfTheValue() async throws {
        let broker = try await MosquittoProcess.start()
        let folder = try Folder()
        let drive = try folder.file("a, b.jsonl", self.way(30))
        #expect(drive.contains(", here/a, b.jsonl"))
        let result = try await Programs.run(
            "godwit-agent", ["run", "--speed", "max"],
            environment: [
                "GODWIT_SOURCE": "jsonl:\(drive)", "GODWIT_DESTINATION": "-33.9,18.4", "GODWIT_PROXIMITY": "100",
                "GODWIT_TRACKABLE": "van, left\nvan, right", "GODWIT_BROKER": broker.url, "GODWIT_BATTERY": "none",
            ])
        // Two trackables: the destination could mean either.
        #expect(result.code == 64 && result.errors.contains("one trackable only"), "\(result.errors)")
        let one = try await Programs.run(
            "godwit-agent", ["run", "--speed", "max"],
            environment: [
                "GODWIT_SOURCE": "jsonl:\(drive)", "GODWIT_DESTINATION": "-33.9,18.4", "GODWIT_PROXIMITY": "100",
                "GODWIT_TRACKABLE": "van, left", "GODWIT_BROKER": broker.url, "GODWIT_BATTERY": "none",
            ])
        #expect(one.code == 0, "\(one.errors)")
        let watch = try await Programs.run(
            "godwit", ["watch", "van, left", "--broker", broker.url, "--format", "json", "--count", "1"])
        #expect(watch.output.contains("\"seq\":30"))
    }

    @Test func aPasswordWithoutAUserIsAnError() async throws {
        let folder = try Folder()
        let file = try folder.file("password", "secret\n")
        let calls: [([String], [String: String])] = [
            ([], ["GODWIT_PASSWORD": "secret"]), (["--password-file", file], [:]),
            (["--broker", "mqtt://:secret@127.0.0.1:1"], [:]),
            (["--broker", "mqtt://a:secret@127.0.0.1:1", "--broker", "mqtt://b@127.0.0.1:2"], [:]),
        ]
        for (more, environment) in calls {
            let result = try await Programs.run(
                "godwit-agent", ["run", "--trackable", "van", "--source", "simulate:"] + more, environment: environment)
            #expect(result.code == 64)
            #expect(result.errors.contains("user") && !result.errors.contains("secret"), "\(result.errors)")
        }
    }

    // MARK: - Ends

    @Test func anAgentThatIsKilledIsGoneAtOnce() async throws {
        let broker = try await MosquittoProcess.start()
        let watch = try self.watch(broker, ["van-7"])
        let agent = try self.simulate(broker, ["--battery", "none", "--default-resolution", "HIGH/200/0"])
        try await watch.wait(within: .seconds(60)) { $0.contains("\"status\":\"PRESENT\"") }
        agent.signal(SIGKILL)
        // The lease of its presence is 90 s.
        try await watch.wait(within: .seconds(60)) {
            self.events($0, "presence").last?["status"] as? String == "ABSENT"
        }
    }

    @Test(arguments: [false, true]) func closingTheTerminalIsAnOrderlyEndUnlessItIsIgnored(ignored: Bool) async throws {
        let broker = try await MosquittoProcess.start()
        let watch = try self.watch(broker, ["van-7", "--resolution", "HIGH/200/0"])
        let program = Programs.root.appending(path: ".build/debug/godwit-agent").path()
        let arguments = [
            program, "run", "--trackable", "van-7", "--broker", broker.url, "--source", "simulate:", "--battery",
            "none",
        ]
        let agent = try RunningProgram(ignored ? "/usr/bin/nohup" : "/usr/bin/env", arguments)
        try await watch.wait(within: .seconds(60)) { self.events($0, "location").count >= 1 }
        agent.signal(SIGHUP)
        if ignored {
            let before = self.events(watch.output, "location").count
            try await watch.wait(within: .seconds(60)) { self.events($0, "location").count >= before + 5 }
            agent.terminate()
        }
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        try await watch.wait(within: .seconds(60)) {
            self.events($0, "presence").last?["status"] as? String == "ABSENT"
        }
        try await watch.end()
    }

    /// A broker whose rules forbid every user to write the position of `van-7`.
    private func refusing() async throws -> MosquittoProcess {
        try await MosquittoProcess.start { port, folder in
            let rules = folder.appending(path: "rules")
            try "topic readwrite tracking/_clients/#\ntopic readwrite tracking/+/+/#\ntopic read #\n".write(
                to: rules, atomically: true, encoding: .utf8)
            return "listener \(port) 127.0.0.1\nallow_anonymous true\nacl_file \(rules.path())"
        }
    }

    @Test func aRecordingThatTheBrokerRefusesForGoodEndsWith77() async throws {
        let broker = try await self.refusing()
        let folder = try Folder()
        let drive = try folder.file("drive.jsonl", self.way(5))
        for speed in [["--speed", "100"], ["--speed", "max"], ["--speed", "max", "--fail-fast"]] {
            let agent = try await Programs.run(
                "godwit-agent",
                [
                    "run", "--trackable", "van-7", "--broker", broker.url, "--source", "jsonl:\(drive)", "--battery",
                    "none",
                ] + speed)
            #expect(agent.code == 77, "\(speed) \(agent.errors)")
        }
    }

    @Test(arguments: ["100", "max"]) func aRecordingOfADeviceThatIsTurnedAwayEndsWith77(speed: String) async throws {
        let broker = try await MosquittoProcess.start { port, folder in
            let passwords = folder.appending(path: "passwords")
            try "".write(to: passwords, atomically: true, encoding: .utf8)
            return "listener \(port) 127.0.0.1\nallow_anonymous false\npassword_file \(passwords.path())"
        }
        let folder = try Folder()
        let drive = try folder.file("drive.jsonl", self.way(5))
        let agent = try await Programs.run(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--broker", "mqtt://me:secret@127.0.0.1:\(broker.port)", "--source",
                "jsonl:\(drive)", "--battery", "none", "--speed", speed,
            ])
        #expect(agent.code == 77, "\(agent.errors)")
    }
}
