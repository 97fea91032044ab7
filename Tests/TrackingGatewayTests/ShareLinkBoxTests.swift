import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway

/// What the live stream of a share link tells of a box.
@Suite struct ShareLinkBoxTests {
    private let van: TrackableID
    private var state = LiveHubState(epoch: 7)

    init() throws { self.van = try TrackableID("van") }

    private mutating func tell(_ event: SubscriberEvent, at time: Double = 1000) throws -> LiveUpdate {
        let update = self.state.happened(event, at: UnixTime(time))
        return try #require(update)
    }

    /// Whoever has a link may ask for a box as well: what is known of one inside, and of one that comes in, is no more than that.
    @Test mutating func aShareLinkTellsNoMoreOfABox() throws {
        let box = try #require(GeoBox(south: 50, west: -10, north: 54, east: -6))
        let share = LiveSelection(.box(box), reads: .only([self.van]), span: UnixTime(100)..<UnixTime(200))
        _ = try self.tell(.presence(self.van, PublisherPresence(status: .present, lastSeen: UnixTime(50))))
        _ = try self.tell(.state(self.van, .online, nil))
        let trip = Trip(id: "t1", mode: "car", start: UnixTime(1), stream: try #require(StreamID("one")), seq: 1)
        _ = try self.tell(.trip(self.van, trip))
        _ = try self.tell(try Told.location(self.van, 1, time: 99))
        #expect(self.state.opening(share, after: nil).summary == "snapshot: van state 2")
        _ = try self.tell(try Told.location(self.van, 2, latitude: 55, time: 101))
        let entering = try self.tell(try Told.location(self.van, 3, time: 102))
        #expect(self.state.told(entering, to: share).map(\.summary) == ["van state 2", "van position 6"])
        #expect(self.state.opening(share, after: nil).summary == "snapshot: van state 2, van position 6")
    }
}
