import Testing
import TrackingCore
import TrackingTesting

@testable import TrackingSubscriber

/// The list of the known publishers of a trackable.
@Suite struct KnownPublisherTests {
    private func list(_ talk: inout SubscriberConversation) -> [String] {
        talk.happened(.listPublishers(nil, request: 1))
    }

    @Test func publishersThatAreGoneRemainKnown() throws {
        var talk = try SubscriberConversation()
        _ = talk.happened(.watch(try TrackableID("van"), nil))
        _ = talk.connect(0)
        // The first publisher is known from retained messages alone. Its position is the only sign of life.
        _ = talk.publisher("d1", "a", since: 500, stream: "one", retained: true)
        _ = try talk.update(700, of: "one", retained: true)
        _ = talk.granted()
        #expect(self.list(&talk) == ["d1 of van gone since 500.0 seen 700.0"])
        _ = talk.publisher("d2", "b", since: 600, stream: "two")
        _ = talk.wait(.seconds(2))
        #expect(
            self.list(&talk) == [
                "d1 of van gone since 500.0 seen 700.0", "d2 of van present owner since 600.0 seen 1000.0",
            ])
        _ = talk.receive("_clients/d2", #"{"status":"online","session":"b","connection":0,"lease":90}"#)
        #expect(self.list(&talk).last == "d2 of van present owner since 600.0 seen 1002.0")
        _ = talk.receive("_clients/d2", #"{"status":"offline","session":"b","connection":0}"#)
        #expect(self.list(&talk).last == "d2 of van gone since 600.0 seen 1002.0")
        // An orderly end clears the presence.
        _ = talk.receive("van/publisher/d2", "")
        #expect(self.list(&talk).count == 1)
    }

    @Test func aPositionAheadOfThisClockIsNotSeenInTheFuture() throws {
        var talk = try SubscriberConversation.online()
        _ = try talk.update(5_000)
        #expect(self.list(&talk) == ["d1 of van present owner since 500.0 seen 1001.0"])
    }

    @Test func withoutAConnectionNoPublisherIsPresent() throws {
        var talk = try SubscriberConversation.online()
        _ = talk.lose()
        #expect(self.list(&talk) == ["d1 of van gone since 500.0 seen 1000.0"])
        #expect(talk.happened(.listPublishers([try TrackableID("bike")], request: 2)) == [])
    }

    @Test func aSubscriberThatDoesNotRunKnowsNone() async throws {
        let configuration = SubscriberConfiguration(
            client: try ClientID("desk"), session: try #require(SessionID("mine")))
        let broker = InMemoryBroker()
        let subscriber = AssetSubscriber(configuration: configuration, transport: broker.client(configuration.client))
        #expect(await subscriber.knownPublishers() == [])
    }
}
