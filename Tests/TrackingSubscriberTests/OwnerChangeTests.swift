import Testing
import TrackingCore

/// A change of a trackable's owner, from a subscriber's view.
@Suite struct OwnerChangeTests {
    private func online(_ client: String, _ session: String, in talk: inout SubscriberConversation) -> [String] {
        talk.receive(
            "_clients/\(client)", #"{"status":"online","session":"\#(session)","connection":0,"lease":90}"#,
            retained: true)
    }

    /// A subscriber that was not connected while `d2`, stream `two`, arrived. It has received all retained messages
    /// of `d2` apart from its liveness.
    private func back() throws -> SubscriberConversation {
        var talk = try SubscriberConversation.online()
        #expect(try talk.update(1) == ["van at 1"])
        _ = talk.lose()
        _ = talk.connect(1)
        _ = talk.publisher("d2", "b", since: 600, stream: "two", retained: true)
        #expect(try talk.update(7, of: "two", skipped: [6], retained: true) == [])
        _ = talk.granted()
        return talk
    }

    /// The broker delivers the retained position before its owner is known.
    @Test func theRetainedPositionOfANewOwnerIsDeliveredOnceItIsPresent() throws {
        var talk = try self.back()
        #expect(self.online("d2", "b", in: &talk).contains("van at 7 skipped 6 kept"))
        #expect(try talk.update(7, of: "two") == [], "it is known")
        #expect(try talk.update(8, of: "two") == ["van at 8"])
    }

    @Test func theRetainedPositionOfAFormerPublisherIsDeliveredOnceNoneIsPresent() throws {
        var talk = try self.back()
        #expect(talk.receive("_clients/d1", "").contains("van at 7 skipped 6 kept"))
    }

    @Test func aPositionClearedMeanwhileIsNotDelivered() throws {
        var talk = try self.back()
        _ = talk.receive("van", "")
        #expect(!self.online("d2", "b", in: &talk).contains { $0.hasPrefix("van at") })
    }

    @Test func undeliveredRetainedPositionsAreDiscardedWithTheConnection() throws {
        var talk = try self.back()
        _ = talk.lose()
        _ = talk.connect(2)
        _ = talk.granted()
        #expect(!talk.receive("_clients/d1", "").contains { $0.hasPrefix("van at") })
    }

    /// The clock of the returning publisher is correct, and that of the publisher in between was ahead.
    @Test func aPublisherThatReturnsAsOwnerIsCurrentAtAnyTime() throws {
        var talk = try SubscriberConversation.online()
        #expect(try talk.update(1) == ["van at 1"])
        _ = talk.publisher("d2", "b", since: 600, stream: "two")
        #expect(try talk.update(90_000, of: "two") == ["van at 90000"])
        _ = talk.publisher("d1", "c", since: 700, stream: "one")
        #expect(try talk.update(2) == ["van at 2"])
        #expect(try talk.update(3) == ["van at 3"])
    }
}
