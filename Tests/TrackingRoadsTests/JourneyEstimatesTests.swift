import Testing

@testable import TrackingCore
@testable import TrackingRoads

/// The estimates that an enhancer publishes. Every state is reached by events.
@Suite struct JourneyEstimatesTests {
    /// An enhancer, and a clock that only the test advances.
    private struct Talk {
        private var machine: EnhancerStateMachine
        private var now = MonotonicTime(.zero)
        let root = TopicRoot.standard

        init() throws {
            self.machine = EnhancerStateMachine(
                configuration: EnhancerConfiguration(
                    client: try ClientID("roads"), session: try #require(SessionID("mine"))))
        }

        mutating func happened(_ event: EnhancerStateMachine.Event) -> [EnhancerStateMachine.Action] {
            self.machine.happened(
                event, at: Moment(now: self.now, wall: UnixTime(1_700_000_000 + self.now.sinceOrigin.inSeconds)))
        }

        /// Connects. The broker sends the retained messages before it grants the last subscription.
        mutating func connect(retained: [(Topic, [UInt8])] = []) -> [EnhancerStateMachine.Action] {
            let actions = self.happened(.transport([.connected(connection: 0, sessionPresent: false)]))
            let grants = actions.flatMap { action -> [TransportEvent] in
                guard case .send(let commands) = action else { return [] }
                return commands.compactMap { command in
                    guard case .subscribe(let filters, let token) = command else { return nil }
                    return .subscribed(token, refusals: filters.map { _ in nil })
                }
            }
            let before = retained.flatMap { self.receive($0.0, $0.1, isRetained: true) }
            return before + self.happened(.transport(grants))
        }

        mutating func receive(
            _ topic: Topic, _ payload: [UInt8], isRetained: Bool = false
        ) -> [EnhancerStateMachine.Action] {
            let message = IncomingMessage(topic: self.root.path(topic), payload: payload[...], isRetained: isRetained)
            return self.happened(.transport([.received(message)]))
        }

        mutating func fix(north: Double) throws -> [EnhancerStateMachine.Action] {
            self.now = self.now.advanced(by: .seconds(10))
            let coordinate = JourneyEstimatesTests.place(north: north)
            let time = UnixTime(1_700_000_000 + self.now.sinceOrigin.inSeconds)
            let payload = try LocationCodec.encode(
                LocationUpdate(location: Location(coordinate: coordinate, time: time)))
            return self.receive(.location(JourneyEstimatesTests.van), payload)
        }

        /// The payloads that the actions publish on a topic.
        func published(_ topic: Topic, _ actions: [EnhancerStateMachine.Action]) -> [[UInt8]] {
            actions.flatMap { action -> [[UInt8]] in
                guard case .send(let commands) = action else { return [] }
                return commands.compactMap { command in
                    guard case .publish(let message, _) = command, message.topic == self.root.path(topic) else {
                        return nil
                    }
                    return Array(message.payload)
                }
            }
        }
    }

    private static let van = TrackableID(literal: "van")

    private static func place(north: Double) -> Coordinate {
        Coordinate(latitude: 47 + north / 111_195, longitude: 9.5)!  // in range
    }

    private static func journey(north: Double) throws -> [UInt8] {
        try MessageCodec.encode(Journey(stops: [Journey.Stop(id: "a", location: self.place(north: north))]))
    }

    private static func route(in actions: [EnhancerStateMachine.Action]) -> (number: Int, request: RouteRequest)? {
        for case .route(let number, let request) in actions { return (number, request) }
        return nil
    }

    private static func answer(_ request: RouteRequest) -> Route {
        let length = request.start.distance(to: request.stops[0])
        return Route(
            legs: [
                Route.Leg(
                    duration: .seconds(length.value / 10), length: length, shape: [request.start, request.stops[0]])
            ])
    }

    @Test func aJourneyIsEstimatedByRoute() throws {
        var talk = try Talk()
        _ = talk.connect()
        _ = try talk.fix(north: 0)
        let set = talk.receive(.journey(Self.van), try Self.journey(north: 1000))
        #expect(talk.published(.estimate(Self.van), set).count == 1, "an estimate without times")
        let next = try talk.fix(north: 100)
        let asked = try #require(Self.route(in: set) ?? Self.route(in: next))
        let routed = talk.happened(.routed(asked.number, .success(Self.answer(asked.request))))
        let payload = try #require(talk.published(.estimate(Self.van), routed).first)
        let estimate = try MessageCodec.decodeEstimate(payload)
        #expect(estimate.basis == .route && estimate.stops[0].eta != nil && !estimate.route.isEmpty)
        let arrived = try talk.fix(north: 900)
        let events = try talk.published(.event(Self.van), routed + arrived).map { try MessageCodec.decodeEvent($0) }
        #expect(events.map(\.kind) == [.approaching, .arrived])
        let cleared = talk.receive(.journey(Self.van), [])
        #expect(talk.published(.estimate(Self.van), cleared) == [[]])
    }

    /// The retained estimate may arrive before or after the journey.
    @Test(arguments: [false, true]) func aRestartKeepsTheArrival(isEstimateFirst: Bool) throws {
        var talk = try Talk()
        let old = Estimate(
            time: UnixTime(1), basis: .route, stops: [Estimate.Stop(id: "a", eta: UnixTime(5), status: .arrived)])
        var retained: [(Topic, [UInt8])] = [
            (.journey(Self.van), try Self.journey(north: 1000)), (.estimate(Self.van), try MessageCodec.encode(old)),
        ]
        if isEstimateFirst { retained.reverse() }
        let actions = talk.connect(retained: retained)
        let estimates = try talk.published(.estimate(Self.van), actions).map { try MessageCodec.decodeEstimate($0) }
        #expect(estimates.map { $0.stops[0].eta } == [UnixTime(5)])
        #expect(talk.published(.event(Self.van), actions) == [])
        #expect(Self.route(in: try talk.fix(north: 0)) == nil)
    }

    @Test func aRetainedEstimateWithoutAJourneyIsCleared() throws {
        var talk = try Talk()
        let old = Estimate(time: UnixTime(1), basis: .route, stops: [Estimate.Stop(id: "a", status: .enRoute)])
        let actions = talk.connect(retained: [(.estimate(Self.van), try MessageCodec.encode(old))])
        #expect(talk.published(.estimate(Self.van), actions) == [[]])
    }

    @Test func aBadJourneyIsReported() throws {
        var talk = try Talk()
        _ = talk.connect()
        let actions = talk.receive(.journey(Self.van), Array(#"{"stops":[]}"#.utf8))
        #expect(actions.contains { if case .deliver(.badMessage) = $0 { true } else { false } })
    }

    @Test func withoutARouteTheStraightLineIsUsed() throws {
        var talk = try Talk()
        _ = talk.connect()
        _ = try talk.fix(north: 0)
        _ = try talk.fix(north: 100)
        let set = talk.receive(.journey(Self.van), try Self.journey(north: 5000))
        var actions = try talk.fix(north: 200)
        let asked = try #require(Self.route(in: set) ?? Self.route(in: actions))
        actions += talk.happened(.routed(asked.number, .failure(TrackingError(.engineUnavailable, "gone"))))
        for north in [300.0, 400, 500, 600] { actions += try talk.fix(north: north) }
        let estimate = try #require(
            try talk.published(.estimate(Self.van), actions).last.map { try MessageCodec.decodeEstimate($0) })
        #expect(estimate.basis == .straightLine && estimate.stops[0].eta != nil && estimate.route.isEmpty)
        #expect(Self.route(in: actions) == nil || asked.number == 1, "the engine is not asked again at once")
    }
}
