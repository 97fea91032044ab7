import Foundation
import Synchronization
import TestSupport
import Testing
import TrackingCore

@testable import TrackingMQTT

/// Credentials that a provider returns for each attempt to connect.
@Suite(.timeLimit(.minutes(5))) struct CredentialsTests {
    /// A provider of credentials that counts its questions. Its answer can be replaced.
    private final class Provider: Sendable {
        private struct State {
            var answers: [MQTTCredentials]
            var questions = 0
        }
        private let state: Mutex<State>
        private let lifetime: Double?

        /// - Parameters:
        ///   - answers: The credentials for the questions, in order; the last ones for all further questions.
        ///   - lifetime: The lifetime of the credentials in seconds, from the question on; `nil` for no expiry.
        init(_ answers: [MQTTCredentials], lifetime: Double? = nil) {
            self.state = Mutex(State(answers: answers))
            self.lifetime = lifetime
        }

        var questions: Int { self.state.withLock { $0.questions } }

        func replace(_ answer: MQTTCredentials) { self.state.withLock { $0.answers = [answer] } }

        func ask() -> MQTTCredentials {
            self.state.withLock { state in
                state.questions += 1
                var answer = state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
                answer.expiry = self.lifetime.map { UnixTime(Date.now.timeIntervalSince1970 + $0) }
                return answer
            }
        }
    }

    private static func van(_ password: String, expiry: UnixTime? = nil) -> MQTTCredentials {
        MQTTCredentials(user: "van-7", password: password, expiry: expiry)
    }

    private static func configuration(
        _ broker: MosquittoProcess, _ provider: Provider, version: ConnectionStateMachine.Version? = nil
    ) throws -> MQTTConfiguration {
        var configuration = try TestClient.configuration("van-7", port: broker.port, version: version)
        configuration.credentialsProvider = { provider.ask() }
        return configuration
    }

    @Test(arguments: [ConnectionStateMachine.Version.v5, .v311])
    func aRotatedPasswordIsAskedForWhenTheBrokerEndsTheConnection(
        _ version: ConnectionStateMachine.Version
    ) async throws {
        let broker = try await MosquittoProcess.start(passwords: ["van-7": "one"])
        let provider = Provider([Self.van("one")])
        try await TestClient.with(Self.configuration(broker, provider, version: version)) { client in
            try await client.connected()
            provider.replace(Self.van("two"))
            try await broker.replacePasswords(["van-7": "two"])
            try await client.connected(1)
        }
    }

    /// The broker has the new password first, as in a rotation in the wrong order.
    @Test func aRefusalIsNotFinal() async throws {
        let broker = try await MosquittoProcess.start(passwords: ["van-7": "two"])
        let provider = Provider([Self.van("one")])
        try await TestClient.with(Self.configuration(broker, provider)) { client in
            let reason = try await client.disconnection().reason
            #expect(reason?.isIdentityRefusal == true)
            #expect(provider.questions >= 2, "it was asked once more, at once")
            provider.replace(Self.van("two"))
            try await client.connected()
        }
    }

    @Test func otherCredentialsAfterARefusalAreTriedAtOnce() async throws {
        let broker = try await MosquittoProcess.start(passwords: ["van-7": "two"])
        let provider = Provider([Self.van("one"), Self.van("two")])
        try await TestClient.with(Self.configuration(broker, provider)) { client in
            try await client.connected()
            #expect(!client.log.elements.contains { $0.disconnection != nil }, "there was no wait")
            #expect(provider.questions == 2)
        }
    }

    /// The broker knows two users, and the provider returns the second one before the first one's password expires.
    @Test(arguments: [ConnectionStateMachine.Version.v5, .v311])
    func expiringCredentialsAreReplacedByAnOrderlyReconnect(_ version: ConnectionStateMachine.Version) async throws {
        let broker = try await MosquittoProcess.start(passwords: ["van-7": "one", "van-8": "two", "desk": "three"])
        let provider = Provider([Self.van("one"), MQTTCredentials(user: "van-8", password: "two")], lifetime: 6)
        var watching = try TestClient.configuration("desk", port: broker.port)
        watching.credentials = MQTTCredentials(user: "desk", password: "three")
        try await TestClient.with(watching) { watcher in
            try await watcher.connected()
            try await watcher.subscribe(["#"])
            var configuration = try Self.configuration(broker, provider, version: version)
            configuration.will = { OutgoingMessage("will", "\($0)") }
            try await TestClient.with(configuration) { client in
                try await client.connected()
                #expect(try await client.publish([OutgoingMessage("m", "before")]) == [nil])
                try await client.connected(1)
                let end = try await client.disconnection()
                #expect(end.isRenewal && end.reason == nil && end.retry == .zero)
                #expect(try await client.publish([OutgoingMessage("m", "after")], from: 9) == [nil])
            }
            _ = try await watcher.messages(2)
            #expect(watcher.messages.prefix(2).map(\.text) == ["before", "after"], "no will between them")
        }
        #expect(broker.log.contains("u'van-8'"))
    }

    /// A DISCONNECT would send acknowledgements of messages that are not stored yet, so it waits for them.
    @Test func theReconnectWaitsForWithheldAcknowledgements() async throws {
        let broker = try await MosquittoProcess.start(passwords: ["van-7": "one", "van-8": "two", "desk": "three"])
        let provider = Provider([Self.van("one"), MQTTCredentials(user: "van-8", password: "two")], lifetime: 6)
        var sending = try TestClient.configuration("desk", port: broker.port)
        sending.credentials = MQTTCredentials(user: "desk", password: "three")
        var configuration = try Self.configuration(broker, provider)
        configuration.withholdsAcknowledgements = true
        configuration.session = .kept(for: .seconds(60))
        try await TestClient.with(sending) { sender in
            try await sender.connected()
            try await TestClient.with(configuration) { client in
                try await client.connected()
                try await client.subscribe(["m"])
                _ = try await sender.publish([OutgoingMessage("m", "stored later")])
                _ = try await client.messages(1)
                let deadline = ContinuousClock.now + .seconds(60)
                while provider.questions < 2, ContinuousClock.now < deadline {
                    try await Task.sleep(for: .milliseconds(20))
                }
                #expect(!broker.log.contains("Received PUBACK from van-7"))
                client.transport.send([.acknowledge(through: 1, connection: 0)])
                try await client.connected(1)
                #expect(try await client.disconnection().isRenewal)
                _ = try await sender.publish([OutgoingMessage("m", "next")], from: 9)
                #expect(try await client.messages(2).map(\.text) == ["stored later", "next"], "each came once")
            }
        }
        #expect(
            broker.log.contains("Received PUBACK from van-7") && broker.log.contains("Received DISCONNECT from van-7"))
    }

    @Test func theSameCredentialsAreNoReasonToReconnect() async throws {
        let broker = try await MosquittoProcess.start(passwords: ["van-7": "one"])
        let provider = Provider([Self.van("one")], lifetime: 6)
        try await TestClient.with(Self.configuration(broker, provider)) { client in
            try await client.connected()
            let deadline = ContinuousClock.now + .seconds(60)
            while provider.questions < 2, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(provider.questions >= 2)
            #expect(try await client.publish([OutgoingMessage("m", "x")]) == [nil])
            #expect(!client.log.elements.contains { $0.disconnection != nil })
        }
    }

    @Test func theErrorOfTheProviderIsTheReason() async throws {
        struct Locked: Error {}
        var configuration = try TestClient.configuration("van-7", port: 1)
        configuration.credentialsProvider = { throw Locked() }
        try await TestClient.with(configuration) { client in
            let reason = try await client.disconnection().reason
            #expect(reason?.code == .inputUnreadable && reason?.message.contains("Locked()") == true)
        }
        configuration.credentialsProvider = { Self.van("one\u{0}") }
        try await TestClient.with(configuration) { client in
            let reason = try await client.disconnection().reason
            #expect(reason?.code == .invalidConfiguration)
        }
    }

    /// A provider that never returns does not keep a client from closing.
    @Test func aCloseCancelsTheQuestion() async throws {
        let cancelled = EventLog<Bool>()
        var configuration = try TestClient.configuration("van-7", port: 1)
        configuration.credentialsProvider = {
            cancelled.append([false])
            try? await Task.sleep(for: .seconds(600))
            cancelled.append([Task.isCancelled])
            return Self.van("one")
        }
        try await TestClient.with(configuration) { client in
            try await cancelled.wait("the question") { _ in true }
            client.transport.send([.close(within: .zero)])
            try await client.disconnection { $0.retry == nil }
            try await cancelled.wait("the cancellation") { $0 }
        }
    }

    // MARK: - JSON Web Tokens

    private static func token(_ payload: String, padding: String = "") -> String {
        let text = Data(payload.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        return "eyJhbGciOiJub25lIn0.\(text.replacing("=", with: ""))\(padding).c2ln"
    }

    @Test(
        arguments: [
            (#"{"exp":1790000000}"#, 1_790_000_000), (#"{"exp":1790000000.5,"sub":"ÿÿÿ>>>???"}"#, 1_790_000_000.5),
            (#"{"sub":"x"}"#, nil), (#"{"exp":"soon"}"#, nil), (#"{"exp":1e300}"#, nil), (#"[1]"#, nil), ("", nil),
            ("{", nil),
        ] as [(String, Double?)])
    func aTokenExpiresAtItsClaim(payload: String, seconds: Double?) {
        let credentials = Self.van(Self.token(payload))
        #expect(credentials.passwordExpiry == seconds.map { UnixTime($0) })
    }

    @Test func theGivenExpiryWinsOverThatOfTheToken() {
        let credentials = Self.van(Self.token(#"{"exp":1790000000}"#), expiry: UnixTime(5))
        #expect(credentials.passwordExpiry == UnixTime(5))
    }

    @Test(arguments: [
        "hunter2", "a.b", "a.b.c.d", "..", "a..c", ".e30.c", "a.e.c", "a.e3 0.c", "a.e30===.c", "a.é.c",
    ])
    func otherPasswordsAreNoTokens(password: String) { #expect(Self.van(password).passwordExpiry == nil) }

    @Test func aTokenAboveTheLimitIsNotRead() {
        let claims = { (count: Int) in #"{"exp":1790000000,"x":""# + String(repeating: "x", count: count) + #""}"# }
        #expect(Self.van(Self.token(claims(20_000))).passwordExpiry != nil)
        #expect(Self.van(Self.token(claims(30_000))).passwordExpiry == nil)
    }

    @Test(arguments: ["", "f", "fo", "foo", "foob", "fooba", "foobar", "\u{0}ÿ>?"])
    func base64IsDecodedWithAndWithoutPadding(text: String) {
        let padded = Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        #expect(JSONWebToken.decoded(padded[...].utf8) == Array(text.utf8))
        #expect(JSONWebToken.decoded(padded.replacing("=", with: "")[...].utf8) == Array(text.utf8))
    }
}
