import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway

/// Journeys and estimates in the current state of the gateway and in its live streams.
@Suite struct LiveJourneyTests {
    private let van: TrackableID
    private let bike: TrackableID
    private let all = LiveSelection(.everything, reads: .all)
    private var state = LiveHubState(epoch: 7)

    init() throws {
        self.van = try TrackableID("van")
        self.bike = try TrackableID("bike")
    }

    private mutating func apply(_ event: SubscriberEvent) -> LiveUpdate? {
        self.state.happened(event, at: UnixTime(1000))
    }

    @Test mutating func theMessageIsAMemberOfTheEvent() throws {
        let journey = Journey(stops: [Journey.Stop(id: "a", location: SampleJourney.place(47.5))])
        let set = try #require(self.apply(.journey(self.van, journey)))
        #expect(
            set.text.hasSuffix(
                "event: journey\ndata: {\"trackable\":\"van\",\"journey\":{\"stops\":[{\"id\":\"a\",\"location\":[9.5,47.5],\"radius\":150}]}}\n\n"
            ), "\(set.text)")
        #expect(self.apply(.journey(self.van, journey)) == nil, "no change")
        let estimate = try #require(self.apply(.estimate(self.van, SampleJourney.estimate())))
        #expect(estimate.text.contains(#"data: {"trackable":"van","estimate":{"time":1790000000,"basis":"route""#))
        #expect(self.state.opening(self.all, after: nil).summary == "snapshot: van journey 1, van estimate 2")
        let cleared = try #require(self.apply(.journey(self.van, nil)))
        #expect(cleared.text.hasSuffix("event: journey\ndata: {\"trackable\":\"van\",\"journey\":null}\n\n"))
        #expect(self.apply(.journey(self.van, nil)) == nil)
        #expect(self.state.known(self.van)?.progress.journey == nil)
        #expect(self.state.known(self.van)?.members.isEmpty == true, "the answer of the trackable has no new member")
    }

    /// An interrupted stream does not receive an erased journey.
    @Test mutating func aClearedJourneyIsForgotten() throws {
        let start = self.state.position(at: UnixTime(0))
        _ = self.apply(.journey(self.van, SampleJourney.journey))
        _ = self.apply(.estimate(self.van, SampleJourney.estimate()))
        _ = self.apply(.journey(self.van, nil))
        _ = self.apply(.estimate(self.van, nil))
        guard case .resumed(let updates) = self.state.opening(self.all, after: start) else {
            Issue.record("not resumed")
            return
        }
        let text = updates.map(\.text).joined()
        #expect(updates.count == 2 && !text.contains("Baker") && !text.contains("order-11"), "\(text)")
    }

    @Test mutating func onlyReadersOfTheTrackableReceiveIt() throws {
        let update = try #require(self.apply(.journey(self.van, SampleJourney.journey)))
        #expect(self.all.wants(update))
        #expect(!LiveSelection(.everything, reads: .only([self.bike])).wants(update))
        #expect(!LiveSelection(.these([self.bike]), reads: .all).wants(update))
    }

    @Test func theSizeOfAllJourneysIsLimited() throws {
        let size = try MessageCodec.encode(SampleJourney.journey).count
        var known = KnownJourneys(limit: size * 2)
        #expect(known.set(\.journey, of: self.van, to: SampleJourney.journey) == .changed)
        #expect(known.set(\.journey, of: self.bike, to: SampleJourney.journey) == .changed)
        let bus = try TrackableID("bus")
        #expect(known.set(\.journey, of: bus, to: SampleJourney.journey) == .tooLarge)
        #expect(known[bus] == JourneyProgress() && known.journeys.count == 2)
        #expect(known.set(\.estimate, of: self.van, to: SampleJourney.estimate()) == .tooLarge)
        #expect(known[self.van].journey != nil && known[self.van].estimate == nil)
        #expect(known.set(\.journey, of: self.van, to: nil) == .changed)
        #expect(known.set(\.journey, of: bus, to: SampleJourney.journey) == .changed)
        known.forget(self.bike)
        #expect(known.set(\.journey, of: self.van, to: SampleJourney.journey) == .changed)
    }
}
