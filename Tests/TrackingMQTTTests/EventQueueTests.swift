import Testing
import TrackingCore

@testable import TrackingMQTT

@Suite struct EventQueueTests {
    /// While events wait for a slow reader, even acknowledgements are not read beyond twice the limits.
    @Test func aboveTwiceTheLimitsNothingIsReadAnyMore() async {
        var limits = MQTTConfiguration.Limits()
        (limits.waitingEvents, limits.waitingBytes) = (10, 1_000)
        let queue = EventQueue(limits: limits)
        let event = TransportEvent.published(1, refusal: nil)
        #expect(!queue.append(Array(repeating: event, count: 20), bytes: 2_000, connection: 0))
        #expect(!queue.isOverfull)
        _ = queue.append([event], bytes: 0, connection: 1)
        #expect(queue.isOverfull)
        _ = await queue.next()
        #expect(!queue.isOverfull)
        _ = queue.append([event], bytes: 2_001, connection: 1)
        #expect(queue.isOverfull)
    }
}
