import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// RabbitMQ 3.10: JSON Web Tokens of apps with OAuth 2, and shared subscriptions. One node serves all checks, because its
/// start takes long.
@Suite(
    .enabled(if: RabbitMQServer.isInstalled, "scripts/setup-tests installs RabbitMQ"), .timeLimit(.minutes(10)))
struct RabbitMQTests {
    /// The options of a program that issues tokens for a node.
    private static func options(_ node: RabbitMQServer) -> [String] {
        [
            "--credential-issuer", "jwt", "--credential-key-file", node.directory.appending(path: "token-key").path(),
            "--credential-control", "http://admin@127.0.0.1:\(node.managementPort)", "--credential-password-file",
            node.directory.appending(path: "password").path(), "--broker", self.broker(node), "--state",
            node.directory.appending(path: "state").path(),
        ]
    }

    private static func broker(_ node: RabbitMQServer) -> String {
        "mqtt://admin:\(RabbitMQServer.password)@127.0.0.1:\(node.port)"
    }

    private func issue(_ node: RabbitMQServer) async throws -> PrintedCredential {
        let result = try await Programs.run(
            "godwit", ["credentials", "issue", "--read", "van", "--for", "1h"] + Self.options(node))
        #expect(result.code == 0, "\(result.errors)")
        return try JSONDecoder().decode(PrintedCredential.self, from: Data(result.output.utf8))
    }

