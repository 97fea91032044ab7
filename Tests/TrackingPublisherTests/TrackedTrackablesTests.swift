import Testing
import TrackingCore
import TrackingTesting

@testable import TrackingPublisher

/// The stream of the tracked trackables.
@Suite(.timeLimit(.minutes(5))) struct TrackedTrackablesTests {
    private func publisher() throws -> AssetPublisher<InMemoryBroker.Client> {
        let client = try ClientID("one")
        let session = try #require(SessionID("s"))
        return AssetPublisher(
            configuration: PublisherConfiguration(client: client, session: session),
            transport: InMemoryBroker().client(client))
    }

    private func until(_ ids: Set<TrackableID>, _ sets: AsyncStream<Set<TrackableID>>) async -> Bool {
        for await set in sets where set == ids { return true }
        return false
    }

    @Test func theSetIsDeliveredAtOnceAndAfterEachChange() async throws {
        let publisher = try self.publisher()
        let (van, bus) = (try TrackableID("van"), try TrackableID("bus"))
        let sets = publisher.trackables
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await publisher.run() }
            #expect(await self.until([], sets))
            publisher.add(Trackable(van))
            #expect(await self.until([van], sets))
            publisher.add(Trackable(bus))
            #expect(await self.until([van, bus], sets))
            // A later reader begins with the present set.
            #expect(await self.until([van, bus], publisher.trackables))
            publisher.remove(van)
            #expect(await self.until([bus], sets))
            publisher.finish(within: .zero)
            try await group.waitForAll()
        }
        var rest: [Set<TrackableID>] = []
        for await set in sets { rest.append(set) }
        #expect(rest.allSatisfy { $0 == [bus] || $0 == [] })
    }
}
