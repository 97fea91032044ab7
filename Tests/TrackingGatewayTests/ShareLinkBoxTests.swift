import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway

/// The live stream of a share link with a box.
@Suite struct ShareLinkBoxTests {
    private let van: TrackableID
    private var state = LiveHubState(epoch: 7)

    init() throws { self.van = try TrackableID("van") }

    private mutating func apply(_ event: SubscriberEvent, at time: Double = 1000) throws -> LiveUpdate {
        let update = self.state.happened(event, at: UnixTime(time))
        return try #require(update)
    }

    /// A share link may request a box as well. Its events for a trackable in the box, and for one that enters it,
    /// contain nothing further.
    @Test mutating func aShareLinkHasNothingFurtherOfABox() throws {
        let box = try #require(GeoBox(south: 50, west: -10, north: 54, east: -6))
        let share = LiveSelection(.box(box), reads: .only([self.van]), span: UnixTime(100)..<UnixTime(200))
        _ = try self.apply(.presence(self.van, PublisherPresence(status: .present, lastSeen: UnixTime(50))))
        _ = try self.apply(.state(self.van, .online, nil))
        let trip = Trip(id: "t1", mode: "car", start: UnixTime(1), stream: try #require(StreamID("one")), seq: 1)
        _ = try self.apply(.trip(self.van, trip))
        _ = try self.apply(try Sample.location(self.van, 1, time: 99))
        #expect(self.state.opening(share, after: nil).summary == "snapshot: van state 2")
        _ = try self.apply(try Sample.location(self.van, 2, latitude: 55, time: 101))
        let entering = try self.apply(try Sample.location(self.van, 3, time: 102))
        #expect(self.state.delivered(entering, to: share).map(\.summary) == ["van state 2", "van position 6"])
        #expect(self.state.opening(share, after: nil).summary == "snapshot: van state 2, van position 6")
    }
}
