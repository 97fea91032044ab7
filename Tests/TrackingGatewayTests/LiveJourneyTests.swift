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

    private mutating func apply(_ event: SubscriberEvent) throws -> LiveUpdate {
        let update = self.state.happened(event, at: UnixTime(1000))
        return try #require(update)
    }

    @Test mutating func theMessageIsAMemberOfTheEvent() throws {
        let journey = Journey(stops: [Journey.Stop(id: "a", location: SampleJourney.place(47.5))])
        let set = try self.apply(.journey(self.van, journey))
        #expect(
            set.text.hasSuffix(
                "event: journey\ndata: {\"trackable\":\"van\",\"journey\":{\"stops\":[{\"id\":\"a\",\"location\":[9.5,47.5],\"radius\":150}]}}\n\n"
            ), "\(set.text)")
        let again = self.state.happened(.journey(self.van, journey), at: UnixTime(1000))
        #expect(again == nil)
        let estimate = try self.apply(.estimate(self.van, SampleJourney.estimate()))
        #expect(estimate.text.contains(#"data: {"trackable":"van","estimate":{"time":1790000000,"basis":"route""#))
        #expect(self.state.opening(self.all, after: nil).summary == "snapshot: van journey 1, van estimate 2")
        let cleared = try self.apply(.journey(self.van, nil))
        #expect(cleared.text.hasSuffix("event: journey\ndata: {\"trackable\":\"van\",\"journey\":null}\n\n"))
        let clearedAgain = self.state.happened(.journey(self.van, nil), at: UnixTime(1000))
        #expect(clearedAgain == nil)
        #expect(self.state.known(self.van)?.progress.journey == nil)
        #expect(self.state.known(self.van)?.members.isEmpty == true, "the answer of the trackable has no new member")
    }

    /// An interrupted stream does not receive an erased journey.
    @Test mutating func aClearedJourneyIsForgotten() throws {
        let start = self.state.position(at: UnixTime(0))
        _ = try self.apply(.journey(self.van, SampleJourney.journey))
        _ = try self.apply(.estimate(self.van, SampleJourney.estimate()))
        _ = try self.apply(.journey(self.van, nil))
        _ = try self.apply(.estimate(self.van, nil))
        guard case .resumed(let updates) = self.state.opening(self.all, after: start) else {
            Issue.record("not resumed")
            return
        }
        let text = updates.map(\.text).joined()
        #expect(updates.count == 2 && !text.contains("Baker") && !text.contains("order-11"), "\(text)")
    }

    @Test mutating func onlyReadersOfTheTrackableReceiveIt() throws {
        let update = try self.apply(.journey(self.van, SampleJourney.journey))
        #expect(self.all.wants(update))
        #expect(!LiveSelection(.everything, reads: .only([self.bike])).wants(update))
        #expect(!LiveSelection(.these([self.bike]), reads: .all).wants(update))
    }

    @Test func theSizeOfAllJourneysIsLimited() throws {
        let journey = SampleJourney.journey
        var known = KnownJourneys(limit: 200)
        var outcomes: [KnownJourneys.Outcome] = []
        outcomes.append(known.setJourney(journey, of: self.van, bytes: 100))
        outcomes.append(known.setJourney(journey, of: self.van, bytes: 100))
        outcomes.append(known.setJourney(journey, of: self.bike, bytes: 100))
        let bus = try TrackableID("bus")
        outcomes.append(known.setJourney(journey, of: bus, bytes: 1))
        #expect(known[bus] == JourneyProgress() && known.journeys.count == 2)
        outcomes.append(known.setEstimate(SampleJourney.estimate(), of: self.van, bytes: 1))
        #expect(known[self.van] == JourneyProgress(journey: journey))
        outcomes.append(known.setJourney(nil, of: self.van, bytes: 0))
        outcomes.append(known.setJourney(journey, of: bus, bytes: 100))
        known.forget(self.bike)
        outcomes.append(known.setEstimate(SampleJourney.estimate(), of: self.van, bytes: 100))
        outcomes.append(known.setJourney(journey, of: self.van, bytes: 1))
        #expect(
            outcomes == [
                .changed, .unchanged, .changed, .tooLarge, .tooLarge, .changed, .changed, .changed, .tooLarge,
            ])
    }
}
