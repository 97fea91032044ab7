import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct UnsentEventsTests {
    private func event(_ seq: UInt64) throws -> TrackingEvent {
        TrackingEvent(
            id: "e\(seq)", stream: try #require(StreamID("s")), seq: seq, time: UnixTime(1000), kind: .sourceLost)
    }

    private func id(_ number: Int) throws -> TrackableID { try TrackableID("v\(number)") }

    @Test func ofTooManyOfOneTheOldestAreNotTold() throws {
        var events = UnsentEvents()
        for seq in 1...150 { events.add(try self.event(UInt64(seq)), of: try self.id(1), most: 100) }
        events.add(try self.event(1), of: try self.id(2), most: 100)
        #expect(events.take(of: try self.id(1)) { _, _ in true }.map(\.seq) == Array(51...150))
        #expect(events.take(of: try self.id(2)) { _, _ in true }.map(\.seq) == [1])
    }

    /// However long nothing can be told, memory has an end; and each has room for the newest.
    @Test func ofTooManyOfAllEachHasItsNewest() throws {
        var events = UnsentEvents()
        for number in 0..<200 {
            for seq in 1...100 { events.add(try self.event(UInt64(seq)), of: try self.id(number), most: 100) }
        }
        let taken = try (0..<200).map { number in events.take(of: try self.id(number)) { _, _ in true }.map(\.seq) }
        #expect(taken[0].count == 100 && taken[199] == [99, 100])
        #expect(taken.joined().count <= UnsentEvents.many + UnsentEvents.fewest * 200)
        // What was taken makes room.
        for seq in 1...100 { events.add(try self.event(UInt64(seq)), of: try self.id(0), most: 100) }
        #expect(events.take(of: try self.id(0)) { _, _ in true }.count == 100)
    }

    @Test func whatMayNotGoWaitsOnInItsOrder() throws {
        var events = UnsentEvents()
        let van = try self.id(1)
        for seq in 1...2 { events.add(try self.event(UInt64(seq)), of: van, most: 100) }
        events.ask()
        for seq in 3...5 { events.add(try self.event(UInt64(seq)), of: van, most: 100) }
        #expect(events.take(of: van) { $1 || $0.seq == 4 }.map(\.seq) == [1, 2, 4])
        events.forget(of: van) { $0.seq == 3 }
        #expect(events.take(of: van) { _, _ in true }.map(\.seq) == [5])
    }
}
