import NIOCore
import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway

/// The part of a journey and its estimate that a share link shows.
@Suite struct SharedEstimateTests {
    private let van: TrackableID
    private let span = UnixTime(1_789_999_000)..<UnixTime(1_790_009_000)

    init() throws { self.van = try TrackableID("van") }

    private func shared(
        _ stop: String?, _ estimate: Estimate?, _ journey: Journey? = SampleJourney.journey
    ) throws -> JSONValue? {
        let progress = JourneyProgress(journey: journey, estimate: estimate)
        return try SharedEstimate(progress, stop: stop, during: self.span).map { try JSONValue(json: $0.json) }
    }

    @Test func aLinkHasTheArrivalAtItsStop() throws {
        let json = try #require(try self.shared("order-22", SampleJourney.estimate()))
        let members = json["stop"]?.object ?? [:]
        #expect(Set(members.keys) == ["name", "location", "eta", "earliest", "latest", "distance", "status"])
        #expect(json["stop"]?["name"] == .text("Cafe Berta") && json["stop"]?["status"] == .text("EN_ROUTE"))
        #expect(json["stop"]?["location"] == .list([.number(9.5), .number(47.222222)]))
        #expect(json["stopsBefore"] == .number(1) && json["route"] == nil)
        #expect(json["basis"] == .text("route") && json["time"] == .number(1_790_000_000))
    }

    @Test func theDefaultIsTheLastStop() throws {
        let json = try #require(try self.shared(nil, SampleJourney.estimate(arrived: 1)))
        #expect(json["stop"]?["name"] == .text("Dentist Caesar") && json["stopsBefore"] == .number(1))
    }

    /// The way is shown once the stops before have been reached. It ends at the link's stop.
    @Test func theWayEndsAtTheStop() throws {
        let json = try #require(try self.shared("order-22", SampleJourney.estimate(arrived: 1)))
        #expect(json["stopsBefore"] == .number(0))
        let way = try #require(Polyline.decode(json["route"]?.text ?? "", limit: 2000))
        #expect(way.first == SampleJourney.place(47.15) && way.count > 5)
        let end = try #require(way.last)
        #expect(end.distance(to: SampleJourney.place(47.222222)) < 1, "\(end)")
        #expect(way.allSatisfy { $0.latitude < 47.22223 })
    }

    @Test func aReachedStopHasNoWay() throws {
        let json = try #require(try self.shared("order-22", SampleJourney.estimate(arrived: 2)))
        #expect(json["stop"]?["status"] == .text("ARRIVED") && json["route"] == nil)
        #expect(json["stop"]?["distance"] == nil && json["stop"]?["eta"] != nil)
    }

    /// The distance and the way would show the position at the time of the estimate.
    @Test func anEstimateFromBeforeTheLinkHasNoDistance() throws {
        let json = try #require(try self.shared("order-11", SampleJourney.estimate(at: 1_789_998_999)))
        #expect(json["stop"]?["eta"] != nil && json["stop"]?["distance"] == nil && json["route"] == nil)
    }

    @Test func withoutItsStopALinkHasNothing() throws {
        #expect(try self.shared("order-44", SampleJourney.estimate()) == nil)
        #expect(try self.shared(nil, nil) == nil)
        #expect(try self.shared(nil, SampleJourney.estimate(), nil) == nil)
        // The estimate of the journey before does not have the last stop.
        let longer = Journey(
            stops: SampleJourney.journey.stops + [Journey.Stop(id: "new", location: SampleJourney.place(47.4))])
        #expect(try self.shared(nil, SampleJourney.estimate(), longer) == nil)
        #expect(try self.shared("order-11", SampleJourney.estimate(), longer) != nil)
    }

    // MARK: - In the live stream

    private func frames(_ updates: [LiveUpdate], _ selection: LiveSelection) -> String {
        updates.map { String(buffer: selection.frame(of: $0)) }.joined()
    }

    private func opening(_ state: LiveHubState, _ selection: LiveSelection, after last: LiveEventID?) -> [LiveUpdate] {
        switch state.opening(selection, after: last) {
        case .snapshot(let updates), .resumed(let updates): updates
        case .gap(_, _, let cleared, let updates): cleared + updates
        }
    }

