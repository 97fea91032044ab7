import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// The client's errors when the broker refuses the connection or a request.
@Suite(.timeLimit(.minutes(5))) struct RefusalTests {
    /// A broker with one user, `van-7` with the password `secret`, who may use only `own/#`.
    private func broker() async throws -> MosquittoProcess {
        try await MosquittoProcess.start { port, directory in
            let passwords = directory.appending(path: "passwords")
            try Data("van-7:secret\n".utf8).write(to: passwords)
            let tool = try ChildProcess(
                "/usr/bin/mosquitto_passwd", ["-U", passwords.path()], output: directory.appending(path: "tool").path())
            while tool.isRunning { usleep(1_000) }
            let access = directory.appending(path: "acl")
            try Data("user van-7\ntopic readwrite own/#\n".utf8).write(to: access)
            return """
                listener \(port) 127.0.0.1
                allow_anonymous false
                password_file \(passwords.path())
                acl_file \(access.path())
                """
        }
    }

    private func configuration(
        _ broker: MosquittoProcess, password: String?, version: ConnectionStateMachine.Version? = nil
    ) throws -> MQTTConfiguration {
        var configuration = try TestClient.configuration("van-7", port: broker.port, version: version)
        configuration.credentials = password.map { MQTTCredentials(user: "van-7", password: $0) }
        return configuration
    }

    @Test(arguments: [ConnectionStateMachine.Version.v5, .v311])
    func aWrongPasswordIsNamedAndTriedAgain(_ version: ConnectionStateMachine.Version) async throws {
        let broker = try await self.broker()
        try await TestClient.with(self.configuration(broker, password: "wrong", version: version)) { client in
            let reason = try await client.disconnection().reason
            #expect(reason?.code == .notAuthorized || reason?.code == .badCredentials)
            #expect(reason?.reasonCode == 0x87 || reason?.reasonCode == 0x86)
            #expect(reason?.message.contains("wrong") == false)
            try await client.log.wait("a second try", count: 2) { $0.disconnection != nil }
        }
    }

    @Test func noPasswordIsRefused() async throws {
        let broker = try await self.broker()
        try await TestClient.with(self.configuration(broker, password: nil)) { client in
            let end = try await client.disconnection()
            #expect(end.reason?.code == .notAuthorized)
        }
    }

    @Test func aForbiddenTopicIsRefusedOnMQTT5AndTheConnectionRemains() async throws {
        let broker = try await self.broker()
        try await TestClient.with(self.configuration(broker, password: "secret")) { client in
            try await client.connected()
            let refusals = try await client.publish([
                OutgoingMessage("other", "x"), OutgoingMessage("own/a", "x"),
            ])
            #expect(refusals.map { $0?.code } == [.notAuthorized, nil])
            #expect(refusals.first??.reasonCode == 0x87)
        }
    }

    @Test func aForbiddenTopicLooksFineOnMQTT311() async throws {
        let broker = try await self.broker()
        try await TestClient.with(self.configuration(broker, password: "secret", version: .v311)) { client in
            try await client.connected()
            #expect(try await client.publish([OutgoingMessage("other", "x")]) == [nil])
        }
    }

    @Test(arguments: [
        (1 as UInt8, TrackingError.Code.refused, 0x84 as UInt8), (2, .refused, 0x85), (3, .brokerUnreachable, 0x88),
        (4, .badCredentials, 0x86), (5, .notAuthorized, 0x87),
    ])
    func aReturnCodeOf311HasItsReasonInTheNumbersOf5(
        _ code: UInt8, _ expected: TrackingError.Code, _ reason: UInt8
    ) async throws {
        let broker = try FakeBroker { _, _ in .sendAndClose([0x20, 0x02, 0x00, code]) }
        try await TestClient.with(TestClient.configuration("old", port: broker.port, version: .v311)) { client in
            let error = try #require(try await client.disconnection().reason)
            #expect(error.code == expected)
            #expect(error.reasonCode == reason)
        }
    }

    /// A broker that is unavailable, busy or over a quota counts as temporarily unreachable, not as a refusal.
    @Test(arguments: [
        (0x80 as UInt8, true), (0x83, true), (0x88, true), (0x89, true), (0x97, true), (0x9F, true), (0x85, false),
        (0x8A, false), (0x8C, false),
    ]) func aTemporaryReasonIsNoRefusal(_ reason: UInt8, _ passes: Bool) async throws {
        let broker = try FakeBroker { _, _ in .sendAndClose(FakeBroker.refuses5(reason)) }
        try await TestClient.with(TestClient.configuration("busy", port: broker.port)) { client in
            let error = try #require(try await client.disconnection().reason)
            #expect(error.code == (passes ? .brokerUnreachable : .refused))
            #expect(error.reasonCode == reason)
        }
    }

    @Test func aBrokerWithoutMQTT5IsConnectedToWithMQTT311() async throws {
        let broker = try FakeBroker { level, _ in
            level == 5 ? .sendAndClose(FakeBroker.refuses5(0x84)) : .send(FakeBroker.accepts311)
        }
        try await TestClient.with(TestClient.configuration("new", port: broker.port)) { client in
            try await client.connected()
            #expect(broker.levels == [5, 4])
            #expect(client.log.elements.count == 1, "a fallback is not a disconnection")
        }
    }

    @Test func anAnswerInThreeOneOneToMQTT5IsUnderstood() async throws {
        let broker = try FakeBroker { level, _ in
            level == 5 ? .sendAndClose([0x20, 0x02, 0x00, 0x01]) : .send(FakeBroker.accepts311)
        }
        try await TestClient.with(TestClient.configuration("new", port: broker.port)) { client in
            try await client.connected()
            #expect(broker.levels == [5, 4])
        }
    }

    @Test func aBrokerThatClosesSilentlyIsConnectedToWithMQTT311() async throws {
        let broker = try FakeBroker { level, _ in
            level == 5 ? .sendAndClose([]) : .send(FakeBroker.accepts311)
        }
        try await TestClient.with(TestClient.configuration("new", port: broker.port)) { client in
            try await client.connected()
            #expect(broker.levels.first == 5 && broker.levels.last == 4, "\(broker.levels)")
        }
    }

    @Test func aRefusedPasswordIsNotTriedIn311() async throws {
        let broker = try FakeBroker { _, _ in .sendAndClose(FakeBroker.refuses5(0x86)) }
        try await TestClient.with(TestClient.configuration("new", port: broker.port)) { client in
            try await client.log.wait("three tries", count: 3) { _ in true }
            #expect(Set(broker.levels) == [5])
        }
    }

    @Test func aPinnedVersionIsKept() async throws {
        let broker = try FakeBroker { _, _ in .sendAndClose(FakeBroker.refuses5(0x84)) }
        try await TestClient.with(TestClient.configuration("new", port: broker.port, version: .v5)) { client in
            try await client.log.wait("three tries", count: 3) { _ in true }
            #expect(Set(broker.levels) == [5])
        }
    }

    /// A broker without retained messages refuses a retained will (0x9A).
    @Test func aBrokerWithoutRetainedMessagesIsConnectedTo() async throws {
        let broker = try await MosquittoProcess.start(extra: ["retain_available false"])
        try await TestClient.with("watcher", broker) { watcher in
            try await watcher.connected()
            try await watcher.subscribe(["#"])
            var configuration = try TestClient.configuration("van", port: broker.port)
            configuration.will = { _ in OutgoingMessage(topic: "will", payload: Array("x".utf8), isRetained: true) }
            try await TestClient.with(configuration) { client in
                try await client.connected()
                let message = OutgoingMessage(topic: "m", payload: Array("y".utf8), isRetained: true)
                #expect(try await client.publish([message]) == [nil])
                #expect(!client.log.elements.contains { $0.disconnection != nil })
            }
            #expect(Set(try await watcher.messages(2).map(\.topic)) == ["m", "will"])
        }
    }

    @Test func aBrokerThatIsSilentIsNamed() async throws {
        let broker = try FakeBroker { _, _ in .nothing }
        var configuration = try TestClient.configuration("van", port: broker.port)
        configuration.connectTimeout = .milliseconds(300)
        try await TestClient.with(configuration) { client in
            let reason = try #require(try await client.disconnection().reason)
            #expect(reason.code == .brokerUnreachable)
            #expect(reason.message.contains("mqtt://127.0.0.1:\(broker.port) did not answer"), "\(reason)")
        }
    }
}
