import Testing
import TrackingCore
import TrackingTesting

@Suite struct InMemoryBrokerTests {
    @Test(.timeLimit(.minutes(5))) func aWillIsPublishedWhenAConnectionIsCut() async throws {
        let broker = InMemoryBroker()
        let id = try ClientID("a")
        let client = broker.client(id) { connection in
            OutgoingMessage(topic: "will/\(connection)", payload: [1], isRetained: true)
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            var connections = 0
            for await events in client.events {
                for event in events {
                    if case .connected = event { connections += 1 }
                    if case .connected(connection: 0, _, _) = event { broker.disconnect(id) }
                }
                if connections == 2 { client.send([.close(within: .zero)]) }
            }
        }
        #expect(broker.retained("will/0") == [1])
        #expect(broker.retained("will/1") == nil, "an orderly close publishes no will")
    }
}
