import Testing
import TrackingCore
import TrackingTesting

@testable import TrackingPublisher

/// Tests for the error with which a publisher ends: the reason of a failed trackable that is still tracked.
@Suite(.timeLimit(.minutes(5))) struct FailureTests {
    private let broker = InMemoryBroker()

    private func publisher(_ client: String) throws -> AssetPublisher<InMemoryBroker.Client> {
        let id = try ClientID(client)
        let session = try #require(SessionID(client))
        return AssetPublisher(
            configuration: PublisherConfiguration(client: id, session: session), transport: self.broker.client(id))
    }

    private func until(_ state: PublisherState, _ changes: AsyncStream<TrackableStateChange>) async {
        for await change in changes where change.state == state { return }
    }

    /// Runs a publisher of two trackables. Another publisher takes one of them over.
    private func collide(removing: Bool) async throws {
        let (first, second) = (try self.publisher("one"), try self.publisher("two"))
        let (van, bus) = (try TrackableID("van"), try TrackableID("bus"))
        let coordinate = try #require(Coordinate(latitude: 52, longitude: -8))
        let fix = Location(coordinate: coordinate, time: UnixTime(1_790_000_000))
        let (states, others) = (first.states, second.states)
        try await withThrowingTaskGroup(of: Void.self) { group in
            first.add(Trackable(van))
            first.add(Trackable(bus))
            group.addTask { try await first.run() }
            await first.publishAndWait(fix)
            group.addTask {
                second.add(Trackable(van))
                second.publish(fix)
                await withTaskGroup(of: Void.self) { running in
                    running.addTask { try? await second.run() }
                    await self.until(.online, others)
                    await self.until(.failed, states)
                    if removing { first.remove(van) }
                    first.finish(within: .seconds(60))
                    second.finish(within: .zero)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func aCollisionIsTheEndingsReason() async throws {
        let error = await #expect(throws: TrackingError.self) { try await self.collide(removing: false) }
        #expect(error?.code == .takenOver)
    }

    @Test func whatFailedAndWasRemovedIsNoFailureOfTheRest() async throws {
        try await self.collide(removing: true)
    }

    @Test func whatTheBrokerRefusesIsTheEndingsReasonUnlessItWasRemoved() async throws {
        let client = try ClientID("one")
        self.broker.refuse(["tracking/van"], from: client)
        for isRemoved in [false, true] {
            let publisher = try self.publisher("one")
            let (van, bus) = (try TrackableID("van"), try TrackableID("bus"))
            publisher.add(Trackable(van))
            publisher.add(Trackable(bus))
            let coordinate = try #require(Coordinate(latitude: 52, longitude: -8))
            publisher.publish(Location(coordinate: coordinate, time: UnixTime(1_790_000_000)))
            let states = publisher.states
            let run = Task { try await publisher.run() }
            for await change in states where change.trackable == van && change.reason != nil { break }
            if isRemoved { publisher.remove(van) }
            publisher.finish()
            guard !isRemoved else { return try await run.value }
            let error = await #expect(throws: TrackingError.self) { try await run.value }
            #expect(error?.code == .notAuthorized)
        }
    }
}