    /// Every order of the messages, a journey that was replaced, and every way to open the stream.
    @Test func noOpeningHasAnotherStop() throws {
        let stop = Journey.Stop(id: "former", name: "Former Customer", location: SampleJourney.place(46))
        let reached = Estimate.Stop(id: "former", status: .arrived)
        var state = LiveHubState(epoch: 7)
        let start = state.position(at: UnixTime(0))
        let events: [SubscriberEvent] = [
            try Sample.location(self.van, 1, time: 1_790_000_000), .journey(self.van, Journey(stops: [stop])),
            .estimate(self.van, Estimate(time: UnixTime(1_790_000_000), basis: .route, stops: [reached])),
            .journey(self.van, SampleJourney.journey), .estimate(self.van, SampleJourney.estimate()),
            .journey(self.van, SampleJourney.journey),
        ]
        for event in events { _ = state.happened(event, at: UnixTime(1_790_000_001)) }
        for wanted in [
            LiveSelection.Wanted.everything, .these([self.van]),
            .box(try #require(GeoBox(south: 50, west: -10, north: 54, east: -6))),
        ] {
            for (index, id) in [(2, nil), (0, "order-11"), (1, "order-22")] {
                let link = LiveSelection(wanted, reads: .only([self.van]), span: self.span, stop: id)
                for last in [nil, start, LiveEventID(epoch: 8, number: 0, time: UnixTime(0))] {
                    let updates = self.opening(state, link, after: last)
                    let text = self.frames(updates, link)
                    #expect(text.contains(SampleJourney.secrets(index)[1]), "\(text)")
                    #expect(!text.contains("event: journey") && !text.contains("ormer"), "\(text)")
                    let others = (0...2).filter { $0 != index }.flatMap { SampleJourney.secrets($0) }
                    for secret in others { #expect(!text.contains(secret), "\(secret): \(text)") }
                }
            }
        }
    }

    /// A link that resumes after the journey was cleared receives that there is no estimate.
    @Test func aClearingReachesALinkThatResumes() throws {
        var state = LiveHubState(epoch: 7)
        for event in [
            .journey(self.van, SampleJourney.journey), .estimate(self.van, SampleJourney.estimate()),
        ] as [SubscriberEvent] { _ = state.happened(event, at: UnixTime(1_790_000_001)) }
        let last = state.position(at: UnixTime(1_790_000_001))
        _ = state.happened(.journey(self.van, nil), at: UnixTime(1_790_000_002))
        let link = LiveSelection(.everything, reads: .only([self.van]), span: self.span)
        let text = self.frames(self.opening(state, link, after: last), link)
        #expect(text == "event: estimate\ndata: {\"trackable\":\"van\",\"estimate\":null}\n\n", "\(text)")
    }

    /// The destination of the device may be another stop of the journey.
    @Test func theDestinationIsShownOnlyAtTheStopOfTheLink() throws {
        func frame(_ stop: String?, _ journey: Journey?) throws -> String {
            var state = LiveHubState(epoch: 7)
            _ = state.happened(.journey(self.van, journey), at: UnixTime(1))
            let inForce = ResolutionInForce(
                resolution: .standard, isNear: false, subscribers: 1, isLowBattery: false, state: .online,
                filter: .both, maximumSilence: .seconds(30),
                approach: Approach(
                    destination: SampleJourney.journey.stops[0].location, distance: 4321, timeToArrival: .seconds(300)))
            let happened = state.happened(.resolution(self.van, inForce), at: UnixTime(2))
            let update = try #require(happened)
            let link = LiveSelection(.everything, reads: .all, span: self.span, stop: stop)
            #expect(self.opening(state, link, after: nil).contains { $0.kind == .resolution })
            return String(buffer: link.frame(of: update)) + self.frames(self.opening(state, link, after: nil), link)
        }
        #expect(try frame(nil, nil).contains("47.111111"))
        #expect(try frame("order-11", SampleJourney.journey).contains("47.111111"))
        for stop in ["order-22", nil] {
            let text = try frame(stop, SampleJourney.journey)
            #expect(!text.contains("47.111111") && !text.contains("timeToArrival"), "\(text)")
        }
    }
}
