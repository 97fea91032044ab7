import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for the place of an event: the newest fix that may be shown, not the last one that was published.
@Suite struct EventPlaceTests {
    private func talk(
        _ rule: PrivacyZone.Rule? = nil, configure: (inout PublisherConfiguration) -> Void = { _ in }
    ) throws -> PublisherConversation {
        let center = try #require(Coordinate(latitude: 1000 / 111_195, longitude: 1))
        let zones = try rule.map { [try PrivacyZone(name: "home", center: center, radius: 100, rule: $0)] } ?? []
        return try self.talk(zones, configure: configure)
    }

    private func talk(
        _ zones: [PrivacyZone], pause: PauseStateMachine? = nil, configure: (inout PublisherConfiguration) -> Void
    ) throws -> PublisherConversation {
        var capture = CaptureStateMachine.Configuration()
        (capture.pause, capture.reportsVisits, capture.mock) = (pause, true, .reject)
        let machine = try CaptureStateMachine(
            filter: CaptureFilter(), zones: PrivacyZones(zones), configuration: capture)
        var talk = try PublisherConversation([PublisherConversation.van()]) {
            $0.capture = machine
            configure(&$0)
        }
        _ = try talk.fix(at: 0)
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.echoed()
        _ = talk.acked()
        return talk
    }

    /// The events in the log: their kinds, and their distances north in metres.
    private func events(_ talk: PublisherConversation) throws -> [String] {
        try talk.log.values.flatMap(\.values).filter { $0.kind == .event }.sorted { $0.seq < $1.seq }.map { record in
            let event = try MessageCodec.decodeEvent(record.payload)
            let place = event.location.map { "\(Int(($0.coordinate.latitude * 111_195).rounded()))" }
            return "\(event.kind.rawValue) \(place ?? "nowhere")"
        }
    }

    @Test func anEventHappensAtTheNewestFixThoughThatDidNotGoOut() throws {
        var talk = try self.talk()
        #expect(try talk.fix(at: 5, metres: 300).contains("fix 2 tooSoon"))
        _ = talk.happened(.recordEvent(.stopping, [:]))
        #expect(try self.events(talk) == ["STOPPING 300"])
    }

    @Test func afterAFixThatIsNotRecordedItHappensThere() throws {
        var talk = try self.talk(configure: { configuration in
            configuration.capture = try? CaptureStateMachine(
                filter: CaptureFilter(significantChange: .only), zones: PrivacyZones([]))
        })
        #expect(!(try talk.fix(at: 60, metres: 290).contains { $0.hasPrefix("fix ") }))
        _ = talk.happened(.recordEvent(.stopping, [:]))
        #expect(try self.events(talk) == ["STOPPING 290"])
        let record = talk.log.values.flatMap(\.values).first { $0.kind == .event }
        #expect(try MessageCodec.decodeEvent(#require(record).payload).location?.seq == nil)
    }

    @Test func noEventRevealsTheBorderOfAZone() throws {
        var talk = try self.talk(.replace)
        _ = try talk.fix(at: 60, metres: 800)
        _ = try talk.fix(at: 120, metres: 950)
        _ = talk.happened(.recordEvent(.stopping, [:]))
        _ = try talk.fix(at: 180, metres: 1300)
        _ = talk.happened(.recordEvent(.stopping, [:]))
        #expect(try self.events(talk) == ["ZONE nowhere", "STOPPING 1000", "ZONE nowhere", "STOPPING 1300"])
    }

    @Test func insideAZoneOfWhichNothingIsShownNoEventHasAPlace() throws {
        var talk = try self.talk(.omit)
        _ = try talk.fix(at: 60, metres: 890)
        _ = try talk.fix(at: 120, metres: 950)
        _ = talk.happened(.recordEvent(.stopping, [:]))
        _ = try talk.fix(at: 180, metres: 1300)
        _ = talk.happened(.recordEvent(.stopping, [:]))
        #expect(try self.events(talk) == ["ZONE nowhere", "STOPPING nowhere", "ZONE nowhere", "STOPPING 1300"])
    }

    /// The fix from before the zone was configured lies inside the zone.
    @Test(arguments: [PrivacyZone.Rule.replace, .omit]) func aNewZoneHidesWhatWasSeenBefore(rule: PrivacyZone.Rule)
        throws
    {
        var talk = try self.talk()
        _ = try talk.fix(at: 60, metres: 950)
        let center = try #require(Coordinate(latitude: 1000 / 111_195, longitude: 1))
        let zone = try PrivacyZone(name: "home", center: center, radius: 100, rule: rule)
        var next = talk.machine.configuration
        next.capture = try CaptureStateMachine(filter: CaptureFilter(), zones: PrivacyZones([zone]))
        _ = talk.happened(.configure(next))
        _ = talk.happened(.recordEvent(.stopping, [:]))
        #expect(try self.events(talk) == ["STOPPING \(rule == .omit ? "nowhere" : "1000")"])
    }

    @Test func aPositionThatNobodyMeasuredIsNoPlace() throws {
        var talk = try self.talk()
        let coordinate = try #require(Coordinate(latitude: 500 / 111_195, longitude: 1))
        var mock = Location(coordinate: coordinate, time: UnixTime(1060))
        mock.source = .simulated
        _ = talk.happened(.fix(mock, raw: mock))
        _ = talk.happened(.recordEvent(.stopping, [:]))
        #expect(try self.events(talk) == ["STOPPING 0"])
    }

    @Test func aStayWasWhereItStood() throws {
        var talk = try self.talk([], pause: PauseStateMachine(radius: 50, after: .seconds(100)), configure: { _ in })
        for second in stride(from: 10.0, through: 200, by: 10) { _ = try talk.fix(at: second, metres: 20) }
        _ = try talk.fix(at: 300, metres: 400)
        #expect(try self.events(talk) == ["PAUSED 20", "RESUMED 400", "VISIT 20"])
    }

    @Test func aTripBeginsWhereItIs() throws {
        var talk = try self.talk()
        _ = try talk.fix(at: 5, metres: 300)
        _ = talk.happened(.trip(try PublisherConversation.van().id, try TripMode("walk"), request: 1))
        #expect(try self.events(talk) == ["TRIP_STARTED 300"])
    }

    @Test func whereNothingGoesOutLiveNoEventHasAPlace() throws {
        var talk = try self.talk(configure: { $0.sendsLive = false })
        _ = try talk.fix(at: 60, metres: 300)
        _ = talk.happened(.recordEvent(.stopping, [:]))
        #expect(try self.events(talk) == ["STOPPING nowhere"])
    }
}
