import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// The exchange between a client and a real broker without faults.
@Suite(.timeLimit(.minutes(5))) struct BrokerTests {
    @Test(arguments: [ConnectionStateMachine.Version.v5, .v311])
    func aMessageComesBack(_ version: ConnectionStateMachine.Version) async throws {
        let broker = try await MosquittoProcess.start()
        try await TestClient.with("echo", broker, version: version) { client in
            try await client.connected()
            #expect(try await client.subscribe(["tracking/#"]) == [nil])
            #expect(try await client.publish([OutgoingMessage("tracking/van-7", "hello")]) == [nil])
            let message = try #require(try await client.messages(1).first)
            #expect(message.topic == "tracking/van-7")
            #expect(message.text == "hello")
            #expect(!message.isRetained)
        }
    }

    @Test func aRetainedMessageComesBeforeTheAnswerToTheSubscription() async throws {
        let broker = try await MosquittoProcess.start()
        try await TestClient.with("keeper", broker) { client in
            try await client.connected()
            #expect(try await client.publish([OutgoingMessage("a/b", "kept", isRetained: true)]) == [nil])
        }
        try await TestClient.with("late", broker) { client in
            try await client.connected()
            try await client.subscribe(["a/+"], token: 7)
            let message = try #require(try await client.messages(1).first)
            #expect(message.isRetained)
            #expect(message.text == "kept")
            // An empty one clears the topic.
            #expect(try await client.publish([OutgoingMessage("a/b", "", isRetained: true)]) == [nil])
        }
        try await TestClient.with("later", broker) { client in
            try await client.connected()
            try await client.subscribe(["a/+"])
            #expect(client.messages.isEmpty)
        }
    }

    @Test func aBatchKeepsItsOrderThroughAFullWindow() async throws {
        let broker = try await MosquittoProcess.start()
        var configuration = try TestClient.configuration("order", port: broker.port)
        configuration.sendMaximum = 7
        try await TestClient.with(configuration) { client in
            try await client.connected()
            try await client.subscribe(["order/#"])
            let messages = (0..<2_000).map { OutgoingMessage("order/\($0 % 3)", "\($0)") }
            let refusals = try await client.publish(messages)
            #expect(refusals.allSatisfy { $0 == nil })
            let received = try await client.messages(2_000).map(\.text)
            #expect(received == (0..<2_000).map(String.init))
            let answers = client.log.elements.compactMap(\.published)
            #expect(answers == Array(1...2_000))
        }
    }

    @Test func propertiesTravelOnMQTT5() async throws {
        let broker = try await MosquittoProcess.start()
        try await TestClient.with("properties", broker) { client in
            try await client.connected()
            try await client.subscribe(["p"])
            var message = OutgoingMessage("p", "x")
            message.properties.contentType = "application/json"
            message.properties.responseTopic = "answer/here"
            message.properties.correlationData = [0, 1, 255]
            message.properties.expiry = .seconds(60)
            #expect(try await client.publish([message]) == [nil])
            let received = try #require(try await client.messages(1).first)
            #expect(received.properties == message.properties)
        }
    }

    @Test(arguments: [ConnectionStateMachine.Version.v5, .v311])
    func aSharedSubscriptionDividesTheMessages(_ version: ConnectionStateMachine.Version) async throws {
        let broker = try await MosquittoProcess.start()
        try await TestClient.with("one", broker, version: version) { one in
            try await TestClient.with("two", broker, version: version) { two in
                try await one.connected()
                try await two.connected()
                #expect(try await one.subscribe(["$share/recorders/s/#"]) == [nil])
                #expect(try await two.subscribe(["$share/recorders/s/#"]) == [nil])
                _ = try await one.publish((0..<100).map { OutgoingMessage("s/\($0)", "x") })
                // Mosquitto takes turns.
                #expect(try await one.messages(50).count + two.messages(50).count == 100)
            }
        }
    }

    @Test func aRequestThatMQTTForbidsIsRefusedAloneOfItsBatch() async throws {
        let broker = try await MosquittoProcess.start()
        try await TestClient.with("strict", broker) { client in
            try await client.connected()
            let large = OutgoingMessage(
                topic: "large", payload: Array(repeating: 1, count: 131_073), isRetained: false)
            let largest = OutgoingMessage(
                topic: "large", payload: Array(repeating: 1, count: 131_072), isRetained: false)
            let codes = try await client.publish([
                large, OutgoingMessage("a/+", "x"), OutgoingMessage("", "x"), OutgoingMessage("a\0b", "x"), largest,
                OutgoingMessage("fine", "x"),
            ]).map { $0?.code }
            #expect(codes == [.payloadTooLarge, .invalidName, .invalidName, .invalidName, nil, nil])
            let refusals = try await client.subscribe(["a/#/b", "fine/#", "", "b\0"]).map { $0?.code }
            #expect(refusals == [.invalidName, nil, .invalidName, .invalidName])
            let none = try await client.subscribe(["a/#/b"], token: 8).map { $0?.code }
            #expect(none == [.invalidName])
        }
    }

    @Test func anUnsubscribedTopicIsSilent() async throws {
        let broker = try await MosquittoProcess.start()
        try await TestClient.with("leaver", broker) { client in
            try await client.connected()
            try await client.subscribe(["a", "b"])
            client.transport.send([.unsubscribe(["a"])])
            _ = try await client.publish([OutgoingMessage("a", "1"), OutgoingMessage("b", "2")])
            let messages = try await client.messages(1)
            #expect(messages.map(\.topic) == ["b"])
        }
    }

    @Test func manyConnectionsShareOneLoop() async throws {
        let broker = try await MosquittoProcess.start(extra: ["max_connections -1"])
        let configurations = try (0..<200).map { try TestClient.configuration("many-\($0)", port: broker.port) }
        let loop = MQTTEventLoop(name: "many")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, configuration) in configurations.enumerated() {
                group.addTask {
                    try await TestClient.with(configuration, loop: loop) { client in
                        try await client.connected()
                        try await client.subscribe(["many/\(index)"])
                        _ = try await client.publish([OutgoingMessage("many/\(index)", "\(index)")])
                        let messages = try await client.messages(1)
                        #expect(messages.map(\.text) == ["\(index)"])
                    }
                }
            }
            try await group.waitForAll()
        }
        loop.shutdown()
    }
}
