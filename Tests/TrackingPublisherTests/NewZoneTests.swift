import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for a zone that is set while positions inside it are retained, pending or in flight.
@Suite struct NewZoneTests {
    /// The distance of the zone's centre north, in metres. Positions within 100 m of the centre lie inside the zone.
    private static let home = 1000.0

    private func talk() throws -> PublisherConversation {
        let machine = try CaptureStateMachine(filter: CaptureFilter(), zones: PrivacyZones([]))
        var talk = try PublisherConversation([PublisherConversation.van()]) { $0.capture = machine }
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.echoed()
        _ = talk.acked()
        return talk
    }

    private func set(_ rule: PrivacyZone.Rule, _ talk: inout PublisherConversation) throws -> [String] {
        let center = try #require(Coordinate(latitude: Self.home / 111_195, longitude: 1))
        let zone = try PrivacyZone(name: "home", center: center, radius: 100, rule: rule)
        var next = talk.machine.configuration
        next.capture = try CaptureStateMachine(filter: CaptureFilter(), zones: PrivacyZones([zone]))
        return talk.happened(.configure(next))
    }

    /// The distances north, in metres, of the position on the topic and of those added to its update.
    private func standing(_ talk: PublisherConversation) throws -> [Int] {
        let payload = try #require(talk.said["tracking/van"])
        guard !payload.isEmpty else { return [] }
        let update = try LocationCodec.decode(payload[...])
        return (update.skipped + [update.location]).map { Int(($0.coordinate.latitude * 111_195).rounded()) }
    }

    @Test func theRetainedPositionIsReplacedByTheCentre() throws {
        var talk = try self.talk()
        _ = try talk.fix(at: 0, metres: 950)
        _ = talk.acked()
        #expect(try self.standing(talk) == [950])
        #expect(try self.set(.replace, &talk).contains("van: update 1"))
        #expect(try self.standing(talk) == [1000])
        _ = talk.acked()
        let said = talk.wait(.seconds(300))
        #expect(said.contains("van: update 1"))
        #expect(try self.standing(talk) == [1000])
        #expect(talk.machine.table[try TrackableID("van")]?.position.fix?.source == .zone)
    }

    @Test func aRetainedPositionThatMayNotBeShownIsCleared() throws {
        var talk = try self.talk()
        _ = try talk.fix(at: 0, metres: 950)
        _ = talk.acked()
        #expect(try self.set(.omit, &talk).contains("van: cleared"))
        let said = talk.acked() + talk.wait(.seconds(300)) + talk.subscriber("w1") + talk.wait(.seconds(2))
        #expect(!said.contains { $0.hasPrefix("van: ") })
        #expect(talk.machine.table[try TrackableID("van")]?.position.fix == nil)
        #expect(try talk.fix(at: 400, metres: 5000).contains("van: update 2"))
    }

    /// The zone is set without a connection.
    @Test(arguments: [PrivacyZone.Rule.replace, .omit]) func nothingExactIsSaidAfterReconnecting(rule: PrivacyZone.Rule)
        throws
    {
        var talk = try self.talk()
        _ = try talk.fix(at: 0, metres: 950)
        _ = talk.acked()
        _ = talk.lose()
        #expect(!(try self.set(rule, &talk)).contains { $0.hasPrefix("van: ") })
        _ = talk.connect(1)
        let said = talk.granted() + talk.echoed() + talk.acked()
        #expect(said.filter { $0.hasPrefix("van: ") } == [rule == .omit ? "van: cleared" : "van: update 1"])
        #expect(try self.standing(talk) == (rule == .omit ? [] : [1000]))
    }

    /// The broker's answer to a withdrawn position applies to no other message.
    @Test(arguments: [PrivacyZone.Rule.replace, .omit]) func whatIsOnItsWayAndWhatWaitsIsHidden(rule: PrivacyZone.Rule)
        throws
    {
        var talk = try self.talk()
        _ = try talk.fix(at: 0, metres: 0)
        _ = talk.acked()
        _ = try talk.fix(at: 1, metres: 940)  // too soon: it rides along
        #expect(try talk.fix(at: 10, metres: 950).contains("van: update 3 skipped 2"))
        #expect(try talk.fix(at: 11, metres: 960).contains("fix 4 tooSoon"))
        let said = try self.set(rule, &talk)
        #expect(said.contains(rule == .omit ? "van: cleared" : "van: update 3"))
        let left = talk.log.values.flatMap(\.keys).sorted()
        #expect(left == [2, 3, 4])
        #expect(talk.ackedFirst("tracking/van") == [])
        #expect(talk.log.values.flatMap(\.keys).sorted() == [2, 3, 4])
        _ = talk.acked()
        #expect(talk.log.values.flatMap(\.keys).sorted() == (rule == .omit ? [2, 3, 4] : [2, 4]))
        #expect(try talk.fix(at: 30, metres: 5000).contains { $0.hasPrefix("van: update ") })
        let standing = try self.standing(talk)
        #expect(standing.last == 5000 && standing.dropLast().allSatisfy { $0 == 1000 }, "\(standing)")
    }

