import Testing

@testable import TrackingCore

@Suite struct EstimateBookTests {
    private let van = TrackableID(literal: "van")
    private let bus = TrackableID(literal: "bus")

    private static func fix(_ seconds: Double, north: Double) -> Location {
        var fix = Location(coordinate: EstimateConversation.place(north: north), time: Moment.at(seconds).wall)
        (fix.seq, fix.stream) = (7, StreamID("one"))
        return fix
    }

    private static func journey(north: Double) throws -> [UInt8] {
        try MessageCodec.encode(
            Journey(stops: [Journey.Stop(id: "a", location: EstimateConversation.place(north: north))]))
    }

    private static func estimates(_ actions: [EstimateBook.Action]) throws -> [Estimate] {
        try actions.compactMap { action in
            guard case .publish(.estimate, let payload) = action, !payload.isEmpty else { return nil }
            return try MessageCodec.decodeEstimate(payload)
        }
    }

    @Test func aJourneyGetsAnEstimateAndEvents() throws {
        var book = EstimateBook(seed: 1)
        #expect(book.moved(Self.fix(0, north: 0), of: self.van, at: .at(0)) == [], "no journey")
        let first = try book.received(
            journey: Self.journey(north: 1000), of: self.van, at: Self.fix(1, north: 0), .at(1))
        let request = try #require(
            first.compactMap { action in if case .requestRoute(_, let number) = action { number } else { nil } }.first)
        #expect(try Self.estimates(first).map { $0.stops.map(\.status) } == [[.unknown]])
        let shape = [EstimateConversation.place(north: 0), EstimateConversation.place(north: 1000)]
        let route = Route(legs: [Route.Leg(duration: .seconds(100), length: 1000, shape: shape)])
        let answered = book.answered(request, .success(route), at: .at(2))
        #expect(try Self.estimates(answered).first?.stops.first?.eta == Moment.at(86).wall, "150 m before the stop")
        #expect(book.answered(request, .success(route), at: .at(3)) == [], "each request has one answer")
        let arrived = book.moved(Self.fix(90, north: 900), of: self.van, at: .at(90))
        #expect(try Self.estimates(arrived).first?.stops.first?.status == .arrived)
        let events = try (first + answered + arrived).compactMap { action -> TrackingEvent? in
            guard case .publish(.event, let payload) = action else { return nil }
            return try MessageCodec.decodeEvent(payload)
        }
        #expect(events.map(\.kind) == [.approaching, .arrived] && events.map(\.seq) == [1, 2])
        #expect(events.allSatisfy { $0.detail["stop"] == .text("a") && $0.location?.seq == nil })
        #expect(book.nextDeadline == nil, "the journey is over")
        #expect(
            try book.received(journey: [UInt8](), of: self.van, at: nil, .at(100))
                == [.publish(.estimate(self.van), payload: [])])
        #expect(book.count == 0)
    }

    @Test func aTrackableHasAProfileOfItsOwn() throws {
        var book = EstimateBook(profile: .truck, profiles: [self.van: .bicycle], seed: 1)
        func profile(of id: TrackableID) throws -> TravelProfile? {
            let actions = try book.received(
                journey: Self.journey(north: 1000), of: id, at: Self.fix(1, north: 0), .at(1))
            return actions.lazy.compactMap { action in
                if case .requestRoute(let request, _) = action { request.profile } else { nil }
            }.first
        }
        #expect(try profile(of: self.van) == .bicycle)
        #expect(try profile(of: self.bus) == .truck)
    }

    @Test func aBadJourneyLeavesTheOneBefore() throws {
        var book = EstimateBook(seed: 1)
        _ = try book.received(journey: Self.journey(north: 1000), of: self.van, at: Self.fix(1, north: 0), .at(1))
        #expect(throws: TrackingError.self) {
            try book.received(journey: Array("{}".utf8), of: self.van, at: nil, .at(2))
        }
        #expect(book.count == 1)
    }

    @Test func aRetainedEstimateWithoutAJourneyIsCleared() throws {
        var book = EstimateBook(seed: 1)
        let old = Estimate(time: UnixTime(1), basis: .route, stops: [Estimate.Stop(id: "a", status: .arrived)])
        for id in [self.van, self.bus] {
            book.received(retainedEstimate: try MessageCodec.encode(old), of: id)
        }
        book.received(retainedEstimate: Array("{}".utf8), of: TrackableID(literal: "car"))
        _ = try book.received(journey: Self.journey(north: 5000), of: self.bus, at: nil, .at(1))
        #expect(book.receivedRetained(at: .at(2)) == [.publish(.estimate(self.van), payload: [])])
        #expect(book.count == 1)
        let moved = book.moved(Self.fix(3, north: 0), of: self.bus, at: .at(3))
        #expect(!moved.contains { if case .requestRoute = $0 { true } else { false } }, "it has arrived")
    }

    @Test func theTimerPublishesALaterArrival() throws {
        var book = EstimateBook(seed: 1)
        let first = try book.received(
            journey: Self.journey(north: 9000), of: self.van, at: Self.fix(0, north: 0), .at(0))
        let number = try #require(
            first.compactMap { action in if case .requestRoute(_, let number) = action { number } else { nil } }.first)
        let shape = [EstimateConversation.place(north: 0), EstimateConversation.place(north: 9000)]
        let route = Route(legs: [Route.Leg(duration: .seconds(30), length: 9000, shape: shape)])
        _ = book.answered(number, .success(route), at: .at(0))
        #expect(book.nextDeadline == Moment.at(60).now)
        let late = try Self.estimates(book.timerFired(at: .at(60)))
        #expect(late.first?.stops.first?.eta == Moment.at(60).wall, "not in the past")
    }
}
