import Testing
import TrackingCore

@testable import TrackingPublisher

/// The destination as a journey, and the estimate of the arrival (docs/reference/protocol.md, "Journey"). Further
/// conversations are in Tests/Scenarios/publisher.
@Suite struct DestinationPublishingTests {
    private static let refusal = TrackingError(.notAuthorized, "forbidden")
    /// 10 km north of the first fix.
    private let destination = Coordinate(latitude: 10_000 / 111_195, longitude: 1)!  // in range

    private func van() throws -> Trackable {
        try PublisherConversation.van { $0.destination = self.destination }
    }

    private func talk(
        _ configure: (inout PublisherConfiguration) -> Void = { _ in }
    ) throws -> PublisherConversation {
        var talk = try PublisherConversation([try self.van()], configure: configure)
        _ = talk.connect(0)
        return talk
    }

    @Test func aForeignJourneyIsNeverReplaced() throws {
        var decision = DestinationPublishing()
        #expect(decision.next(destination: self.destination, needsEstimate: false) == .subscribe)
        #expect(decision.next(destination: self.destination, needsEstimate: false) == nil)
        decision.received(.operators)
        decision.readRetained()
        #expect(decision.next(destination: self.destination, needsEstimate: false) == nil)
        #expect(decision.next(destination: nil, needsEstimate: false) == .unsubscribe)
        #expect(decision.next(destination: nil, needsEstimate: false) == nil)
    }

    /// The journey of an earlier run, or of the publisher before this one, is replaced or cleared.
    @Test func aJourneyToAnotherDestinationIsReplaced() throws {
        var decision = DestinationPublishing()
        #expect(decision.next(destination: nil, needsEstimate: true) == .subscribe)
        decision.received(.destination("destination:1.0,2.0"))
        decision.readRetained()
        var other = decision
        #expect(
            other.next(destination: self.destination, needsEstimate: false) == .publish(Journey(to: self.destination)))
        #expect(other.isOwn)
        #expect(decision.next(destination: nil, needsEstimate: true) == .clear)
        #expect(decision.next(destination: nil, needsEstimate: true) == nil)
        #expect(!decision.isOwn)
    }

    @Test func aJourneyThatTheBrokerRejectsIsPublishedAgainLater() throws {
        var talk = try self.talk()
        #expect(talk.granted().contains { $0.hasPrefix("van/journey: journey to destination:1.0,") })
        let answers = talk.acked(refusing: ["tracking/van/journey"])
        #expect(answers.contains("no journey of van (notAuthorized)"))
        #expect(!answers.contains { $0.hasPrefix("van/journey") })
        let again = talk.wait(.seconds(2))
        #expect(again.contains { $0.hasPrefix("van/journey: journey to destination:1.0,") })
        #expect(
            !talk.acked(refusing: ["tracking/van/journey"]).contains { $0.hasPrefix("no journey") }, "reported once")
    }

    /// Without the right to read the journey, the publisher does not know if an operator has set one.
    @Test func withoutTheRightToReadTheJourneyNoneIsPublished() throws {
        var talk = try self.talk()
        let answers = talk.granted(refusing: Self.refusal, only: "tracking/van/journey")
        #expect(answers.contains("no journey of van (notAuthorized)"))
        #expect(answers.contains { $0.hasPrefix("van/publisher/d1: present") }, "the trackable is published")
        #expect(!answers.contains { $0.hasPrefix("van/journey") })
        #expect(talk.wait(.seconds(2)).contains("subscribe van/journey van/estimate"))
        #expect(talk.granted().contains { $0.hasPrefix("van/journey: journey to destination:1.0,") })
    }

    @Test func aRefusedSubscriptionToEstimatesDoesNotPreventTheJourney() throws {
        var talk = try self.talk()
        let answers = talk.granted(refusing: Self.refusal, only: "tracking/van/estimate")
        #expect(answers.contains { $0.hasPrefix("van/journey: journey to destination:1.0,") })
    }

    @Test func withoutLivePositionsThereIsNoJourney() throws {
        var talk = try self.talk { $0.sendsLive = false }
        #expect(!talk.granted().contains { $0.contains("van/journey") })
    }

    @Test func aHiddenDestinationIsClearedAsAJourney() throws {
        var talk = try self.talk()
        _ = talk.granted() + talk.acked()
        var next = talk.machine.configuration
        let zone = try PrivacyZone(name: "home", center: self.destination, radius: 100)
        next.capture = try CaptureStateMachine(filter: CaptureFilter(), zones: PrivacyZones([zone]))
        #expect(talk.happened(.configure(next)).contains("van/journey: cleared"))
    }

    @Test func anotherPublisherKeepsTheJourney() throws {
        var talk = try self.talk()
        _ = talk.granted() + talk.acked() + talk.echoed()
        let answers = talk.publisher("d2", "other", since: 2000)
        #expect(answers.contains("van is FAILED (takenOver)"))
        #expect(!(answers + talk.happened(.remove(try TrackableID("van")))).contains { $0.hasPrefix("van/journey") })
    }

    /// docs/reference/resolution.md, "Destination": the way to the destination is that of the estimate.
    @Test func theWayToTheDestinationIsThatOfTheEstimate() throws {
        var talk = try PublisherConversation.online(try self.van())
        let estimate = Estimate(
            time: UnixTime(1000), basis: .route,
            stops: [
                Estimate.Stop(
                    id: Journey.Stop.id(ofDestination: self.destination), eta: UnixTime(1600), distance: 14_000,
                    status: .enRoute)
            ])
        _ = talk.wait(.seconds(20)) + talk.acked()
        let answers = talk.receive("tracking/van/estimate", try MessageCodec.encode(estimate))
        #expect(answers.contains { $0.hasPrefix("van/resolution") })
        let said = try #require(talk.said["tracking/van/resolution"])
        let way = try #require(try MessageCodec.decodeResolution(said[...]).approach)
        #expect(way.distance == 14_000)
        // The last position is of the second 1000.
        #expect(way.timeToArrival == .seconds(600))
    }

    @Test func anEstimateThatCannotBeDecodedIsSkipped() throws {
        var talk = try self.talk()
        _ = talk.granted() + talk.acked()
        #expect(talk.receive("tracking/van/estimate", "?") == ["bad message on tracking/van/estimate"])
    }
}
