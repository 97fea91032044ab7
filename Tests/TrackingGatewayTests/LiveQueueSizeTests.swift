import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway

/// The bytes that wait for a reader that does not keep up.
@Suite struct LiveQueueSizeTests {
    @Test func whatWaitsIsBoundedInBytes() throws {
        var state = LiveHubState(epoch: 1)
        var queue = LiveQueue()
        let van = try TrackableID("van")
        let detail = ["text": JSONValue.text(String(repeating: "x", count: 120_000))]
        var taken = 0
        for seq in 1...1000 {
            let event = TrackingEvent(
                id: "e\(seq)", stream: try #require(StreamID("one")), seq: UInt64(seq), time: UnixTime(5),
                kind: .lowBattery, detail: detail)
            let told = state.happened(.event(van, event), at: UnixTime(1000))
            let update = try #require(told)
            guard queue.append(update) else { break }
            taken = seq
            #expect(queue.bytes <= LiveQueue.maximumBytes)
        }
        #expect((250...280).contains(taken), "\(taken) events of 120 KB are 32 MB")
        // Of positions the newest counts, so that they do not fill it.
        queue = LiveQueue()
        for seq in 1...UInt64(LiveQueue.few) {
            guard case .location(_, var received) = try Told.location(van, seq) else { return }
            received.update.location.extra = Array(#"{"a":"\#(String(repeating: "x", count: 4000))"}"#.utf8)
            let told = state.happened(.location(van, received), at: UnixTime(1000))
            let update = try #require(told)
            let isTaken = queue.append(update)
            #expect(isTaken)
        }
        #expect(queue.bytes <= 2 * LiveQueue.fewBytes)
    }
}
