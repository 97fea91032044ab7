import Testing
import TrackingCore
import TrackingTesting

@testable import TrackingCertificate

/// The waits of a certification's client for messages.
@Suite(.timeLimit(.minutes(1))) struct ProbeTests {
    private typealias TestProbe = Probe<InMemoryBroker.Client>

    private func message(_ topic: String, _ text: String) -> TransportEvent {
        .received(IncomingMessage(topic: topic, payload: Array(text.utf8)[...], isRetained: false))
    }

    @Test func aRepeatedMessageCountsOnce() {
        var state = TestProbe.State()
        state.note(self.message("a", "0"))
        state.note(self.message("a", "0"))
        #expect(state.has(1) { $0.topic == "a" } && !state.has(2) { $0.topic == "a" })
        state.note(self.message("b", "0"))
        #expect(!state.has(2) { $0.topic == "a" } && state.has(2) { $0.number == 0 })
        state.note(self.message("a", "1"))
        #expect(state.has(2) { $0.topic == "a" })
    }

    @Test func aWaitForMessagesEndsAtItsLimit() async throws {
        let probe = TestProbe(InMemoryBroker().client(try ClientID("reader")))
        let found = await probe.gather(1, pause: .seconds(600), within: .zero) { _ in true }
        #expect(found.isEmpty)
    }
}
