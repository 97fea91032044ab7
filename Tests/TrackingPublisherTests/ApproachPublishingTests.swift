import Testing
import TrackingCore

@testable import TrackingPublisher

/// docs/reference/resolution.md, "Destination": the resolution in force has the destination and the way to it.
@Suite struct ApproachPublishingTests {
    /// 10 km north of the first fix.
    private let destination = Coordinate(latitude: 10_000 / 111_195, longitude: 1)!  // in range

    private func approach(_ talk: PublisherConversation) throws -> Approach? {
        try MessageCodec.decodeResolution(try #require(talk.said["tracking/van/resolution"])[...]).approach
    }

    private func van() throws -> Trackable {
        try PublisherConversation.van { $0.destination = self.destination }
    }

    /// Captures a fix, which is published and acknowledged, ten seconds after the last one.
    private func drive(_ talk: inout PublisherConversation, to metres: Double, at second: Double) throws -> [String] {
        talk.now = MonotonicTime(.seconds(second))
        return try talk.fix(at: second, metres: metres) + talk.acked()
    }

    @Test func theDestinationIsPublishedWithTheWayFromTheLastUpdate() throws {
        var talk = try PublisherConversation.online(try self.van())
        #expect(try self.approach(talk) == Approach(destination: self.destination, distance: 10_000))
        _ = try self.drive(&talk, to: 100, at: 10)
        _ = try self.drive(&talk, to: 200, at: 20)
        let way = try #require(try self.approach(talk))
        #expect(way.distance == 9_800 || way.distance == 9_900)
        #expect(way.timeToArrival != nil)
        let snapshot = talk.machine.snapshot(at: Moment(now: talk.now, wall: UnixTime(1020)))
        #expect(snapshot.trackables.first?.resolution.approach == way)
    }

    @Test func theWayIsPublishedAtMostOnceInFifteenSeconds() throws {
        let near = try #require(Coordinate(latitude: 2_000 / 111_195, longitude: 1))
        var talk = try PublisherConversation.online(try PublisherConversation.van { $0.destination = near })
        var published: [Double] = []
        for step in 1...12 {
            let second = Double(step * 10)
            let said = try self.drive(&talk, to: second * 10, at: second) + talk.wait(.seconds(9)) + talk.acked()
            published += said.filter { $0.hasPrefix("van/resolution: ") }.map { _ in second }
        }
        #expect((4...8).contains(published.count), "\(published)")
    }

    @Test func aFixThatIsNotPublishedDoesNotShowInTheDistance() throws {
        var talk = try PublisherConversation.online(try self.van())
        talk.now = MonotonicTime(.seconds(1))
        #expect(try talk.fix(at: 1, metres: 900).contains("fix 2 tooSoon"))
        _ = talk.wait(.seconds(20))
        #expect(try self.approach(talk)?.distance == 10_000)
    }

    @Test func aDestinationInAPrivacyZoneIsNotPublished() throws {
        let zone = try PrivacyZone(name: "home", center: self.destination, radius: 100)
        let capture = try CaptureStateMachine(filter: CaptureFilter(), zones: PrivacyZones([zone]))
        var talk = try PublisherConversation.online(try self.van(), configure: { $0.capture = capture })
        #expect(try self.approach(talk) == nil)
        // A zone that is added later hides a published destination.
        talk = try PublisherConversation.online(try self.van())
        #expect(try self.approach(talk) != nil)
        var next = talk.machine.configuration
        next.capture = capture
        _ = talk.happened(.configure(next))
        _ = talk.wait(.seconds(2))
        #expect(try self.approach(talk) == nil)
    }

    @Test func aChangedOrRemovedDestinationIsPublished() throws {
        var talk = try PublisherConversation.online(try self.van())
        let nearer = try #require(Coordinate(latitude: 1_000 / 111_195, longitude: 1))
        _ = talk.happened(.change(try PublisherConversation.van { $0.destination = nearer }))
        _ = talk.wait(.seconds(2)) + talk.acked()
        #expect(try self.approach(talk) == Approach(destination: nearer, distance: 1_000))
        _ = talk.happened(.change(try PublisherConversation.van()))
        _ = talk.wait(.seconds(2))
        #expect(try self.approach(talk) == nil)
    }

    @Test func withoutLivePositionsThereIsNoDestination() throws {
        let talk = try PublisherConversation.online(try self.van()) { $0.sendsLive = false }
        #expect(try self.approach(talk) == nil)
    }
}
