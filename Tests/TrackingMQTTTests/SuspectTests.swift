import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingTesting

/// A broker that closes the connection on a forbidden topic: Mosquitto behind a proxy that closes on such a topic.
@Suite(.timeLimit(.minutes(5))) struct SuspectTests {
    private func with(
        _ version: ConnectionStateMachine.Version, closingOn topic: String,
        _ body: (TestClient) async throws -> Void
    ) async throws {
        let broker = try await MosquittoProcess.start()
        let proxy = try FaultProxy(to: broker.port)
        proxy.closes(on: Array(topic.utf8))
        try await TestClient.with(TestClient.configuration("device", port: proxy.port, version: version), body)
        withExtendedLifetime(proxy) {}
    }

    @Test(arguments: [ConnectionStateMachine.Version.v5, .v311])
    func aTopicThatClosesTheConnectionThreeTimesIsSuspended(_ version: ConnectionStateMachine.Version) async throws {
        try await self.with(version, closingOn: "own/bad") { client in
            let messages = ["own/good", "own/bad", "own/more"].map { OutgoingMessage($0, "x") }
            for number in 0..<3 {
                try await client.connected(number)
                let first = TransportToken(number * 10)
                client.transport.send(messages.enumerated().map { .publish($1, first + TransportToken($0)) })
            }
            try await client.connected(3)
            let refusals = try await client.publish(messages, from: 30)
            #expect(refusals.map { $0?.code } == [nil, .notAuthorized, nil])
            #expect(refusals[1]?.message.contains("own/bad") == true)
            #expect(client.log.elements.count { $0.disconnection != nil } == 3)
        }
    }

    @Test func aFilterThatClosesTheConnectionThreeTimesIsSuspended() async throws {
        try await self.with(.v311, closingOn: "own/bad") { client in
            let filters = ["own/good", "own/bad/+", "own/more/#", "a/#/b"]
            for number in 0..<3 {
                try await client.connected(number)
                client.transport.send([.subscribe(filters, TransportToken(number))])
            }
            try await client.connected(3)
            let refusals = try await client.subscribe(filters, token: 30)
            #expect(refusals.map { $0?.code } == [nil, .notAuthorized, nil, .invalidName])
            // The other filters are subscribed, and later requests succeed.
            #expect(try await client.publish([OutgoingMessage("own/more/x", "x")], from: 40) == [nil])
            let messages = try await client.messages(1)
            #expect(messages.map(\.topic) == ["own/more/x"])
        }
    }

    /// Mosquitto closes the connection upon a packet above its limit.
    @Test func aLongSubscriptionIsSplit() async throws {
        let broker = try await MosquittoProcess.start(extra: ["max_packet_size 20000"])
        try await TestClient.with(TestClient.configuration("fleet", port: broker.port)) { client in
            try await client.connected(0)
            var filters = (0..<3_000).map { "fleet/van-\($0)/location" }
            filters[1_500] = "a/#/b"
            let refusals = try await client.subscribe(filters, token: 1)
            #expect(refusals.count == 3_000)
            #expect(refusals.indices.filter { refusals[$0] != nil } == [1_500])
            let topics = [filters[0], filters[1_501], filters[2_999]]
            _ = try await client.publish(topics.map { OutgoingMessage($0, "x") }, from: 10)
            #expect(try await client.messages(3).map(\.topic) == topics)
            #expect(client.log.elements.allSatisfy { $0.disconnection == nil })
        }
    }

    /// On MQTT 5 the broker announces its packet limit.
    @Test(arguments: [40, 1_000]) func aSubscriptionIsSplitAtTheBrokersPacketLimit(count: Int) async throws {
        let broker = try await MosquittoProcess.start(extra: ["max_packet_size 500"])
        try await TestClient.with(TestClient.configuration("fleet", port: broker.port)) { client in
            try await client.connected(0)
            var filters = (0..<count).map { "fleet/van-\($0)/location" }
            filters[count / 2] = "fleet/" + String(repeating: "x", count: 600)
            let refusals = try await client.subscribe(filters, token: 1)
            #expect(refusals.indices.filter { refusals[$0] != nil } == [count / 2])
            #expect(refusals[count / 2]?.code == .payloadTooLarge)
            let topics = [filters[0], filters[count / 2 + 1], filters[count - 1]]
            _ = try await client.publish(topics.map { OutgoingMessage($0, "x") }, from: 10)
            #expect(try await client.messages(3).map(\.topic) == topics)
            #expect(client.log.elements.allSatisfy { $0.disconnection == nil })
        }
    }

    /// A network failure is no refusal: one answer clears the suspicion.
    @Test func cutConnectionsSuspendNothing() async throws {
        let broker = try await MosquittoProcess.start()
        let proxy = try FaultProxy(to: broker.port)
        try await TestClient.with(TestClient.configuration("device", port: proxy.port)) { client in
            for number in 0..<5 {
                try await client.connected(number)
                let first = TransportToken(number * 10_000)
                let messages = (0..<100).map { OutgoingMessage("own/topic", "\($0)") }
                #expect(try await client.publish(messages, from: first).allSatisfy { $0 == nil })
                // The connection is cut with more messages in flight.
                client.transport.send(messages.enumerated().map { .publish($1, first + 5_000 + TransportToken($0)) })
                proxy.cut()
            }
        }
    }
}
