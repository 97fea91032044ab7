import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// What a client and a real broker say to one another when nothing goes wrong.
@Suite(.timeLimit(.minutes(2))) struct BrokerTests {
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
}
