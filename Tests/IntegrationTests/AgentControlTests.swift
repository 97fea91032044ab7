import Foundation
import TestSupport
import Testing
import TrackingControl
import TrackingCore

/// The controls of a real agent on a real broker.
@Suite(.timeLimit(.minutes(10))) struct AgentControlTests {
    private let van = try! TrackableID("van-7")  // a valid name

    // MARK: - How things stand

    @Test func theStatusDescribesTheAgent() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let listener = try await scene.listen()
        let metrics = scene.file("godwit.prom")
        let agent = try await scene.start([
            "--mode", "active", "--destination", "52.5,-8.25", "--battery", "fixed:55", "--metrics-file", metrics,
        ])
        let status = try await scene.status {
            $0.trackables.first?.state == .online && $0.lastAcknowledged != nil && $0.trackables[0].queue.points == 0
        }
        #expect(status.isOn && status.connection.isUp && status.connection.reason == nil)
        #expect(status.connection.broker == scene.broker.url)
        #expect(status.mode == .active)
        #expect(status.sensorResolution?.desiredInterval == .seconds(1))
        #expect(status.battery == 0.55)
        #expect(status.trackables.map(\.id) == [self.van])
        #expect(status.trackables[0].destination == Coordinate(latitude: 52.5, longitude: -8.25))
        #expect(status.trackables[0].resolution?.resolution.desiredInterval == .seconds(1))
        #expect(status.trackables[0].trip == nil)
        #expect(status.dropped == 0 && status.quarantined == 0)
        // The last fix of the status was also published.
        let fix = try #require(status.lastFix)
        try await listener.wait("van-7") { reported in
            reported.contains { (try? LocationCodec.decode(Array($0.utf8)))?.location.time ?? fix.time >= fix.time }
        }
        #expect(try await scene.done(["metrics"]).contains("godwit_connected 1\n"))
        #expect(try String(contentsOfFile: metrics, encoding: .utf8).contains("godwit_on 1\n"))
        #expect(try await scene.done(["status"]).contains("agent         on\n"))
        #expect(try Self.mode(of: scene.socket) == 0o600)
        try await scene.broker.stop()
        let down = try await scene.status { !$0.connection.isUp && $0.queue.points > 0 }
        #expect(down.connection.reason != nil)
        #expect(down.queue.oldest != nil && down.queue.bytes > 0)
        #expect(down.trackables[0].state == .offline)
        let ended = try await agent.end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(!FileManager.default.fileExists(atPath: scene.socket))
    }

    @Test(arguments: [
        ["status"], ["status", "--json"], ["metrics"], ["trip", "status"], ["configure", "batch-size=7"],
    ])
    func aControlThatCannotPrintItsResultFails(arguments: [String]) async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let agent = try await scene.start()
        let client = try RunningProgram(
            executable: Programs.root.appending(path: ".build/debug/godwit-agent"), arguments: arguments,
            environment: ["GODWIT_SOCKET": scene.socket], input: "/dev/null", terminal: "/dev/full")
        let result = try await client.result(within: .seconds(60))
        #expect(result.code == 74, "\(result)")
        #expect(result.errors == "Error: cannot write to standard output: No space left on device\n")
        #expect(try await agent.end().code == 0)
    }

    @Test func outputThatWasClosedFromTheStartIsNoSuccess() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let agent = try await scene.start()
        let program = Programs.root.appending(path: ".build/debug/godwit-agent").path()
        let client = try RunningProgram(
            executable: URL(filePath: "/bin/sh"), arguments: ["-c", "exec \"$0\" status >&-", program],
            environment: ["GODWIT_SOCKET": scene.socket], input: "/dev/null")
        let result = try await client.result(within: .seconds(60))
        #expect(result.code == 74, "\(result)")
        #expect(try await agent.end().code == 0)
    }

    private static func mode(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    @Test func aSecondAgentOnTheSameSocketEndsAndOneThatWasKilledIsReplaced() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let agent = try await scene.start()
        let second = try await Programs.run(
            "godwit-agent",
            [
                "run", "--trackable", "van-8", "--source", "simulate:", "--socket", scene.socket, "--broker",
                scene.broker.url, "--metrics-file", scene.file("second.prom"),
            ])
        #expect(second.code == 64)
        #expect(second.errors.contains("another agent listens on '\(scene.socket)'"))
        #expect(try await scene.status().trackables.map(\.id) == [self.van])
        try await agent.end(SIGKILL)
        #expect(FileManager.default.fileExists(atPath: scene.socket))
        let next = try await scene.start()
        #expect(try await next.end().code == 0)
    }

    @Test func theServiceManagerHearsTheBeginningTheLifeAndTheEnd() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let manager = try NotifySocket(isAbstract: false)
        let agent = try await scene.start(environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "100000"])
        var reported: Set<String> = []
        while !reported.isSuperset(of: ["READY=1", "WATCHDOG=1"]) { reported.insert(try await manager.next()) }
        agent.terminate()
        while try await manager.next() != "STOPPING=1" {}
        #expect(try await agent.result().code == 0)
    }

    // MARK: - On and off

    @Test func offIsAbsentAndSilentUntilItIsOnAgainAlsoOverARestart() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let watcher = try Programs.start(
            "godwit", ["watch", "van-7", "--silent", "--format", "json", "--broker", scene.broker.url])
        let agent = try await scene.start(["--default-resolution", "HIGH/200/0"])
        try await watcher.wait { $0.contains("\"event\":\"location\"") && $0.contains("\"status\":\"PRESENT\"") }
        try await scene.done(["off"])
        try await watcher.wait {
            $0.split(separator: "\n").last { $0.contains("\"status\"") }?.contains("ABSENT") == true
        }
        #expect(try await scene.status().isOn == false)
        let listener = try await scene.listen()
        let refused = try await scene.control(["report"])
        #expect(refused.code == 1 && refused.errors == "Error: the agent is off. Switch it on with godwit-agent on\n")
        #expect(try await scene.control(["trip", "start"]).code == 1)
        #expect(try await scene.control(["flush"]).code == 1)
        #expect(try await scene.control(["queue", "list"]).code == 0)
        try await agent.end(SIGKILL)
        let next = try await scene.start(["--default-resolution", "HIGH/200/0"])
        let status = try await scene.status { $0.connection.isUp }
        #expect(!status.isOn && status.trackables.map(\.state) == [.offline])
        // The new agent clears the retained presence, and ignores the will of the killed agent.
        let said = listener.payloads("van-7").count
        try await Task.sleep(for: .seconds(1))  // the absence of a change has no condition
        #expect(listener.payloads("van-7").count == said)
        try await scene.done(["on"])
        try await listener.wait("van-7") { $0.count > said }
        try await watcher.wait {
            $0.split(separator: "\n").last { $0.contains("\"status\"") }?.contains("PRESENT") == true
        }
        #expect(try await next.end().code == 0)
    }

    // MARK: - A fix now

    @Test func aReportDoesNotWaitForTheResolution() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let listener = try await scene.listen()
        let agent = try await scene.start(["--default-resolution", "LOW/600000/0"])
        try await listener.wait("van-7") { $0.count == 1 }
        try await scene.status { $0.trackables.first?.state == .online }
        try await scene.done(["report"])
        try await listener.wait("van-7") { $0.count == 2 }
        #expect(try await scene.status().sensorResolution?.desiredInterval == .seconds(600))
        #expect(try await agent.end().code == 0)
    }

    // MARK: - What is carried

    @Test func trackedTrackablesSurviveAKill() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        var agent = try await scene.start()
        let van8 = try TrackableID("van-8")
        try await scene.done(["add", "van-8", "--destination", "52.5,-8.25"])
        try await scene.done(["destination", "--", "van-7", "-33.9,151.2"])
        try await scene.status { $0.trackables.allSatisfy { $0.state == .online } }
        try await agent.end(SIGKILL)
        agent = try await scene.start()
        var tracked = try await scene.status { $0.trackables.count == 2 }.trackables
        #expect(tracked.map(\.id) == [self.van, van8])
        #expect(
            tracked.map(\.destination) == [
                Coordinate(latitude: -33.9, longitude: 151.2), Coordinate(latitude: 52.5, longitude: -8.25),
            ])
        try await scene.done(["remove", "van-7"])
        try await scene.done(["destination", "van-8", "none"])
        try await agent.end(SIGKILL)
        agent = try await scene.start()
        tracked = try await scene.status { !$0.trackables.isEmpty }.trackables
        #expect(tracked.map(\.id) == [van8] && tracked[0].destination == nil)
        try await scene.done(["track", "bike"])
        #expect(try await scene.status().trackables.map(\.id.rawValue) == ["bike"])
        let unknown = try await scene.control(["remove", "van-8"])
        #expect(unknown.code == 1 && unknown.errors.hasPrefix("Error: the agent does not track 'van-8'"))
        try await agent.end()
        // Other options at the start replace the saved trackables.
        agent = try await scene.start(["--destination", "1,2"])
        #expect(try await scene.status().trackables.map(\.id) == [self.van])
        #expect(try await agent.end().code == 0)
    }

    @Test func bindRefusesWhileSomethingIsUnsent() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        var agent = try await scene.start(["--batch-window", "off", "--default-resolution", "HIGH/200/0"])
        try await scene.status { $0.queue.points > 0 }
        let refused = try await scene.control(["bind", "van-8"])
        #expect(refused.code == 1 && refused.errors.contains("of 'van-7' are not sent"), "\(refused.errors)")
        try await scene.done(["bind", "van-8", "--force"])
        try await agent.end(SIGKILL)
        agent = try await scene.start(["--batch-window", "off"])
        #expect(try await scene.status().trackables.map(\.id.rawValue) == ["van-8"])
        #expect(try await agent.end().code == 0)
    }

    @Test func bindSendsTheRestFirst() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let listener = try await scene.listen()
        let agent = try await scene.start(["--batch-window", "off", "--default-resolution", "HIGH/200/0"])
        try await scene.status { $0.queue.points > 2 && $0.connection.isUp }
        try await scene.done(["bind", "van-8", "--flush"])
        try await listener.wait("van-7/history") { !$0.isEmpty }
        let status = try await scene.status()
        #expect(status.trackables.map(\.id.rawValue) == ["van-8"])
        let left = try await scene.done(["queue", "list"])
        #expect(!left.contains("van-7"), "\(left)")
        #expect(try await agent.end().code == 0)
    }

    /// The receiver delivers several fixes while a batch is being sent, so that the backlog is never empty.
    @Test func bindSendsTheRestOfAFastReceiver() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let relay = try await Relay(to: scene.broker.port, delay: 0.2)
        let agent = try await scene.start([
            "--broker", "mqtt://127.0.0.1:\(relay.port)", "--default-resolution", "HIGH/100/0",
        ])
        try await scene.status { $0.trackables.first?.state == .online && $0.lastFix != nil }
        try await scene.done(["bind", "van-8", "--flush"])
        let left = try await scene.done(["queue", "list"])
        #expect(!left.contains("van-7"), "\(left)")
        // The agent keeps reading its source.
        try await scene.status { $0.trackables.map(\.id.rawValue) == ["van-8"] && $0.trackables[0].state == .online }
        #expect(try await agent.end().code == 0)
    }

    /// Two points exceed this broker's packet limit.
    @Test func quarantinedRecordsAreListedRetriedAndDropped() async throws {
        let broker = try await MosquittoProcess.start(extra: ["max_packet_size 1024"])
        let scene = try AgentScene(broker)
        let drive = scene.file("drive.jsonl")
        let lines = (0..<21).map { index in
            let extra =
                index == 7 || index == 11 ? ",\"extra\":{\"note\":\"\(String(repeating: "x", count: 2000))\"}" : ""
            // The last fix is an hour later, so that the agent keeps running.
            let time = 1_700_000_000 + (index == 20 ? 3600 : Double(index) * 0.1)
            let place = "[-8.5,\(52 + Double(index) * 1e-3)]"
            return "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":\(place)},"
                + "\"properties\":{\"time\":\(time)\(extra)}}"
        }
        try lines.joined(separator: "\n").write(toFile: drive, atomically: true, encoding: .utf8)
        let agent = try await scene.start([
            "--source", "jsonl:\(drive)", "--batch-window", "0.2", "--default-resolution", "HIGH/0/0",
            "--sensor-resolution", "HIGH/0/0",
        ])
        try await scene.status { $0.quarantined == 2 }
        let list = try await scene.done(["quarantine", "list"]).split(separator: "\n")
        #expect(list.count == 2, "\(list)")
        // The columns are time, trackable and name.
        let name = try #require(list.first).components(separatedBy: "  ")[2]
        #expect(
            try await scene.done(["quarantine", "retry", name]) == "1 record queued again with new sequence numbers\n")
        // The broker rejects the record again, and it gets a new name.
        try await scene.status { $0.quarantined == 2 }
        #expect(try await scene.done(["quarantine", "drop", "--yes", name]) == "0 records discarded\n")
        let newest = try #require(try await scene.done(["quarantine", "list"]).split(separator: "\n").last)
        let new = newest.components(separatedBy: "  ")[2]
        #expect(try await scene.done(["quarantine", "drop", "--yes", new]) == "1 record discarded\n")
        #expect(try await scene.status().quarantined == 1)
        #expect(try await scene.done(["quarantine", "drop", "--yes"]) == "1 record discarded\n")
        #expect(try await scene.done(["quarantine", "list"]).isEmpty)
        try await scene.status { $0.queue.points == 0 }
        #expect(try await agent.end().code == 0)
    }

    @Test func theStatusHasTheReasonOfARejection() async throws {
        let rules = FileManager.default.temporaryDirectory.appending(path: "gw-acl-\(UUID().uuidString.prefix(8))")
            .path()
        defer { try? FileManager.default.removeItem(atPath: rules) }
        try "topic readwrite tracking/#\ntopic deny tracking/van-7\n".write(
            toFile: rules, atomically: false, encoding: .utf8)
        let scene = try AgentScene(await MosquittoProcess.start(extra: ["acl_file \(rules)"]))
        let agent = try await scene.start(["--default-resolution", "HIGH/200/0"])
        try await scene.status {
            $0.trackables.first?.refusal?.contains("Not authorized") == true && $0.lastFix?.speed != nil
        }
        let text = try await scene.done(["status", "--units", "nautical"])
        #expect(text.contains(" queued; refused: ") && text.contains(" kn, "), "\(text)")
        _ = try await agent.end()
    }

    // MARK: - Trips

    @Test func aTripLastsOverAKill() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        var agent = try await scene.start(["--default-resolution", "HIGH/200/0"])
        #expect(try await scene.done(["trip", "start", "bus"]).hasPrefix("bus, under way"))
        let second = try await scene.control(["trip", "start"])
        #expect(second.code == 1 && second.errors.contains("in progress"))
        try await scene.status { $0.trip?.distance ?? 0 > 0 }
        try await agent.end(SIGKILL)
        agent = try await scene.start(["--default-resolution", "HIGH/200/0"])
        try await scene.status { $0.trip?.state == .active }
        #expect(try await scene.done(["trip", "status"]).hasPrefix("van-7: bus, under way"))
        #expect(try await scene.done(["trip", "stop"]).hasPrefix("bus, ended"))
        let none = try await scene.control(["trip", "stop"])
        #expect(none.code == 1 && none.errors.contains("no trip"))
        #expect(try await scene.status().trip?.state == .ended)
        #expect(try await agent.end().code == 0)
    }

    // MARK: - The queue

    @Test func theQueueIsShownExportedSentAndForgotten() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let listener = try await scene.listen()
        let agent = try await scene.start(["--batch-window", "off", "--default-resolution", "HIGH/100/0"])
        try await scene.status { $0.queue.points >= 5 && $0.connection.isUp }
        #expect(try await scene.done(["queue", "list", "--limit", "3"]).split(separator: "\n").count == 3)
        let file = scene.file("queue.jsonl")
        #expect(try await scene.done(["queue", "export", file]).hasSuffix("records written\n"))
        #expect(try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").count >= 5)
        #expect(try await scene.done(["send-now"]).hasSuffix("sent\n"))
        try await listener.wait("van-7/history") { !$0.isEmpty }
        try await scene.status { $0.queue.points >= 2 }
        #expect(try await scene.done(["flush"]).hasSuffix("sent\n"))
        try await scene.broker.stop()
        try await scene.status { !$0.connection.isUp && $0.queue.points >= 2 }
        #expect(try await scene.control(["flush"]).code == 1)
        try await scene.done(["configure", "default-resolution=LOW/600000/0"])
        #expect(try await scene.done(["queue", "purge", "--yes"]).hasSuffix("discarded\n"))
        #expect(try await scene.status().queue.points <= 1)
        #expect(try await scene.done(["quarantine", "list"]).isEmpty)
        #expect(try await scene.done(["quarantine", "retry"]) == "0 records queued again with new sequence numbers\n")
        #expect(try await agent.end().code == 0)
    }

    // MARK: - Settings

    @Test func settingsChangeAtOnceAndLast() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let listener = try await scene.listen()
        var agent = try await scene.start(["--default-resolution", "LOW/600000/0"])
        try await scene.status { $0.trackables.first?.state == .online }
        #expect(
            try await scene.done(["configure", "default-resolution=HIGH/200/0", "keep-points=500"])
                == "default-resolution: LOW/600000/0 -> HIGH/200/0\nkeep-points: (not set) -> 500\n")
        try await listener.wait("van-7") { $0.count >= 5 }
        try await agent.end(SIGKILL)
        agent = try await scene.start(["--default-resolution", "LOW/600000/0"])
        #expect(try await scene.status().sensorResolution?.desiredInterval == .milliseconds(200))
        #expect(try await scene.done(["configure", "default-resolution=HIGH/200/0"]) == "nothing changed\n")
        // The answer names the zone without its position.
        #expect(try await scene.done(["configure", "zone=home,52,-8,100"]) == "zone: replaced\n")
        for (settings, message) in [
            (["default-resolution=LOW/1000/0", "source=simulate:"], "'source' cannot change while the agent runs"),
            (["default-resolution=LOW/1000/0", "keep-points=0"], "--keep-points must be 1 or more"),
            (["default-resolution=often"], "default-resolution"), (["nothing=1"], "there is no setting 'nothing'"),
            (["destination=north"], "destination' must be LAT,LON"), (["raw=perhaps"], "'raw' must be on or off"),
        ] {
            let refused = try await scene.control(["configure"] + settings)
            #expect(refused.code == 1 && refused.errors.contains(message), "\(settings): \(refused.errors)")
        }
        #expect(try await scene.status().sensorResolution?.desiredInterval == .milliseconds(200), "all or none")
        try await scene.done(["configure", "destination=52.5,-8.25", "proximity=300"])
        #expect(try await scene.status().trackables[0].destination == Coordinate(latitude: 52.5, longitude: -8.25))
        try await agent.end()
        agent = try await scene.start(["--default-resolution", "LOW/60000/0"])
        #expect(try await scene.status().sensorResolution?.desiredInterval == .seconds(60), "given anew")
        #expect(try await agent.end().code == 0)
    }

    /// A setting that no longer fits is skipped alone: an agent that is off stays off, and a zone stays private.
    @Test func aChangeThatDoesNotFitIsLeftOutAlone() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        var agent = try await scene.start()
        try await scene.done(["configure", "zone=home,52.66,-8.63,500,omit", "maximum-silence=120"])
        try await scene.done(["off"])
        #expect(try await agent.end().code == 0)
        agent = try await scene.start(["--trackable", "van-8"])
        let status = try await scene.status()
        #expect(!status.isOn && status.trackables.count == 2)
        let ended = try await agent.end()
        #expect(ended.code == 0 && ended.errors.contains("change=maximum-silence"), "\(ended.errors)")
        #expect(ended.errors.contains("--maximum-silence") && !ended.errors.contains("52.66"))
        #expect(!ended.errors.contains("second log with records"))
        // The setting applies again as soon as it fits.
        agent = try await scene.start()
        let back = try await scene.done(["configure", "maximum-silence="])
        #expect(back.contains("120"), "\(back)")
        #expect(try await !scene.status().isOn)
        #expect(try await agent.end().code == 0)
    }

    /// The log is named after the first trackable. Another first trackable means another log and other settings.
    @Test func aLogOfAnotherFirstTrackableIsNotPassedOverInSilence() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let other = scene.file("state/godwit/van-8.sqlite")
        try FileManager.default.createDirectory(
            atPath: scene.file("state/godwit"), withIntermediateDirectories: true)
        try Data().write(to: URL(filePath: other))
        let ended = try await scene.start(["--trackable", "van-8"]).end()
        #expect(
            ended.code == 0
                && ended.errors.contains("Agent found the log of an earlier run that had another first --trackable"),
            "\(ended.errors)")
        #expect(ended.errors.contains(other))
    }

    // MARK: - Another publisher

    @Test func aSupersededTrackableNamesTheOwnerAndTheOthersGoOn() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let agent = try await scene.start(["--trackable", "van-8", "--client-id", "first"])
        try await scene.status { $0.trackables.count == 2 && $0.trackables.allSatisfy { $0.state == .online } }
        let other = try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--source", "simulate:", "--battery", "none", "--spool", "memory",
                "--socket",
                scene.file("other.sock"), "--broker", scene.broker.url, "--client-id", "second",
            ], environment: ["XDG_STATE_HOME": scene.file("other")])
        try await scene.status { $0.trackables[0].refusal?.contains("the publisher 'second' took it over") == true }
        #expect(try await scene.done(["status"]).contains("because: cannot track 'van-7': the publisher 'second'"))
        for arguments in [["trip", "start", "taxi"], ["trip", "stop"]] {
            let refused = try await scene.control(arguments + ["--trackable", "van-7"])
            #expect(refused.code == 1 && refused.errors.contains("the publisher 'second'"), "\(refused)")
        }
        let ended = try await agent.end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(try await other.end().code == 0)
    }

    // MARK: - Set-up

    @Test func aSetUpLinkMovesTheAgentToAnotherBroker() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let other = try await Self.guarded(scene)
        var agent = try await scene.start()
        try await scene.status { $0.connection.isUp }
        let link =
            "godwit://setup?broker=mqtt%3A%2F%2F127.0.0.1%3A\(other.port)&user=box&token=hunter2&trackable=van-9"
        let no = try await self.answer("n\n", to: ["setup", link], scene)
        #expect(no.code == 1 && no.text.contains("broker: \(scene.broker.url) -> \(other.url)"))
        #expect(no.text.contains("password: replaced") && no.text.contains("trackable: van-7 -> van-9"))
        #expect(try await scene.status().connection.broker == scene.broker.url)
        let yes = try await self.answer("y\n", to: ["setup", link], scene)
        #expect(yes.code == 0, "\(yes.text)")
        #expect(!(yes.text + no.text + agent.errors).contains("hunter2"))
        let there: (AgentStatus) -> Bool = {
            $0.connection.broker == other.url && $0.trackables.map(\.id.rawValue) == ["van-9"]
                && $0.trackables[0].state == .online
        }
        try await scene.status(there)
        let files = try FileManager.default.contentsOfDirectory(atPath: scene.file("state/godwit"))
        let secrets = files.filter { $0.contains("password") || $0.hasSuffix(".settings") }
        #expect(secrets.count == 2)
        for name in secrets { #expect(try Self.mode(of: scene.file("state/godwit/\(name)")) == 0o600) }
        try await agent.end(SIGKILL)
        agent = try await scene.start()
        try await scene.status(there)
        #expect(try await agent.end().code == 0)
        // With another broker and no user, nothing of the saved connection applies, and above all not its password.
        agent = try await scene.start(["--broker", "mqtt://localhost:\(scene.broker.port)"])
        try await scene.status { $0.connection.broker == "mqtt://localhost:\(scene.broker.port)" && $0.connection.isUp }
        #expect(try await agent.end().code == 0)
    }

    @Test(arguments: [[], ["--spool", "memory"]])
    func theBacklogIsSentToTheOtherBroker(more: [String]) async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let other = try await MosquittoProcess.start()
        let listener = try AgentScene.Listener(other)
        try await listener.waitUntilListening()
        let agent = try await scene.start(["--default-resolution", "HIGH/200/0"] + more)
        try await scene.status { $0.lastAcknowledged != nil }
        try await scene.broker.stop()
        let waiting = try await scene.status { $0.queue.points >= 3 }
        let link = "godwit://setup?broker=mqtt%3A%2F%2F127.0.0.1%3A\(other.port)"
        #expect(try await scene.done(["setup", link, "--yes"]).hasSuffix("-> \(other.url)\ndone\n"))
        try await scene.status { $0.connection.isUp && $0.trackables.first?.state == .online }
        try await listener.wait("van-7") { !$0.isEmpty }
        try await scene.done(["flush"])
        let oldest = try #require(waiting.queue.oldest)
        try await listener.wait("van-7/history") { batches in
            batches.contains { text in
                let batch = (try? HistoryCodec.decode(Array(text.utf8)[...]))?.batch
                return batch?.records.contains { $0.time <= oldest } == true
            }
        }
        #expect(try await agent.end().code == 0)
    }

    /// The agent has no connection to gpsd between two fixes of a long interval.
    @Test func theStatusShowsUntilWhenTheReceiverSleeps() async throws {
        let gpsd = try FakeGPSD()
        defer { gpsd.stop() }
        let scene = try AgentScene(await MosquittoProcess.start())
        let agent = try await scene.start([
            "--source", "gpsd://127.0.0.1:\(gpsd.port)", "--default-resolution", "LOW/120000/0",
        ])
        let status = try await scene.status { $0.receiverAsleepUntil != nil }
        let wait = status.receiverAsleepUntil?.since(status.time) ?? .zero
        #expect(wait > .zero && wait <= .seconds(110), "\(wait)")
        let text = try await scene.done(["status"])
        #expect(text.contains(#/\nreceiver      LOW\/120000\/0, asleep until \d\d:\d\d\n/#), "\(text)")
        try await scene.done(["off"])
        try await scene.status { !$0.isOn && $0.receiverAsleepUntil == nil }
        #expect(try await agent.end().code == 0)
    }

    /// A broker that accepts only the user `box` with the password `hunter2`.
    private static func guarded(_ scene: AgentScene) async throws -> MosquittoProcess {
        let passwords = scene.file("passwords")
        try await ChildProcess.run(
            "/bin/sh",
            ["-ec", "umask 077; mosquitto_passwd -b -c '\(passwords)' box hunter2; chmod 644 '\(passwords)'"])
        return try await MosquittoProcess.start { port, _ in
            "listener \(port) 127.0.0.1\nallow_anonymous false\npassword_file \(passwords)"
        }
    }

    /// Runs a control on a terminal and types the answers to its questions.
    private func answer(
        _ text: String, to arguments: [String], _ scene: AgentScene
    ) async throws -> (code: Int32, text: String) {
        let terminal = try PseudoTerminal()
        let program = try ChildProcess(
            Programs.root.appending(path: ".build/debug/godwit-agent").path(), arguments,
            environment: ["GODWIT_SOCKET": scene.socket, "PATH": "/usr/bin:/bin", "TERM": "xterm"],
            input: terminal.path, output: terminal.path)
        try await terminal.waitForCommand("[y/N] ")
        try await terminal.send(text.utf8)
        return (try await program.waitForEnd() >> 8, terminal.commands)
    }
}