    /// Returns `true` if the broker accepts an operation of a new connection. RabbitMQ ends the connection otherwise.
    private func isAccepted(
        _ node: RabbitMQServer, _ app: PrintedCredential, id: String? = nil,
        _ operation: (MQTTClient) async throws -> Void
    ) async throws -> Bool {
        var configuration = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "127.0.0.1", port: node.port)], client: try ClientID(id ?? app.clientID))
        configuration.credentials = MQTTCredentials(user: app.username, password: app.password)
        configuration.version = .v311
        let client = try MQTTClient(configuration: configuration)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            defer { group.cancelAll() }
            do { try await operation(client) } catch is TrackingError { return false }
            return true
        }
    }

    @Test func anAppHasTheRightsOfAWatcherUntilItsTokenEndsAndARecorderNoticesThatAGroupReceivesNothing() async throws {
        let node = try await RabbitMQServer.start()
        try await self.checkSharing(node)
        let app = try await self.issue(node)
        try await self.checkRights(of: app, node)
        try await app.checkWatching(
            port: node.port, agent: ["--client-id", "box", "--broker", Self.broker(node)])
        try await self.checkEnds(node)
    }

    /// RabbitMQ grants a shared subscription and delivers nothing to it. A recorder that is alone then receives without
    /// its group; with `--fail-fast` it ends.
    private func checkSharing(_ node: RabbitMQServer) async throws {
        let server = try await PostgresServer.shared()
        let address = try await server.makeDatabase()
        func recorder(_ more: [String] = []) throws -> RunningProgram {
            try Programs.start(
                "godwit",
                [
                    "record", "--broker", Self.broker(node), "--name", "keeper", "--share", "team", "--store", address,
                    "--log-level", "info",
                ] + more, environment: ["GODWIT_SHARE_SECRET": "c0ffee00c0ffee00"])
        }
        let hasty = try await recorder(["--fail-fast"]).result(within: .seconds(60))
        #expect(hasty.code == 69 && hasty.errors.contains("delivers no messages to it"), "\(hasty.errors)")
        let recorder = try recorder()
        try await recorder.waitForLog("this recorder subscribes again without the group")
        let drive = node.directory.appending(path: "drive.jsonl")
        let lines = (0..<20).map { second in
            #"{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.5,\#(52 + Double(second) * 1e-4)]},"#
                + #""properties":{"time":\#(1_700_000_000 + second)}}"#
        }
        try lines.joined(separator: "\n").write(to: drive, atomically: true, encoding: .utf8)
        let agent = try await Programs.run(
            "godwit-agent",
            [
                "run", "--trackable", "van", "--broker", Self.broker(node), "--client-id", "recorded", "--source",
                "jsonl:\(drive.path())", "--speed", "max", "--default-resolution", "HIGH/1000/0", "--spool", "memory",
                "--acknowledge-by", "team",
            ])
        #expect(agent.code == 0, "\(agent.errors)")
        try await waitUntil { try await server.value("SELECT count(*) FROM point", in: address) == "20" }
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(60)).code == 0, "\(recorder.errors)")
    }

    /// The rights are those of the watcher `eye` in the table of all rights, with the client id of the app.
    private func checkRights(of app: PrintedCredential, _ node: RabbitMQServer) async throws {
        for grant in BrokerFilesTests.grants {
            let topic = "tracking/\(grant.topic.replacing("/eye", with: "/\(app.id)"))"
            let isWritten = try await self.isAccepted(node, app) {
                try await $0.publish(OutgoingMessage(topic: topic, payload: [1], isRetained: false))
            }
            #expect(isWritten == grant.writers.contains("eye"), "writes \(topic)")
            let isRead = try await self.isAccepted(node, app) { try await $0.withSubscription(to: [topic]) { _ in } }
            // RabbitMQ's pattern for one level of a topic also allows further levels, which no client may write.
            let isDeeper = grant.topic == "_clients/dev/deeper"
            #expect(isRead == (grant.readers.contains("eye") || isDeeper), "reads \(topic)")
        }
        for filter in ["#", "tracking/#", "tracking/+", "tracking/van/#", "tracking/van/+", "tracking/+/event"] {
            let isRead = try await self.isAccepted(node, app) { try await $0.withSubscription(to: [filter]) { _ in } }
            #expect(!isRead, "reads \(filter)")
        }
        let isReadByAnother = try await self.isAccepted(node, app, id: "another") {
            try await $0.withSubscription(to: ["tracking/van"]) { _ in }
        }
        #expect(!isReadByAnother, "the token belongs to one client id")
    }

    /// The gateway closes the connection within 2 s after the token expired, and each connection after it was revoked.
    private func checkEnds(_ node: RabbitMQServer) async throws {
        let state = ["--state", node.directory.appending(path: "state").path()]
        let made = try await Programs.run("godwit", ["token", "create", "--name", "boss", "--admin"] + state)
        let headers = ["Authorization": "Bearer \(try #require(made.lines.first))"]
        let gateway = try Programs.start(
            "godwit", ["serve", "--listen", "127.0.0.1:0", "--no-store", "--client-id", "gate"] + Self.options(node))
        try await gateway.waitForLog("listening on http://127.0.0.1:")
        let port = try #require(
            gateway.errors.firstMatch(of: #/listening on http://127\.0\.0\.1:(\d+)/#).flatMap { Int($0.1) })
        func issue(_ seconds: Int) async throws -> PrintedCredential {
            try await PrintedCredential.issued(for: seconds, by: gateway, port: port, headers: headers)
        }
        try await AppConnection.expectEnd(of: try await issue(10), port: node.port)

        let long = try await issue(3600)
        let revoked = try await AppConnection(long, port: node.port)
        async let end = revoked.end()
        let answer = try await LoopbackHTTP.request(
            "DELETE", "/api/v1/credentials/\(long.id)", port: port, headers: headers, body: "")
        #expect(answer.status == 204, "\(answer.text)")
        let answered = ContinuousClock.now
        let time = answered.duration(to: try await end)
        #expect(time <= AppConnection.bound, "\(time) after the answer")
        // The broker still accepts the token.
        for _ in 0..<3 {
            let start = ContinuousClock.now
            let time = start.duration(to: try await AppConnection(long, port: node.port).end())
            #expect(time <= AppConnection.bound, "\(time) after the beginning of the connection")
        }
        #expect(try await gateway.end().code == 0)
        #expect(!gateway.errors.contains(long.password), "\(gateway.errors)")
    }
}
