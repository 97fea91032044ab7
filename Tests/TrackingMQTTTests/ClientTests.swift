import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingTesting

/// The client's calls on a real broker.
@Suite(.timeLimit(.minutes(5))) struct ClientTests {
    /// Runs a client while `body` does, and closes it in order.
    private func with<Value: Sendable>(
        _ configuration: MQTTConfiguration, _ body: (MQTTClient) async throws -> Value
    ) async throws -> Value {
        let client = try MQTTClient(configuration: configuration)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            do {
                let value = try await body(client)
                await client.close(within: .seconds(60))
                try await group.waitForAll()
                return value
            } catch {
                group.cancelAll()
                throw error
            }
        }
    }

    private func with<Value: Sendable>(
        _ id: String, _ broker: MosquittoProcess, version: ConnectionStateMachine.Version? = nil,
        _ body: (MQTTClient) async throws -> Value
    ) async throws -> Value {
        try await self.with(TestClient.configuration(id, port: broker.port, version: version), body)
    }

    @Test func aPublishReturnsWithTheBrokersReason() async throws {
        let broker = try await MosquittoProcess.start()
        try await self.with("talker", broker) { client in
            let answer1 = try await client.publish(OutgoingMessage("nobody/here", "x"))
            #expect(answer1 == .noMatchingSubscribers)
            try await client.withSubscription(to: ["some/+"]) { _ in
                let answer2 = try await client.publish(OutgoingMessage("some/body", "x"))
                #expect(answer2 == .success)
            }
            let answer3 = try await client.publish(OutgoingMessage("some/body", "x"))
            #expect(answer3 == .noMatchingSubscribers)
        }
        try await self.with("elder", broker, version: .v311) { client in
            let answer4 = try await client.publish(OutgoingMessage("nobody/here", "x"))
            #expect(answer4 == .success, "3.1.1 does not say")
        }
    }

    @Test func aForbiddenPublishThrowsTheBrokersReason() async throws {
        let broker = try await MosquittoProcess.start { port, folder in
            let access = folder.appending(path: "acl")
            try "topic readwrite own/#\n".write(to: access, atomically: true, encoding: .utf8)
            return "listener \(port) 127.0.0.1\nallow_anonymous true\nacl_file \(access.path())"
        }
        try await self.with("meek", broker) { client in
            let error = await #expect(throws: TrackingError.self) {
                try await client.publish(OutgoingMessage("other/topic", "x"))
            }
            #expect(error?.code == .notAuthorized)
            #expect(error?.reasonCode == 0x87)
            _ = try await client.publish(OutgoingMessage("own/topic", "x"))
        }
    }

    @Test func aRequestThatMQTTForbidsThrows() async throws {
        let broker = try await MosquittoProcess.start()
        try await self.with("strict", broker) { client in
            let topic = await #expect(throws: TrackingError.self) {
                try await client.publish(OutgoingMessage("a/+", "x"))
            }
            #expect(topic?.code == .invalidName)
            let filter = await #expect(throws: TrackingError.self) {
                try await client.withSubscription(to: ["a/#/b"]) { _ in Issue.record("it was granted") }
            }
            #expect(filter?.code == .invalidName)
        }
    }

    @Test func messagesAreReadInOrderAfterTheRetainedOnes() async throws {
        let broker = try await MosquittoProcess.start()
        try await self.with("reader", broker) { client in
            try await client.publish(OutgoingMessage("a/0", "0", isRetained: true))
            let texts = try await client.withSubscription(to: ["a/+"]) { messages in
                for number in 1...5 { try await client.publish(OutgoingMessage("a/\(number)", "\(number)")) }
                var texts: [String] = []
                for try await message in messages {
                    texts.append(message.text)
                    if texts.count == 6 { break }
                }
                return texts
            }
            #expect(texts == ["0", "1", "2", "3", "4", "5"])
        }
    }

    @Test func eachSubscriptionReceivesItsOwnMessages() async throws {
        let broker = try await MosquittoProcess.start()
        try await self.with("two", broker) { client in
            try await client.withSubscription(to: ["a/#"]) { first in
                try await client.withSubscription(to: ["$share/group/b/+"]) { second in
                    try await client.publish(OutgoingMessage("b/1", "b"))
                    try await client.publish(OutgoingMessage("a/1", "a"))
                    var (firsts, seconds) = (first.makeAsyncIterator(), second.makeAsyncIterator())
                    let answer5 = try await firsts.next()?.text
                    #expect(answer5 == "a")
                    let answer6 = try await seconds.next()?.text
                    #expect(answer6 == "b")
                }
            }
        }
    }

    /// Runs `body` with a subscriber that does not read, after another client has published 20,000 messages for it.
    private func withFlood(
        waitingEvents: Int, _ body: (MQTTClient, MQTTMessages) async throws -> Void
    ) async throws {
        let broker = try await MosquittoProcess.start()
        var configuration = try TestClient.configuration("slow", port: broker.port)
        configuration.limits.waitingEvents = waitingEvents
        configuration.receiveMaximum = 20
        try await self.with(configuration) { slow in
            try await slow.withSubscription(to: ["flood"]) { messages in
                try await TestClient.with("fast", broker) { fast in
                    try await fast.connected()
                    let flood = (0..<20_000).map { OutgoingMessage("flood", "\($0)") }
                    #expect(try await fast.publish(flood).allSatisfy { $0 == nil })
                }
                try await body(slow, messages)
            }
        }
    }

    /// Reads the whole flood.
    private func expectFlood(_ messages: MQTTMessages) async throws {
        var received: [String] = []
        for try await message in messages {
            received.append(message.text)
            if received.count == 20_000 { break }
        }
        #expect(received == (0..<20_000).map(String.init), "nothing is lost")
    }

    /// While the reader waits, the buffer is bounded and the broker holds the other messages. All of them arrive.
    @Test func aReaderThatDoesNotReadHoldsTheBrokerBack() async throws {
        try await self.withFlood(waitingEvents: 100) { slow, messages in
            #expect(await slow.waitingMessages <= 100 + 600, "the limit and a pass of the loop")
            try await self.expectFlood(messages)
        }
    }

    /// An answer behind the messages of a full subscription does not keep its publisher waiting for ever.
    @Test func aPublishBehindAFullSubscriptionFails() async throws {
        try await self.withFlood(waitingEvents: 50) { slow, messages in
            let error = await #expect(throws: TrackingError.self) {
                try await slow.publish(OutgoingMessage("other", "x"))
            }
            #expect(error?.code == .refused)
            try await self.expectFlood(messages)
            // After the messages were read, a publish is answered again.
            try await slow.publish(OutgoingMessage("other", "x"))
        }
    }

    @Test func aSubscriptionOutlivesItsConnection() async throws {
        let broker = try await MosquittoProcess.start()
        let proxy = try FaultProxy(to: broker.port)
        try await self.with(TestClient.configuration("steady", port: proxy.port)) { client in
            try await client.withSubscription(to: ["steady"]) { messages in
                var iterator = messages.makeAsyncIterator()
                try await client.publish(OutgoingMessage("steady", "1"))
                let answer7 = try await iterator.next()?.text
                #expect(answer7 == "1")
                proxy.cut()
                // The publish waits for the next connection. The first attempt may still fail with the end of the
                // last one.
                var isSent = false
                while !isSent {
                    do {
                        try await client.publish(OutgoingMessage("steady", "2"))
                        isSent = true
                    } catch let error as TrackingError where error.code == .connectionLost {}
                }
                let answer8 = try await iterator.next()?.text
                #expect(answer8 == "2")
            }
        }
    }

    @Test func theReasonForAMissingConnectionIsThrown() async throws {
        let configuration = try TestClient.configuration("lonely", port: LoopbackPort.free())
        try await self.with(configuration) { client in
            let error = await #expect(throws: TrackingError.self) {
                try await client.publish(OutgoingMessage("a", "x"))
            }
            #expect(error?.code == .brokerUnreachable)
        }
    }

    /// One address that does not answer is no reason to give up while another one is tried.
    @Test func theNextAddressIsWaitedFor() async throws {
        let broker = try await MosquittoProcess.start()
        var configuration = try TestClient.configuration("ways", port: LoopbackPort.free())
        configuration.endpoints.append(MQTTEndpoint(host: "127.0.0.1", port: broker.port))
        try await self.with(configuration) { client in
            let answer9 = try await client.publish(OutgoingMessage("a", "x"))
            #expect(answer9 == .noMatchingSubscribers)
        }
    }

    @Test func aClosedClientEndsItsReadersAndRefuses() async throws {
        let broker = try await MosquittoProcess.start()
        try await self.with("closing", broker) { client in
            try await client.withSubscription(to: ["a"]) { messages in
                try await client.publish(OutgoingMessage("a", "last"))
                await client.close(within: .seconds(60))
                var texts: [String] = []
                for try await message in messages { texts.append(message.text) }
                #expect(texts == ["last"])
            }
            let error = await #expect(throws: TrackingError.self) {
                try await client.publish(OutgoingMessage("a", "x"))
            }
            #expect(error?.code == .stopped)
        }
    }

    @Test func aCancelledWaitEnds() async throws {
        let broker = try await MosquittoProcess.start()
        broker.freeze()
        let client = try MQTTClient(configuration: TestClient.configuration("patient", port: broker.port))
        await withTaskGroup(of: TrackingError.Code?.self) { group in
            group.addTask {
                do throws(TrackingError) {
                    try await client.publish(OutgoingMessage("a", "x"))
                    return nil
                } catch { return error.code }
            }
            group.addTask {
                await client.run()
                return .stopped
            }
            group.cancelAll()
            for await code in group { #expect(code == .stopped) }
        }
        broker.thaw()
    }
}
