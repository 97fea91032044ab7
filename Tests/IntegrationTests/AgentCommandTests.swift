import Foundation
import TestSupport
import Testing
import TrackingControl
import TrackingCore

/// Remote commands: `godwit send` to a real agent, on a broker with the rules of `broker/`.
@Suite(.timeLimit(.minutes(10))) struct AgentCommandTests {
    /// A broker with the rules and users of `broker/`, without encryption: the device `dev` of van-7, the operator `boss`, who
    /// may not watch, the operator `chief`, who may, and the watcher `eye`.
    private func broker(_ folder: URL) async throws -> MosquittoProcess {
        try await ChildProcess.run(
            "/bin/sh",
            [
                "-ec",
                """
                cp -R '\(Programs.root.appending(path: "broker").path())' '\(folder.path())'
                cd '\(folder.path())'
                export GODWIT_PASSWORD=a-test-password
                ./add-device dev van-7 van-8; ./add-operator boss van-7 van-8; ./add-operator chief van-7 van-8
                ./add-watcher chief van-7 van-8; ./add-watcher eye van-7
                chmod -R a+rX .
                """,
            ])
        return try await MosquittoProcess.start { port, _ in
            """
            listener \(port) 127.0.0.1
            allow_anonymous false
            password_file \(folder.appending(path: "passwords").path())
            acl_file \(folder.appending(path: "acl.conf").path())
            """
        }
    }

    /// Runs `body` with an agent that takes commands.
    private func withAgent(_ more: [String], _ body: (AgentScene) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-rules-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let broker = try await self.broker(folder)
        let scene = try AgentScene(broker)
        let agent = try await scene.start(
            ["--broker", "mqtt://dev@127.0.0.1:\(broker.port)"] + more,
            environment: ["GODWIT_PASSWORD": "a-test-password"])
        try await scene.status { $0.trackables.first?.state == .online }
        try await body(scene)
        #expect(try await agent.end().code == 0)
    }

    private func send(_ scene: AgentScene, _ user: String, _ arguments: [String]) async throws -> Programs.Result {
        try await Programs.run(
            "godwit", ["send"] + arguments + ["--broker", "mqtt://\(user)@127.0.0.1:\(scene.broker.port)"],
            environment: ["GODWIT_PASSWORD": "a-test-password"])
    }

    @Test func onlyAnOperatorsCommandsAreExecutedAndAnswered() async throws {
        try await self.withAgent(["--allow-commands", "--default-resolution", "LOW/600000/0"]) { scene in
            // `boss` may read only the response topic, and `chief` may watch as well.
            for user in ["boss", "chief"] {
                let report = try await self.send(scene, user, ["report", "van-7"])
                #expect(report.output == "van-7: done\n", "\(user): \(report.errors)")
            }
            let trip = try await self.send(scene, "boss", ["start-trip", "van-7", "--argument", "mode=taxi"])
            #expect(trip.output.hasPrefix("van-7: done {\"trip\":{"))
            let second = try await self.send(scene, "boss", ["start-trip", "van-7"])
            #expect(second.code == 1 && second.output.hasPrefix("van-7: TRIP_UNDER_WAY: "))
            let secret = try await self.send(scene, "boss", ["configure", "van-7", "--argument", "password-file=/x"])
            #expect(
                secret.output
                    == "van-7: NOT_ALLOWED: the setting 'password-file' cannot be set through the broker. Set it with godwit-agent on the device\n"
            )
            #expect(try await self.send(scene, "boss", ["status", "van-7"]).output.contains("NOT_ALLOWED"))
            let mode = try await self.send(scene, "boss", ["configure", "van-7", "--argument", "mode=active"])
            #expect(mode.output.contains("\"key\":\"mode\""))
            #expect(try await scene.status().mode == .custom, "a resolution is given")
            // A watcher has no right to send commands, and an unknown user cannot connect.
            let eye = try await self.send(scene, "eye", ["off", "van-7", "--timeout", "2"])
            #expect(eye.code == 1 && !eye.output.contains("done"))
            #expect(try await self.send(scene, "nobody", ["off", "van-7", "--timeout", "30"]).code == 77)
            #expect(try await scene.status().isOn)
            // An agent that is off still receives the command `on`.
            #expect(try await self.send(scene, "boss", ["off", "van-7"]).output == "van-7: done\n")
            #expect(try await scene.status().isOn == false)
            let off = try await self.send(scene, "chief", ["report", "van-7"])
            #expect(off.output == "van-7: OFF: the agent is off. Switch it on with godwit-agent on\n")
            #expect(try await self.send(scene, "chief", ["on", "van-7"]).output == "van-7: done\n")
            try await scene.status { $0.isOn && $0.trackables[0].state == .online }
            let added = try await self.send(scene, "boss", ["add", "van-7", "--argument", "trackable=van-8"])
            #expect(added.output == "van-7: done\n")
            #expect(try await scene.status().trackables.map(\.id.rawValue) == ["van-7", "van-8"])
            let destination = ["destination", "van-7", "--argument", "destination=52.5,-8.25"]
            #expect(try await self.send(scene, "boss", destination).code == 0)
            #expect(
                try await scene.status().trackables[0].destination == Coordinate(latitude: 52.5, longitude: -8.25))
            #expect(try await self.send(scene, "boss", ["send-now", "van-7"]).output.contains("records"))
            #expect(try await self.send(scene, "boss", ["flush", "van-7"]).code == 0)
            #expect(try await self.send(scene, "boss", ["remove", "van-7"]).output == "van-7: done\n")
        }
    }

    /// Retention only grows and zones are only added through the broker, unless the agent accepts every change.
    @Test(arguments: [["--allow-commands"], ["--allow-commands", "unrestricted"]])
    func anOperatorCannotWeakenTheDevicesProtection(allowance: [String]) async throws {
        let isRestricted = allowance.count == 1
        let zone = ["--zone", "home,52.5,-8.5,300,omit", "--floor", "BALANCED/10000/0", "--keep-points", "5000"]
        try await self.withAgent(allowance + zone) { scene in
            func configure(_ setting: String) async throws -> Programs.Result {
                try await self.send(scene, "chief", ["configure", "van-7", "--argument", setting])
            }
            for setting in [
                "keep-points=1", "profile=nextbillion", "keep-days=1", "on-collision=clear", "zone=", "floor=",
            ] {
                let result = try await configure(setting)
                let remedy = "or start the agent with --allow-commands unrestricted"
                #expect(result.output.contains("van-7: NOT_ALLOWED: ") == isRestricted, "\(setting): \(result.output)")
                #expect(result.output.contains(remedy) == isRestricted)
                #expect(!result.output.contains("52.5"))
            }
            for setting in ["keep-points=", "zone=home,52.5,-8.5,400,omit", "floor=LOW/60000/10"] {
                let result = try await configure(setting)
                #expect(result.output.hasPrefix("van-7: done"), "\(setting): \(result.output)")
            }
            // The device's own controls accept the same change.
            try await scene.done(["configure", "keep-points=7", "zone="])
        }
    }

    /// MQTT 3.1.1 has no response topic: the agent answers the command with an event.
    @Test func onMQTT311TheAnswerIsAnEvent() async throws {
        try await self.withAgent(["--allow-commands"]) { scene in
            let listener = try AgentScene.Listener(scene.broker, user: "chief")
            try await listener.waitUntilListening()
            let now = Date().timeIntervalSince1970
            for (id, name) in [("c1", "REPORT"), ("c1", "REPORT"), ("c2", "SETUP"), ("c3", "REMOVE")] {
                let command = #"{"id":"\#(id)","command":"\#(name)","time":\#(now)}"#
                try await ChildProcess.run(
                    "/usr/bin/mosquitto_pub",
                    [
                        "-V", "mqttv311", "-h", "127.0.0.1", "-p", "\(scene.broker.port)", "-u", "boss", "-P",
                        "a-test-password",
                        "-i", "boss", "-q", "1", "-t", "tracking/van-7/command", "-m", command,
                    ])
            }
            func answers(_ events: [String]) -> [CommandAnswer] {
                events.compactMap { text in
                    (try? MessageCodec.decodeEvent(Array(text.utf8)[...])).flatMap { try? CommandCodec.answer(in: $0) }
                }
            }
            try await listener.wait("van-7/event") { answers($0).count >= 3 }
            let all = answers(listener.payloads("van-7/event")).sorted { $0.id < $1.id }
            #expect(all.map(\.id) == ["c1", "c2", "c3"], "each once")
            #expect(all.first?.outcome == .success([:]))
            #expect(all[1].members["error"]?["code"] == .text("NOT_ALLOWED"))
            #expect(try await scene.status().trackables.isEmpty)
        }
    }

    @Test func withoutTheFlagCommandsAreIgnored() async throws {
        try await self.withAgent([]) { scene in
            #expect(!scene.broker.log.contains("tracking/van-7/command"))
            let result = try await self.send(scene, "chief", ["off", "van-7", "--timeout", "1"])
            #expect(result.output == "van-7: no answer\n" && result.code == 1)
            #expect(try await scene.status().isOn)
        }
    }

    /// The agent remembers executed commands after it was killed, and does not execute one again.
    @Test func aCommandIsExecutedOnceDespiteAKill() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let listener = try await scene.listen()
        let command = #"{"id":"c1","command":"START_TRIP","time":\#(Date().timeIntervalSince1970)}"#
        func publish() async throws {
            try await ChildProcess.run(
                "/usr/bin/mosquitto_pub",
                [
                    "-h", "127.0.0.1", "-p", "\(scene.broker.port)", "-q", "1", "-t", "tracking/van-7/command", "-m",
                    command,
                ])
        }
        var agent = try await scene.start(["--allow-commands"])
        try await scene.status { $0.trackables.first?.state == .online }
        try await publish()
        try await listener.wait("van-7/event") { $0.contains { $0.contains("\"COMMAND\"") } }
        try await scene.done(["trip", "stop"])
        try await agent.end(SIGKILL)
        agent = try await scene.start(["--allow-commands"])
        try await scene.status { $0.trackables.first?.state == .online }
        try await publish()
        try await scene.done(["report"])
        #expect(try await scene.status().trackables[0].trip == nil)
        #expect(listener.payloads("van-7/event").filter { $0.contains("\"COMMAND\"") }.count == 1)
        #expect(try await agent.end().code == 0)
    }
}
