import Testing
import TrackingCore

@testable import TrackingSubscriber

/// The journeys and estimates that a subscriber of all trackables delivers, and the journeys that it sets.
@Suite struct JourneyDeliveryTests {
    private static let journey = #"{"stops":[{"id":"a","location":[9,47]},{"id":"b","location":[9.1,47]}]}"#
    private static let estimate = #"{"time":1000,"basis":"route","stops":[{"id":"a","status":"EN_ROUTE"}]}"#

    private func connected(wantsJourneys: Bool = true) throws -> SubscriberConversation {
        var talk = try SubscriberConversation { configuration in
            configuration.watchesAll = true
            configuration.isPresentOnlyWhileAsking = true
            configuration.wantsJourneys = wantsJourneys
        }
        let filters = talk.connect(0) + talk.granted()
        #expect(filters.contains { $0.contains("+/journey") } == wantsJourneys, "\(filters)")
        return talk
    }

    @Test func journeysAndEstimatesAreDelivered() throws {
        var talk = try self.connected()
        let first = talk.receive("van/journey", Self.journey, retained: true)
        #expect(first.contains("van is OFFLINE") && first.last == "van journey a,b", "\(first)")
        #expect(talk.receive("van/estimate", Self.estimate) == ["van estimate of 1000.0"])
        #expect(talk.receive("van/estimate", "") == ["van estimate cleared"])
        #expect(talk.receive("van/journey", "") == ["van journey cleared"])
        #expect(talk.receive("van/journey", #"{"stops":[]}"#) == ["bad message on tracking/van/journey"])
        #expect(talk.receive("bus/estimate", Self.estimate).isEmpty, "an estimate alone is of no trackable")
    }

    @Test func withoutTheSettingNothingIsDelivered() throws {
        var talk = try self.connected(wantsJourneys: false)
        _ = try talk.update(1)
        #expect(talk.receive("van/journey", Self.journey).isEmpty)
    }

    /// A client does not receive the clearing of a topic while it is not connected.
    @Test func aJourneyThatWasClearedMeanwhileIsDeliveredAsCleared() throws {
        var talk = try self.connected()
        for id in ["bus", "van"] { _ = talk.receive("\(id)/journey", Self.journey, retained: true) }
        _ = talk.receive("van/estimate", Self.estimate, retained: true)
        _ = talk.lose()
        _ = talk.connect(1)
        _ = talk.receive("bus/journey", Self.journey, retained: true)
        let granted = talk.granted()
        let ended = granted + talk.wait(.seconds(90))
        let cleared = ended.filter { $0.hasSuffix("cleared") }
        #expect(cleared == ["van estimate cleared", "van journey cleared"], "\(ended)")
        #expect(talk.wait(.seconds(60)).allSatisfy { !$0.hasSuffix("cleared") })
    }

    @Test func aJourneyIsSetAndClearedWithTheAnswerOfTheBroker() throws {
        var talk = try self.connected()
        let van = try TrackableID("van")
        let journey = try MessageCodec.decodeJourney(Array(Self.journey.utf8))
        #expect(talk.happened(.setJourney(journey, of: van, request: 7)).count == 1)
        #expect(talk.acked() == ["published 7"])
        #expect(talk.happened(.setJourney(nil, of: van, request: 8)) == ["van/journey: cleared"])
        #expect(talk.acked(refusing: ["tracking/van/journey"]) == ["published 8 not: notAuthorized"])
        _ = talk.lose()
        #expect(talk.happened(.setJourney(journey, of: van, request: 9)) == ["published 9 not: connectionLost"])
    }
}
