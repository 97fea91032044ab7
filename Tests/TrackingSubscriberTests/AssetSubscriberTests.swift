import Testing
import TrackingCore
import TrackingRuntime
import TrackingSubscriber
import TrackingTesting

@Suite(.timeLimit(.minutes(5))) struct AssetSubscriberTests {
    private func subscriber() throws -> AssetSubscriber<InMemoryBroker.Client> {
        let client = try ClientID("desk")
        let configuration = SubscriberConfiguration(client: client, session: try #require(SessionID("s")))
        return AssetSubscriber(configuration: configuration, transport: InMemoryBroker().client(client))
    }

    @Test func publishingAnEventBeforeRunningFails() async throws {
        let subscriber = try self.subscriber()
        let event = TrackingEvent(
            id: "e1", stream: try #require(StreamID("s1")), seq: 1, time: UnixTime(1000), kind: .paused)
        let van = try TrackableID("van")
        let error = await #expect(throws: TrackingError.self) { try await subscriber.publish(event, of: van) }
        #expect(error?.code == .connectionLost)
    }

    @Test func anEventWithTooLargeADetailIsRefused() async throws {
        let subscriber = try self.subscriber()
        let event = TrackingEvent(
            id: "e1", stream: try #require(StreamID("s1")), seq: 1, time: UnixTime(1000), kind: .paused,
            detail: ["text": .text(String(repeating: "x", count: 17_000))])
        let van = try TrackableID("van")
        let error = await #expect(throws: TrackingError.self) { try await subscriber.publish(event, of: van) }
        #expect(error?.code == .payloadTooLarge && error?.message.contains("at most 16384 bytes") == true)
    }

    @Test func aWaitForTheSubscriptionsEndsWithThemOrAtTheDeadline() async throws {
        let subscriber = try self.subscriber()
        #expect(await !subscriber.settled(until: DeviceClock.now.advanced(by: .milliseconds(20))))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await subscriber.run() }
            #expect(await subscriber.settled(until: DeviceClock.now.advanced(by: .seconds(30))))
            #expect(subscriber.isSettled)
            group.cancelAll()
        }
    }
}
