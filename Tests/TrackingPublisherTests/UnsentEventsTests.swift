import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct UnsentEventsTests {
    private func event(_ seq: UInt64) throws -> TrackingEvent {
        TrackingEvent(
            id: "e\(seq)", stream: try #require(StreamID("s")), seq: seq, time: UnixTime(1000), kind: .sourceLost)
    }

    @Test func aboveTheLimitTheOldestEventsAreNotPublished() throws {
        var events = UnsentEvents()
        for seq in 1...150 { events.add(try self.event(UInt64(seq)), most: 100, total: events.count) }
        #expect(events.take { _, _ in true }.map(\.seq) == Array(51...150))
    }

    /// The memory for unsent events is limited during a long outage, and each trackable has room for its newest
    /// events.
    @Test func aboveTheLimitOfAllTrackablesEachHasItsNewestEvents() throws {
        var queues = Array(repeating: UnsentEvents(), count: 200)
        var total = 0
        for number in queues.indices {
            for seq in 1...100 {
                let before = queues[number].count
                queues[number].add(try self.event(UInt64(seq)), most: 100, total: total)
                total += queues[number].count - before
            }
        }
        #expect(total <= UnsentEvents.many + UnsentEvents.fewest * 200)
        let taken = queues.indices.map { queues[$0].take { _, _ in true }.map(\.seq) }
        #expect(taken[0].count == 100 && taken[199] == [99, 100])
        // Acknowledged events make room.
        for seq in 1...100 { queues[0].add(try self.event(UInt64(seq)), most: 100, total: queues[0].count) }
        #expect(queues[0].take { _, _ in true }.count == 100)
    }

    @Test func eventsThatMayNotBePublishedWaitInTheirOrder() throws {
        var events = UnsentEvents()
        for seq in 1...2 { events.add(try self.event(UInt64(seq)), most: 100, total: events.count) }
        events.ask()
        for seq in 3...5 { events.add(try self.event(UInt64(seq)), most: 100, total: events.count) }
        #expect(events.take { $1 || $0.seq == 4 }.map(\.seq) == [1, 2, 4])
        events.forget { $0.seq == 3 }
        #expect(events.take { _, _ in true }.map(\.seq) == [5])
    }
}
