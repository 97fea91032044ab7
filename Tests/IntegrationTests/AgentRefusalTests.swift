import Foundation
import TestSupport
import Testing
import TrackingControl
import TrackingCore

/// The agent's behaviour with a broker that rejects its messages or cannot be reached.
@Suite(.timeLimit(.minutes(10))) struct AgentRefusalTests {
    /// A broker with the users `old` and `box`, whose password is `hunter2`. Only `box` has rights.
    private static func guarded(_ folder: URL) async throws -> MosquittoProcess {
        let passwords = folder.appending(path: "passwords").path()
        let rules = folder.appending(path: "rules").path()
        try await ChildProcess.run(
            "/bin/sh",
            [
                "-ec",
                "umask 077; mosquitto_passwd -b -c '\(passwords)' old hunter2; "
                    + "mosquitto_passwd -b '\(passwords)' box hunter2; chmod 644 '\(passwords)'",
            ])
        try "user box\ntopic readwrite tracking/#\nuser old\ntopic readwrite tracking/_clients/#\n"
            .write(toFile: rules, atomically: false, encoding: .utf8)
        return try await MosquittoProcess.start { port, _ in
            "listener \(port) 127.0.0.1\nallow_anonymous false\npassword_file \(passwords)\nacl_file \(rules)"
        }
    }

    @Test func aSetUpLinkHelpsAnAgentThatIsRefused() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gw-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let broker = try await Self.guarded(folder)
        let scene = try AgentScene(broker)
        let agent = try await scene.start(["--broker", "mqtt://old:hunter2@127.0.0.1:\(broker.port)"])
        try await scene.status { $0.trackables.first?.refusal?.contains("Not authorized") == true }
        try await scene.done(["setup", "godwit://setup?user=box&token=hunter2", "--yes"])
        try await scene.status { $0.connection.isUp && $0.trackables.first?.state == .online }
        #expect(try await agent.end().code == 0)
    }

    @Test func theRefusalOfAZoneRepeatsNoPosition() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let agent = try await scene.start()
        let refused = try await scene.control(["configure", "zone=home,52.66,-8.63"])
        #expect(refused.code == 1 && refused.errors.contains("a value of the setting 'zone' has the wrong form"))
        #expect(!(refused.errors + refused.output + agent.errors).contains("52.66"))
        #expect(try await agent.end().code == 0)
    }

    /// With several addresses of one broker, the agent ends only after the last one did not answer.
    @Test func failFastTriesEveryAddressFirst() async throws {
        let broker = try await MosquittoProcess.start()
        let scene = try AgentScene(broker)
        let track = scene.file("track.jsonl")
        try
            #"{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.6,52.6]},"properties":{"time":1790000000}}"#
            .write(toFile: track, atomically: false, encoding: .utf8)
        let run = [
            "run", "--trackable", "van-7", "--source", "jsonl:\(track)", "--battery", "none", "--spool", "memory",
            "--socket", scene.socket, "--fail-fast",
        ]
        // No server listens on port 1.
        let up = try await Programs.run(
            "godwit-agent", run + ["--broker", "mqtt://127.0.0.1:1", "--broker", broker.url])
        #expect(up.code == 0, "\(up.errors)")
        let down = try await Programs.run(
            "godwit-agent", run + ["--broker", "mqtt://127.0.0.1:1", "--broker", "mqtt://127.0.0.1:1"])
        #expect(down.code == 69, "\(down.errors)")
        let watch = try await Programs.run(
            "godwit",
            ["watch", "van-7", "--count", "1", "--fail-fast", "--broker", "mqtt://127.0.0.1:1", "--broker", broker.url])
        #expect(watch.code == 0, "\(watch.errors)")
    }

    /// The gateway and each connection of the bridge end as well, instead of trying again.
    @Test func failFastEndsTheGatewayAndTheBridge() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-fast-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let more = ["--state", folder, "--fail-fast", "--broker", "mqtt://127.0.0.1:1"]
        for command in [["serve", "--no-store", "--listen", "127.0.0.1:0"], ["bridge", "owntracks"]] {
            let result = try await Programs.run("godwit", command + more)
            #expect(result.code == 69, "\(command): \(result.errors)")
        }
    }
}
