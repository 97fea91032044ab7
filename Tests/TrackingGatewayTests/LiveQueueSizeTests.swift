import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway

/// The size of the pending updates of a slow reader.
@Suite struct LiveQueueSizeTests {
    @Test func pendingUpdatesAreLimitedInBytes() throws {
        var state = LiveHubState(epoch: 1)
        var queue = LiveQueue()
        let van = try TrackableID("van")
        let detail = ["text": JSONValue.text(String(repeating: "x", count: 120_000))]
        let event = TrackingEvent(
            id: "e", stream: try #require(StreamID("one")), seq: 1, time: UnixTime(5), kind: .lowBattery, detail: detail
        )
        let produced = state.happened(.event(van, event), at: UnixTime(1000))
        let update = try #require(produced)
        var taken = 0
        while taken < 1000, queue.append(update) {
            taken += 1
            #expect(queue.bytes <= LiveQueue.maximumBytes)
        }
        #expect((250...280).contains(taken), "\(taken) events of 120 KB are 32 MB")
        // Only the newest position counts, so that positions do not fill the queue.
        queue = LiveQueue()
        for seq in 1...UInt64(LiveQueue.few) {
            guard case .location(_, var received) = try Sample.location(van, seq) else { return }
            received.update.location.extra = Array(#"{"a":"\#(String(repeating: "x", count: 4000))"}"#.utf8)
            let produced = state.happened(.location(van, received), at: UnixTime(1000))
            let update = try #require(produced)
            let isTaken = queue.append(update)
            #expect(isTaken)
        }
        #expect(queue.bytes <= 2 * LiveQueue.fewBytes)
    }

    @Test func pendingUpdatesAreLimitedInNumber() throws {
        var state = LiveHubState(epoch: 1)
        var queue = LiveQueue()
        var positions: [LiveUpdate] = []
        for number in 0..<(LiveQueue.maximum / 2) {
            let produced = state.happened(
                try Sample.location(TrackableID("van-\(number)"), 1), at: UnixTime(1000))
            positions.append(try #require(produced))
        }
        var longest = 0
        for update in positions + positions + positions {
            let isTaken = queue.append(update)
            #expect(isTaken)
            longest = max(longest, queue.count)
        }
        #expect(longest > LiveQueue.maximum / 2 && longest <= LiveQueue.maximum)
    }
}