    @Test func theEndsOfATripAreHidden() throws {
        var talk = try self.talk()
        let van = try TrackableID("van")
        _ = try talk.fix(at: 0, metres: 950)
        _ = talk.happened(.trip(van, try TripMode("car"), request: 1))
        for second in stride(from: 10.0, through: 100, by: 10) {
            talk.now = MonotonicTime(.seconds(second))
            _ = try talk.fix(at: second, metres: 950 + second)
        }
        func ends() throws -> Trip {
            try MessageCodec.decodeTrip(try #require(talk.said["tracking/van/trip"])[...])
        }
        #expect(try ends().startLocation != nil)
        #expect(try self.set(.omit, &talk).contains { $0.hasPrefix("van/trip: ") })
        #expect(try ends().startLocation == nil && ends().lastLocation == nil)
        _ = talk.happened(.trip(van, nil, request: 2))
        #expect(try ends().state == .ended && ends().startLocation == nil && ends().lastLocation == nil)
    }

    /// The published version of the trip is up to a minute old; the trackable has left the place by now.
    @Test func whereATripWasAMomentAgoIsHidden() throws {
        var talk = try self.talk()
        _ = talk.happened(.trip(try TrackableID("van"), try TripMode("car"), request: 1))
        for (second, metres) in [(0.0, 0.0), (61, 950), (70, 5000)] {
            talk.now = MonotonicTime(.seconds(second))
            _ = try talk.fix(at: second, metres: metres)
        }
        func place() throws -> Int? {
            let trip = try MessageCodec.decodeTrip(try #require(talk.said["tracking/van/trip"])[...])
            return trip.lastLocation.map { Int(($0.coordinate.latitude * 111_195).rounded()) }
        }
        #expect(try place() == 950)
        _ = try self.set(.omit, &talk)
        #expect(try place() == 5000)
    }

    private func switched(isOn: Bool, _ talk: inout PublisherConversation) -> [String] {
        var next = talk.machine.configuration
        next.isOn = isOn
        return talk.happened(.configure(next)) + talk.acked()
    }

    /// A publisher that is off publishes no position, and withdraws a position that must not be shown.
    @Test(arguments: [PrivacyZone.Rule.replace, .omit]) func positionsAreWithdrawnWhileOff(rule: PrivacyZone.Rule)
        throws
    {
        var talk = try self.talk()
        let van = try TrackableID("van")
        _ = talk.happened(.trip(van, try TripMode("car"), request: 1))
        _ = try talk.fix(at: 0, metres: 950)
        _ = talk.acked() + talk.happened(.trip(van, nil, request: 2)) + talk.acked()
        _ = self.switched(isOn: false, &talk)
        #expect(try self.standing(talk) == [950])
        let said = try self.set(rule, &talk) + talk.acked()
        #expect(said.contains("van: cleared") && said.contains("van/trip: cleared"))
        _ = self.switched(isOn: true, &talk)
        #expect(try self.standing(talk) == (rule == .omit ? [] : [1000]))
        let trip = try MessageCodec.decodeTrip(try #require(talk.said["tracking/van/trip"])[...])
        #expect(trip.state == .ended && trip.lastLocation?.source == (rule == .omit ? nil : .zone))
    }

    @Test func aPositionOfAnotherPublisherRemainsWhileOff() throws {
        var talk = try self.talk()
        _ = try talk.fix(at: 0, metres: 950)
        _ = talk.acked() + self.switched(isOn: false, &talk)
        _ = talk.receive("tracking/_clients/d2", #"{"status":"online","session":"o","connection":0,"lease":90}"#)
        _ = talk.publisher("d2", "o", since: 2000)
        #expect(!(try self.set(.omit, &talk)).contains { $0.hasSuffix("cleared") })
    }

    /// This run does not know the retained position.
    @Test func whatAnEarlierRunLeftIsWithdrawn() throws {
        var talk = try self.talk()
        let said = try self.set(.omit, &talk) + talk.acked()
        #expect(said.contains("van: cleared") && said.contains("van/trip: cleared"))
        var next = talk.machine.configuration
        next.capture = try CaptureStateMachine(filter: CaptureFilter(), zones: PrivacyZones([]))
        #expect(!talk.happened(.configure(next)).contains { $0.hasSuffix("cleared") }, "less is hidden")
    }

    @Test func aZoneThatHoldsNothingOfItSaysNothing() throws {
        var talk = try self.talk()
        _ = try talk.fix(at: 0, metres: 0)
        #expect(!(try self.set(.omit, &talk)).contains { $0.hasPrefix("van: ") })
        _ = talk.acked()
        #expect(talk.log.values.flatMap(\.keys).isEmpty, "its answer counts")
    }
}
