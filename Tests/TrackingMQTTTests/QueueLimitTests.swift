import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// A broker with Mosquitto's own limits, which drops messages beyond a queue of 1000.
@Suite(.timeLimit(.minutes(5))) struct QueueLimitTests {
    @Test func aSubscriptionReceivesMoreRetainedMessagesThanTheBrokerQueues() async throws {
        let count = 6000
        let broker = try await MosquittoProcess.start { port, _ in "listener \(port) 127.0.0.1\nallow_anonymous true" }
        try await TestClient.with("writer", broker) { writer in
            try await writer.connected()
            let retained = (0..<count).map {
                OutgoingMessage(topic: "many/\($0)", payload: Array("\($0)".utf8), isRetained: true)
            }
            #expect(try await writer.publish(retained).allSatisfy { $0 == nil })
        }
        try await TestClient.with("reader", broker) { reader in
            try await reader.connected()
            try await reader.subscribe(["many/+"])
            #expect(try await Set(reader.messages(count).map(\.text)).count == count)
        }
    }
}
