import Testing
import TrackingCore

@testable import TrackingSubscriber

/// The broker's count of dropped messages.
struct BrokerDropsTests {
    private func drops(_ talk: inout SubscriberConversation, _ text: String) -> BrokerDrops {
        let message = IncomingMessage(topic: BrokerDrops.topic, payload: Array(text.utf8)[...], isRetained: true)
        _ = talk.happened(.transport(.received(message)))
        return talk.machine.brokerDrops
    }

    @Test func anIncreaseIsCountedAndARestartOfTheBrokerIsNone() throws {
        var talk = try SubscriberConversation { $0.readsBrokerDrops = true }
        #expect(talk.connect(0).contains { $0.contains("messages/dropped") })
        #expect(self.drops(&talk, "40").lastIncrease == nil, "dropped before")
        talk.now = MonotonicTime(.seconds(7))
        #expect(self.drops(&talk, "43").count == 3)
        #expect(talk.machine.brokerDrops.lastIncrease == MonotonicTime(.seconds(7)))
        talk.now = MonotonicTime(.seconds(9))
        for text in ["43", "1", "x", "", "-5"] { _ = self.drops(&talk, text) }
        #expect(talk.machine.brokerDrops.lastIncrease == MonotonicTime(.seconds(7)))
        _ = talk.lose()
        _ = talk.connect(1)
        #expect(self.drops(&talk, "900").count == 3)
        #expect(self.drops(&talk, "901").count == 4)
    }

    @Test func theCountIsReadOnlyOnRequest() throws {
        var talk = try SubscriberConversation()
        #expect(!talk.connect(0).contains { $0.contains("messages/dropped") })
    }
}
