import Testing
import TrackingCore
import TrackingRuntime

@testable import TrackingSubscriber

/// The memory of events that wait for a reader.
@Suite struct EventSizeTests {
    private func event(_ seq: UInt64, _ detail: [String: JSONValue]) throws -> SubscriberEvent {
        let event = TrackingEvent(
            id: "e\(seq)", stream: try #require(StreamID("s")), seq: seq, time: UnixTime(1000), kind: .paused,
            detail: detail)
        return .event(try TrackableID("van"), event)
    }

    @Test func aStreamOfLargeEventsIsBoundedInBytesAndCountsWhatItLost() async throws {
        let events = Broadcast<SubscriberEvent>(buffer: 65_536, bytes: 1_048_576, size: { $0.approximateBytes })
        let slow = events.listen()
        let detail = ["text": JSONValue.text(String(repeating: "x", count: 120_000))]
        for seq in 1...UInt64(100) { events.deliver(try self.event(seq, detail)) }
        events.finish()
        var kept: [SubscriberEvent] = []
        for await event in slow { kept.append(event) }
        #expect(kept.count == 8 && events.lost == 92)
        #expect(kept.reduce(0) { $0 + $1.approximateBytes } <= 1_048_576)
    }

    /// A short JSON text may contain many small objects.
    @Test func theStorageOfNestedValuesCounts() throws {
        let list = JSONValue.list(Array(repeating: .object(["a": .number(1)]), count: 1000))
        #expect(try self.event(1, ["list": list]).approximateBytes > 1000 * 144)
        let lists = JSONValue.list(Array(repeating: .list([.flag(true)]), count: 1000))
        #expect(try self.event(1, ["list": lists]).approximateBytes > 1000 * 64)
    }
}
