import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// The credentials of apps at a Mosquitto with the dynamic security plugin.
@Suite(.timeLimit(.minutes(10))) struct AppCredentialTests {
    private func issue(_ broker: DynamicSecurityBroker, _ arguments: [String]) async throws -> PrintedCredential {
        let result = try await Programs.run("godwit", ["credentials", "issue"] + arguments + broker.options)
        #expect(result.code == 0, "\(result.errors)")
        return try JSONDecoder().decode(PrintedCredential.self, from: Data(result.output.utf8))
    }

    /// Runs a client while `body` does.
    private func with<Value>(_ client: MQTTClient, _ body: () async throws -> Value) async throws -> Value {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            defer { group.cancelAll() }
            return try await body()
        }
    }

    /// Returns the broker's refusal of an operation; `nil` if the broker accepts it.
    private func refusal(_ operation: () async throws -> Void) async throws -> TrackingError.Code? {
        do { try await operation() } catch let error as TrackingError { return error.code }
        return nil
    }

    /// The rights are those of the watcher `eye` in the table of all rights, with the client id of the app.
    @Test func anAppHasTheRightsOfAWatcherAndNoOthers() async throws {
        let broker = try await DynamicSecurityBroker()
        let app = try await self.issue(broker, ["--read", "van", "--for", "1h"])
        #expect(app.username == app.id && app.clientID == app.id && app.read == ["van"])
        #expect(app.broker == "mqtt://127.0.0.1:\(broker.broker.port)")
        let client = try broker.client(app.username, app.password)
        try await self.with(client) {
            for grant in BrokerFilesTests.grants {
                let topic = "tracking/\(grant.topic.replacing("/eye", with: "/\(app.id)"))"
                let written = try await self.refusal {
                    try await client.publish(OutgoingMessage(topic: topic, payload: [1], isRetained: false))
                }
                #expect(written == (grant.writers.contains("eye") ? nil : .notAuthorized), "writes \(topic)")
                let read = try await self.refusal { try await client.withSubscription(to: [topic]) { _ in } }
                #expect(read == (grant.readers.contains("eye") ? nil : .notAuthorized), "reads \(topic)")
            }
            for filter in [
                "#", "tracking/#", "tracking/+", "tracking/van/#", "tracking/van/+", "$share/x/tracking/van", "$SYS/#",
                DynamicSecurityTopics.responses,
            ] {
                let read = try await self.refusal { try await client.withSubscription(to: [filter]) { _ in } }
                #expect(read == .notAuthorized, "reads \(filter)")
            }
            let control = try await self.refusal {
                try await client.publish(
                    OutgoingMessage(
                        topic: DynamicSecurityTopics.requests, payload: Array(#"{"commands":[]}"#.utf8),
                        isRetained: false))
            }
            #expect(control == .notAuthorized)
        }
        // The credential belongs to one client id.
        let other = try broker.client(app.username, app.password, id: "another")
        let refused = try await self.with(other) {
            try await self.refusal {
                try await other.publish(
                    OutgoingMessage(topic: "tracking/_clients/\(app.id)", payload: [1], isRetained: false))
            }
        }
        #expect(refused == .badCredentials || refused == .notAuthorized)
        let listed = try await Programs.run("godwit", ["credentials", "list", "--format", "json"] + broker.state)
        #expect(listed.output.contains(app.id) && !listed.output.contains(app.password))
    }

    /// A watcher of the SDK works with these rights: it is present, and gets the positions.
    @Test func anAppWatchesItsTrackable() async throws {
        let broker = try await DynamicSecurityBroker()
        let app = try await self.issue(broker, ["--read", "van", "--for", "1h"])
        try await app.checkWatching(
            port: broker.broker.port,
            agent: ["--broker", "mqtt://root:\(DynamicSecurityBroker.password)@127.0.0.1:\(broker.broker.port)"])
    }

    private func gateway(_ broker: DynamicSecurityBroker) async throws -> (program: RunningProgram, port: Int) {
        let gateway = try Programs.start(
            "godwit", ["serve", "--listen", "127.0.0.1:0", "--no-store"] + broker.options)
        try await gateway.waitForLog("listening on http://127.0.0.1:")
        let port = gateway.errors.firstMatch(of: #/listening on http://127\.0\.0\.1:(\d+)/#).flatMap { Int($0.1) }
        return (gateway, try #require(port))
    }

    /// The connection of an app ends within 2 s after its credential expired, after it was revoked, and after the
    /// restart of a gateway that was killed before the end of the credential.
    @Test func anEndedCredentialLosesItsConnection() async throws {
        let broker = try await DynamicSecurityBroker()
        let made = try await Programs.run("godwit", ["token", "create", "--name", "boss", "--admin"] + broker.state)
        let headers = ["Authorization": "Bearer \(try #require(made.lines.first))"]
        var (gateway, port) = try await self.gateway(broker)
        func issue(_ seconds: Int) async throws -> PrintedCredential {
            try await PrintedCredential.issued(for: seconds, by: gateway, port: port, headers: headers)
        }
        try await AppConnection.expectEnd(of: try await issue(10), port: broker.broker.port)

        for viaCommand in [false, true] {
            let long = try await issue(3600)
            let revoked = try await AppConnection(long, port: broker.broker.port)
            async let end = revoked.end()
            if viaCommand {
                // The running gateway ends the connection.
                let result = try await Programs.run("godwit", ["credentials", "revoke", long.id] + broker.state)
                #expect(result.code == 0, "\(result.errors)")
            } else {
                let answer = try await LoopbackHTTP.request(
                    "DELETE", "/api/v1/credentials/\(long.id)", port: port, headers: headers, body: "")
                #expect(answer.status == 204, "\(answer.text)")
            }
            let answered = ContinuousClock.now
            let time = answered.duration(to: try await end)
            #expect(time <= AppConnection.bound, "\(time) after the answer, \(viaCommand)")
            #expect(try await !AppConnection.isAccepted(long, port: broker.broker.port))
            let again = try await Programs.run("godwit", ["credentials", "revoke", long.id] + broker.state)
            #expect(again.code == 1)
        }

        let late = try await issue(10)
        let surviving = try await AppConnection(late, port: broker.broker.port)
        _ = try await gateway.end(SIGKILL)
        try await waitUntil { Date.now.timeIntervalSince1970 >= late.expires }
        #expect(!surviving.hasEnded, "no gateway runs")
        (gateway, port) = try await self.gateway(broker)
        let started = ContinuousClock.now
        let time = started.duration(to: try await surviving.end())
        #expect(time <= AppConnection.bound, "\(time) after the start")
        #expect(try await gateway.end().code == 0)
        #expect(!gateway.errors.contains(late.password) && !gateway.errors.contains(DynamicSecurityBroker.password))
    }
}

/// The topics of the plugin.
private enum DynamicSecurityTopics {
    static let requests = "$CONTROL/dynamic-security/v1"
    static let responses = "$CONTROL/dynamic-security/v1/response"
}

extension DynamicSecurityBroker {
    /// The option for the folder of the gateway's data.
    fileprivate var state: [String] { ["--state", self.folder.appending(path: "state").path()] }
}
