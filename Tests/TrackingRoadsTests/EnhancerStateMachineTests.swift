import Testing
import TrackingCore

@testable import TrackingRoads

/// The published updates and the requests to the engine. Every state is reached by events.
@Suite struct EnhancerStateMachineTests {
    /// A connected enhancer, and a clock that only the test advances.
    private struct Talk {
        var machine: EnhancerStateMachine
        var now = MonotonicTime(.zero)

        init(_ change: (inout EnhancerConfiguration) -> Void = { _ in }) throws {
            var configuration = EnhancerConfiguration(
                client: try ClientID("roads"), session: try #require(SessionID("mine")))
            change(&configuration)
            self.machine = EnhancerStateMachine(configuration: configuration)
        }

        mutating func happened(_ event: EnhancerStateMachine.Event) -> [EnhancerStateMachine.Action] {
            self.machine.happened(
                event, at: Moment(now: self.now, wall: UnixTime(1_700_000_000 + self.now.sinceOrigin.inSeconds)))
        }

        /// Connects and grants all subscriptions.
        ///
        /// - Parameter standing: The session whose liveness the broker retains under the enhancer's name.
        mutating func connect(_ connection: Int = 0, standing: String? = nil) -> [EnhancerStateMachine.Action] {
            let actions = self.happened(.transport([.connected(connection: connection, sessionPresent: false)]))
            let grants = actions.flatMap { action -> [TransportEvent] in
                guard case .send(let commands) = action else { return [] }
                return commands.compactMap { command in
                    guard case .subscribe(let filters, let token) = command else { return nil }
                    return .subscribed(token, refusals: filters.map { _ in nil })
                }
            }
            if let standing {
                _ = self.receive(
                    "tracking/_clients/roads",
                    #"{"status":"online","session":"\#(standing)","connection":0,"lease":90}"#)
            }
            return self.happened(.transport(grants))
        }

        mutating func wait(_ milliseconds: Int) -> [EnhancerStateMachine.Action] {
            self.now = self.now.advanced(by: .milliseconds(milliseconds))
            return self.happened(.timer)
        }

        mutating func fix(_ seq: Int, of id: String = "van", speed: Double = 15) -> [EnhancerStateMachine.Action] {
            let payload = """
                {"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[9.5,\(47 + Double(seq) * 0.001)]},\
                "properties":{"time":\(1_700_000_000 + seq * 10),"seq":\(seq),"stream":"s1","speed":\(speed)}},\
                "skippedLocations":[],"type":"ACTUAL"}
                """
            return self.receive("tracking/\(id)", payload)
        }

        mutating func receive(_ topic: String, _ payload: String) -> [EnhancerStateMachine.Action] {
            let message = IncomingMessage(topic: topic, payload: Array(payload.utf8)[...], isRetained: false)
            return self.happened(.transport([.received(message)]))
        }

        /// Answers the request of these actions: each fix is on the road, 0.0001 degrees to the east.
        mutating func answer(_ actions: [EnhancerStateMachine.Action]) -> [EnhancerStateMachine.Action] {
            guard let (number, request) = Self.requests(actions).first else { return [] }
            let points = request.points.enumerated().map { index, fix in
                RoadMatch.Point(
                    coordinate: Coordinate(latitude: fix.coordinate.latitude, longitude: 9.5001)!,
                    confidence: .matched, edge: 0, segment: index, offset: 8)
            }
            let shape = points.map(\.coordinate) + [Coordinate(latitude: 48, longitude: 9.5001)!]
            let edge = RoadMatch.Edge(id: 7, way: 70, road: "Landstrasse")
            return self.happened(.answered(number, .success(RoadMatch(points: points, edges: [edge], shape: shape))))
        }

        mutating func fail(
            _ actions: [EnhancerStateMachine.Action], _ code: TrackingError.Code = .engineUnavailable
        ) -> [EnhancerStateMachine.Action] {
            guard let (number, _) = Self.requests(actions).first else { return [] }
            return self.happened(.answered(number, .failure(TrackingError(code, "reason"))))
        }

        static func requests(_ actions: [EnhancerStateMachine.Action]) -> [(Int, MatchRequest)] {
            actions.compactMap { if case .match(let number, let request) = $0 { (number, request) } else { nil } }
        }

        /// The published updates as text: `van 3 matched`.
        static func published(_ actions: [EnhancerStateMachine.Action]) -> [String] {
            Self.messages(actions).compactMap { message in
                let name = message.topic.split(separator: "/").dropFirst().first ?? ""
                guard message.topic.hasSuffix("/enhanced") else { return nil }
                guard let update = try? LocationCodec.decode(message.payload) else { return "\(name) cleared" }
                let confidence = update.enhancement?.confidence.rawValue ?? "none"
                return "\(name) \(update.location.seq ?? 0) \(confidence)"
            }
        }

        static func messages(_ actions: [EnhancerStateMachine.Action]) -> [OutgoingMessage] {
            actions.flatMap { action -> [OutgoingMessage] in
                guard case .send(let commands) = action else { return [] }
                return commands.compactMap { if case .publish(let message, _) = $0 { message } else { nil } }
            }
        }

        static func events(_ actions: [EnhancerStateMachine.Action]) -> [EnhancerEvent] {
            actions.compactMap { if case .deliver(let event) = $0 { event } else { nil } }
        }
    }

    @Test func anAnswerInTimePublishesThePositionOnTheRoad() throws {
        var talk = try Talk()
        _ = talk.connect()
        let actions = talk.answer(talk.fix(1))
        #expect(Talk.published(actions) == ["van 1 matched"])
        let message = try #require(Talk.messages(actions).first)
        #expect(message.isRetained)
        let update = try LocationCodec.decode(message.payload)
        #expect(update.location.coordinate.longitude == 9.5001)
        #expect(update.location.stream == StreamID("s1"))
        #expect(update.enhancement?.road == "Landstrasse")
        #expect(abs((update.enhancement?.offset?.value ?? 0) - 7.6) < 0.5)
        let next = talk.answer(talk.fix(2))
        let second = try LocationCodec.decode(try #require(Talk.messages(next).first).payload)
        #expect(second.intermediate.count == 1)
    }

    @Test func aTrackableIsMatchedWithTheRoadsOfItsProfile() throws {
        var talk = try Talk {
            $0.profile = .truck
            $0.profiles = [TrackableID(literal: "van"): .bus]
        }
        _ = talk.connect()
        #expect(Talk.requests(talk.fix(1)).map(\.1.profile) == [.bus])
        #expect(Talk.requests(talk.fix(1, of: "car")).map(\.1.profile) == [.truck])
    }

    @Test func withoutAnAnswerTheFixIsPublishedAtItsDeadline() throws {
        var talk = try Talk()
        _ = talk.connect()
        let request = talk.fix(1)
        #expect(Talk.published(talk.wait(149)) == [])
        #expect(Talk.published(talk.wait(1)) == ["van 1 off-road"])
        // The late answer publishes nothing older, and helps the next match.
        #expect(Talk.published(talk.answer(request)) == [])
        #expect(Talk.published(talk.answer(talk.fix(2))) == ["van 2 matched"])
    }

    @Test func oneRequestOfATrackableIsUnderWay() throws {
        var talk = try Talk()
        _ = talk.connect()
        let first = talk.fix(1)
        #expect(Talk.requests(talk.fix(2)).isEmpty)
        #expect(Talk.requests(talk.fix(3)).isEmpty)
        let actions = talk.answer(first)
        #expect(Talk.published(actions) == ["van 1 matched"])
        #expect(Talk.requests(actions).first?.1.points.count == 3)
        #expect(Talk.published(talk.answer(actions)) == ["van 2 matched", "van 3 matched"])
    }

    @Test func requestsOfAllTrackablesAreLimited() throws {
        var talk = try Talk()
        _ = talk.connect()
        let requests = (1...20).map { talk.fix(1, of: "v\($0)") }
        #expect(requests.count { !Talk.requests($0).isEmpty } == EngineCircuit.maximumRequests)
        #expect(Talk.requests(talk.answer(requests[0])).count == 1)
    }

    @Test func anOlderFixIsNeverPublished() throws {
        var talk = try Talk()
        _ = talk.connect()
        _ = talk.answer(talk.fix(5))
        #expect(talk.fix(4).isEmpty)
        #expect(talk.fix(5).isEmpty)
    }

    @Test func aStandingTrackableAsksTheEngineOnce() throws {
        var talk = try Talk()
        _ = talk.connect()
        _ = talk.answer(talk.fix(1))
        let still = """
            {"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[9.5,47.001]},"properties":\
            {"time":1700000015,"seq":2,"stream":"s1","speed":0}},"skippedLocations":[],"type":"ACTUAL"}
            """
        let actions = talk.receive("tracking/van", still)
        #expect(Talk.published(actions) == ["van 2 matched"])
        #expect(Talk.requests(actions).isEmpty)
    }

    @Test func anEngineThatIsAwayIsTriedAgainAfterAWait() throws {
        var talk = try Talk()
        _ = talk.connect()
        var events: [EnhancerEvent] = []
        for seq in 1...3 {
            let actions = talk.fail(talk.fix(seq))
            #expect(Talk.published(actions) == ["van \(seq) off-road"])
            events += Talk.events(actions)
        }
        #expect(events == [.engineAway(TrackingError(.engineUnavailable, "reason"), retry: .milliseconds(500))])
        // While the engine is away, a fix is published at once.
        let direct = talk.fix(4)
        #expect(Talk.published(direct) == ["van 4 off-road"])
        #expect(Talk.requests(direct).isEmpty)
        _ = talk.wait(500)
        #expect(Talk.events(talk.fail(talk.fix(5))).isEmpty)
        _ = talk.wait(999)
        #expect(Talk.published(talk.fix(6)) == ["van 6 off-road"])
        _ = talk.wait(1)
        let back = talk.answer(talk.fix(7))
        #expect(Talk.events(back) == [.engineBack(after: .milliseconds(1500))])
        #expect(Talk.published(back) == ["van 7 matched"])
    }

    @Test func noRoadIsAnAnswer() throws {
        var talk = try Talk()
        _ = talk.connect()
        for seq in 1...5 {
            let actions = talk.fail(talk.fix(seq), .noRoad)
            #expect(Talk.published(actions) == ["van \(seq) off-road"])
            #expect(Talk.events(actions).isEmpty)
        }
    }

    @Test func aClearedPositionClearsTheEnhancedOne() throws {
        var talk = try Talk()
        _ = talk.connect()
        let request = talk.fix(1)
        #expect(Talk.published(talk.receive("tracking/van", "")) == ["van cleared"])
        #expect(Talk.published(talk.answer(request)) == [])
        #expect(Talk.published(talk.wait(1000)) == [])
    }

    /// An update that the broker may not have received is published on the next connection.
    @Test func theNewestUpdateIsPublishedAgainAfterAReconnect() throws {
        var talk = try Talk()
        _ = talk.connect()
        _ = talk.answer(talk.fix(1))
        let request = talk.fix(2)
        _ = talk.happened(.transport([.disconnected(Disconnection(reason: nil, retry: .seconds(1), lasted: .zero))]))
        #expect(Talk.published(talk.answer(request)) == [])
        #expect(Talk.published(talk.connect(1)) == ["van 2 matched"])
    }

    @Test func onlyTheNamedTrackablesAreEnhanced() throws {
        let (van, car) = (try TrackableID("van"), try TrackableID("car"))
        var talk = try Talk { ($0.only, $0.except) = ([van, car], [car]) }
        _ = talk.connect()
        #expect(Talk.requests(talk.fix(1, of: "car")).isEmpty)
        #expect(Talk.requests(talk.fix(1)).count == 1)
    }

    @Test func anotherProgramWithTheClientIDEndsTheEnhancer() throws {
        var talk = try Talk()
        _ = talk.connect()
        _ = talk.happened(.transport([.disconnected(Disconnection(reason: nil, retry: .seconds(1), lasted: .zero))]))
        let actions = talk.connect(1, standing: "other")
        #expect(talk.machine.failure?.code == .takenOver)
        #expect(actions.last == .send([.close(within: .zero)]))
    }

    @Test func trackablesAreLimited() throws {
        var talk = try Talk()
        _ = talk.connect()
        for number in 1...(EnhancerConfiguration.maximumTrackables + 5) {
            _ = talk.fix(1, of: "v\(number)")
            _ = talk.wait(1)
        }
        #expect(talk.machine.trackableCount == EnhancerConfiguration.maximumTrackables)
        talk.now = talk.now.advanced(by: EnhancerConfiguration.idleTime)
        _ = talk.happened(.timer)
        #expect(talk.machine.trackableCount == 0)
        #expect(talk.machine.fleet.bytes == 0)
    }

    @Test func aStopPublishesTheWaitingFixes() throws {
        var talk = try Talk()
        _ = talk.connect()
        _ = talk.fix(1)
        let actions = talk.happened(.stop)
        #expect(Talk.published(actions) == ["van 1 off-road"])
        guard case .send(let commands)? = actions.last else { return #expect(Bool(false)) }
        #expect(commands.last == .close(within: .seconds(2)))
    }
}
