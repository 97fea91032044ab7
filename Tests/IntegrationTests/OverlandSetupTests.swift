import Foundation
import TestSupport
import Testing
import TrackingControl
import TrackingCore

/// Overland's set-up link configures an agent's broker, user, password and trackable through a real gateway.
@Suite(.timeLimit(.minutes(10))) struct OverlandSetupTests {
    @Test func aSetupLinkConfiguresAnAgent() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let state = ["--state", scene.file("gateway")]
        let created = try await Programs.run(
            "godwit", ["token", "create", "--name", "box", "--publish", "van-9"] + state)
        let token = try #require(created.lines.first, "\(created.errors)")
        let guarded = try await Self.broker(of: "box", password: token, in: scene.file("passwords"))
        let port = try LoopbackPort.free()
        let gateway = try Programs.start(
            "godwit",
            ["serve", "--broker", scene.broker.url, "--listen", "127.0.0.1:\(port)", "--agent-broker", guarded.url]
                + state)
        try await gateway.waitForLog("listening on http://127.0.0.1:")
        let agent = try await scene.start()
        try await scene.status { $0.connection.isUp }

        let link = "overland://setup?url=http%3A%2F%2F127.0.0.1%3A\(port)%2Foverland&device_id=box&unique_id=yes"
        let refused = try await scene.control(["setup", "\(link)&token=wrong", "--yes"])
        #expect(refused.code != 0 && refused.errors.contains("token"), "\(refused.errors)")
        #expect(try await scene.status().connection.broker == scene.broker.url)

        let done = try await scene.control(["setup", "\(link)&token=\(token)", "--yes"])
        #expect(done.code == 0 && done.output.contains("trackable: van-7 -> van-9"), "\(done.output)\(done.errors)")
        try await scene.status {
            $0.connection.broker == guarded.url && $0.connection.isUp && $0.trackables.first?.state == .online
        }
        #expect(!(done.output + done.errors + agent.errors + gateway.errors).contains(token))
        #expect(try await agent.end().code == 0)
        #expect(try await gateway.end().code == 0)
    }

    private static func broker(of user: String, password: String, in file: String) async throws -> MosquittoProcess {
        try await ChildProcess.run(
            "/bin/sh",
            ["-ec", "umask 077; mosquitto_passwd -b -c '\(file)' '\(user)' '\(password)'; chmod 644 '\(file)'"])
        return try await MosquittoProcess.start { port, _ in
            "listener \(port) 127.0.0.1\nallow_anonymous false\npassword_file \(file)"
        }
    }
}
