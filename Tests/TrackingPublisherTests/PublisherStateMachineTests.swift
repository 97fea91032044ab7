import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for the publisher's part of docs/reference/protocol.md and docs/reference/resolution.md. Events lead to
/// every state.
@Suite struct PublisherStateMachineTests {
    private let forbidden = TrackingError(.notAuthorized, "forbidden")

    // MARK: - Connections

    @Test func itReadsItsOwnTopicBeforeItSaysAnything() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = try talk.fix(at: 0)
        #expect(
            talk.connect(0) == [
                "connected", "subscribe van/publisher/+ van/subscriber/+ van/request/+ _clients/d1",
                "subscribe _clients/d1",
            ])
        let said = talk.granted().filter { !$0.hasPrefix("tell") }
        #expect(
            said == [
                "_clients/d1: online mine/0", "van/publisher/d1: present mine/0 since 1000.0",
                "van is PUBLISHING", "van/resolution: BALANCED/10000/0 PUBLISHING subscribers 0", "van: update 1",
            ])
    }

    @Test func itIsOnlineOnceItsOwnWordsCameBackAndAnUpdateWasAcknowledged() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = try talk.fix(at: 0)
        _ = talk.connect(0)
        _ = talk.granted()
        #expect(talk.acked() == [])
        let back = talk.echoed()
        #expect(back.contains("van is ONLINE"))
        #expect(back.contains("van/resolution: BALANCED/10000/0 ONLINE subscribers 0"))
    }

    @Test func afterAReconnectEverythingIsSaidAgainTheNewestPositionFirst() throws {
        var talk = try PublisherConversation.online()
        #expect(talk.lose().prefix(2) == ["not connected", "van is OFFLINE (connectionLost)"])
        #expect(try talk.fix(at: 20).contains("fix 2 sent"))
        #expect(try talk.fix(at: 40).contains("fix 3 sent"))
        _ = talk.connect(1)
        let said = talk.granted().filter { $0.contains(": ") }
        #expect(said.first == "_clients/d1: online mine/1")
        #expect(said[1] == "van/publisher/d1: present mine/1 since 1000.0")
        #expect(said.last == "van: update 3 skipped 2")
        _ = talk.acked()
        #expect(talk.echoed().contains("van is ONLINE"))
    }

    @Test func anUpdateInFlightIsSentAgain() throws {
        var talk = try PublisherConversation.online()
        #expect(try talk.fix(at: 20).contains("van: update 2"))
        _ = talk.lose()
        _ = talk.connect(1)
        #expect(talk.granted().last == "van: update 2")
    }

    @Test func aHeartbeatEveryHalfLease() throws {
        var talk = try PublisherConversation.online()
        #expect(talk.wait(.milliseconds(42_900)) == [])
        #expect(talk.wait(.milliseconds(100)) == ["_clients/d1: online mine/0"])
    }

    @Test func anOfflineOfItsOwnSessionIsAnsweredAtOnce() throws {
        var talk = try PublisherConversation.online()
        #expect(
            talk.receive("tracking/_clients/d1", #"{"status":"offline","session":"mine","connection":0}"#) == [
                "_clients/d1: online mine/0"
            ])
    }

    @Test func aTakenOverIdEndsWithoutAWord() throws {
        var talk = try PublisherConversation.online()
        _ = talk.lose()
        _ = talk.connect(1)
        _ = talk.receive(
            "tracking/_clients/d1", #"{"status":"online","session":"other","connection":0,"lease":90}"#, retained: true)
        #expect(
            talk.granted().filter { !$0.hasPrefix("tell") && !$0.hasPrefix("sensor") } == [
                "van is FAILED (takenOver)", "close",
            ])
        #expect(talk.machine.readiness.hasFailed)
    }

    // MARK: - Who asks

    @Test func aSubscriberIsCountedAndItsRequestFollowed() throws {
        var talk = try PublisherConversation.online()
        #expect(talk.subscriber("w1").contains("van/resolution: BALANCED/10000/0 ONLINE subscribers 1"))
        _ = talk.wait(.seconds(3))
        let asked = talk.request("w1", interval: 500)
        #expect(asked.contains("sensor HIGH/500/0"))
        #expect(asked.contains("van/resolution: HIGH/500/0 ONLINE subscribers 1"))
        _ = talk.wait(.seconds(1))
        #expect(
            talk.receive("tracking/van/request/w1", "").contains(
                "van/resolution: BALANCED/10000/0 ONLINE subscribers 1"))
    }

    @Test func aRequestBeforeThePresenceTakesEffectWithIt() throws {
        var talk = try PublisherConversation.online()
        #expect(talk.request("w1", interval: 500) == [])
        #expect(talk.subscriber("w1").contains("sensor HIGH/500/0"))
    }

    @Test func aRequestOfAnotherSessionIsNotThisOnes() throws {
        var talk = try PublisherConversation.online()
        _ = talk.subscriber("w1", "new")
        #expect(talk.request("w1", "old", interval: 500) == [])
    }

    @Test func aSubscriberThatDiedIsHeededForTwoMoreSeconds() throws {
        var talk = try PublisherConversation.online()
        _ = talk.subscriber("w1")
        _ = talk.request("w1", interval: 500)
        _ = talk.wait(.seconds(1))
        #expect(talk.receive("tracking/_clients/w1", #"{"status":"offline","session":"s","connection":0}"#) == [])
        #expect(talk.wait(.milliseconds(1_900)) == [])
        #expect(talk.wait(.milliseconds(100)).contains("van/resolution: BALANCED/10000/0 ONLINE subscribers 0"))
    }

    @Test func aRequestOutlivesALeaseThatIsRenewed() throws {
        var talk = try PublisherConversation.online()
        _ = talk.subscriber("w1")
        _ = talk.request("w1", interval: 500)
        #expect(talk.wait(.seconds(90)).contains("van/resolution: BALANCED/10000/0 ONLINE subscribers 0"))
        _ = talk.wait(.seconds(1))
        let beat = #"{"status":"online","session":"s","connection":0,"lease":90}"#
        #expect(talk.receive("tracking/_clients/w1", beat).contains("sensor HIGH/500/0"))
    }

    @Test func itAnnouncesItselfAgainWithinASecondOfAnArrival() throws {
        var talk = try PublisherConversation.online()
        _ = talk.subscriber("w1")
        let said = talk.wait(.seconds(1)).filter { $0.contains(": ") }
        #expect(
            said == [
                "_clients/d1: online mine/0", "van/publisher/d1: present mine/0 since 1000.0", "van: update 1",
                // Published at the arrival, and not twice within a second.
                "van/resolution: BALANCED/10000/0 ONLINE subscribers 1",
            ])
        #expect(talk.wait(.seconds(5)) == [])
    }

    @Test func arrivalsDoNotPutTheAnnouncementOff() throws {
        var talk = try PublisherConversation.online()
        var announcements = 0
        for number in 0..<20 {
            announcements += talk.subscriber("w\(number)").count { $0.hasPrefix("van/publisher") }
            announcements += talk.wait(.milliseconds(50)).count { $0.hasPrefix("van/publisher") }
        }
        #expect(announcements >= 1)
    }

    @Test func itAnnouncesItselfAgainToASubscriberThatReconnected() throws {
        var talk = try PublisherConversation.online()
        _ = talk.subscriber("w1")
        _ = talk.wait(.seconds(2))
        #expect(talk.subscriber("w1", connection: 1) == [])
        #expect(talk.wait(.seconds(1)).contains("van/publisher/d1: present mine/0 since 1000.0"))
    }

    // MARK: - Whose trackable

    @Test func sinceIsLaterThanEveryRetainedPresence() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = talk.connect(0)
        _ = talk.publisher("d2", "other", since: 5000, retained: true)
        #expect(talk.granted().contains("van/publisher/d1: present mine/0 since 5000.001"))
        _ = talk.lose()
        _ = talk.wait(.seconds(60))
        _ = talk.connect(1)
        #expect(talk.granted().contains("van/publisher/d1: present mine/1 since 5000.001"))
    }

    /// A presence with the latest possible time does not cause an unreadable time. The greater session is the owner.
    @Test(arguments: [("a", "van is ONLINE"), ("z", "van is FAILED (takenOver)")])
    func noLaterTimeThanTheLatestIsSaid(other: String, state: String) throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = try talk.fix(at: 0)
        _ = talk.connect(0)
        _ = talk.publisher("d2", other, since: 1e11, retained: true)
        _ = talk.receive(
            "tracking/_clients/d2", #"{"status":"online","session":"\#(other)","connection":0,"lease":90}"#)
        let said = talk.granted()
        #expect(said.contains("van/publisher/d1: present mine/0 since 100000000000.0") == (other == "a"))
        #expect((said + talk.acked() + talk.echoed()).contains(state))
    }

    @Test func aLaterPublisherOwnsIt() throws {
        var talk = try PublisherConversation.online()
        let said = talk.publisher("d2", "other", since: 1001)
        #expect(
            said.filter { $0.hasPrefix("van") } == [
                "van/publisher/d1: cleared", "van is FAILED (takenOver)", "van/event: COLLISION",
            ])
        #expect(try talk.fix(at: 100).isEmpty)  // the other records it now
        // The backlog drains nevertheless.
        #expect(talk.wait(.seconds(20)).contains("van/history: batch [2] oldest 2 remaining 0"))
        #expect(talk.happened(.remove(try TrackableID("van"))).contains("removed van"))
    }

    @Test(arguments: [("a", false), ("z", true)]) func aTieGoesToTheGreaterSession(other: String, wins: Bool) throws {
        var talk = try PublisherConversation.online()
        #expect(talk.publisher("d2", other, since: 1000).contains("van is FAILED (takenOver)") == wins)
    }

    @Test func anEarlierPublisherAndTheOwnClientAreNoCollision() throws {
        var talk = try PublisherConversation.online()
        #expect(talk.publisher("d2", "other", since: 999) == ["subscribe _clients/d2"])
        #expect(talk.publisher("d1", "other", since: 9999) == [])
    }

    @Test func aCollisionSeenBeforeTheAnnouncementIsReportedAfterIt() throws {
        var talk = try PublisherConversation.online()
        _ = talk.publisher("d2", "other", since: 999)
        _ = talk.lose()
        _ = talk.connect(1)
        #expect(talk.publisher("d2", "other", since: 2000, retained: true).contains("van is FAILED (takenOver)"))
        #expect(talk.granted().contains("van/event: COLLISION"))
    }

    // MARK: - Refusals

    @Test func aRefusedTrackableIsTriedAgainWithGrowingWaits() throws {
        var talk = try PublisherConversation.online()
        let topics: Set<String> = ["tracking/van", "tracking/van/publisher/d1"]
        #expect(try talk.fix(at: 20).contains("van: update 2"))
        #expect(talk.acked(refusing: topics).contains("van is OFFLINE (notAuthorized)"))
        for wait in [1_000, 2_000, 4_000, 8_000] {
            #expect(!talk.wait(.milliseconds(wait - 100)).contains { $0.hasPrefix("subscribe") })
            #expect(talk.wait(.milliseconds(100)).contains { $0.hasPrefix("subscribe van/publisher/+") })
            #expect(talk.granted(refusing: self.forbidden).contains("van is OFFLINE (notAuthorized)"))
        }
        // Recording continues, and the position is published once the broker grants it.
        #expect(try talk.fix(at: 40).contains("fix 3 sent"))
        _ = talk.wait(.seconds(16))
        _ = talk.granted()
        _ = talk.acked()
        #expect(talk.echoed().contains("van is ONLINE"))
    }

    @Test func aRefusalOfAFirstSubscriptionCounts() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = talk.connect(0)
        #expect(talk.granted(refusing: self.forbidden).contains { $0.hasPrefix("van/publisher") } == false)
        #expect(talk.wait(.seconds(1)).contains { $0.hasPrefix("subscribe van/publisher/+") })
    }

    @Test func aRefusedResolutionIsSaidAgainWithGrowingWaits() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = try talk.fix(at: 0)
        _ = talk.connect(0)
        let topic = "tracking/van/resolution"
        _ = talk.granted() + talk.echoed() + talk.acked(refusing: [topic])
        // The resolution is published again when the trackable becomes ONLINE.
        #expect(talk.acked(refusing: [topic]) == [])
        for wait in [1_000, 2_000, 4_000] {
            #expect(!talk.wait(.milliseconds(wait - 100)).contains { $0.hasPrefix("van/resolution") })
            let again = talk.wait(.milliseconds(100)).filter { $0.hasPrefix("van/") }
            #expect(again == ["van/resolution: BALANCED/10000/0 ONLINE subscribers 0"])
            #expect(talk.acked(refusing: [topic]) == [])
        }
        #expect(talk.wait(.seconds(8)).contains { $0.hasPrefix("van/resolution") })
        _ = talk.acked()
        #expect(!talk.wait(.seconds(60)).contains { $0.hasPrefix("van/resolution") })
    }

    @Test func aRefusalIsTriedAgainAfterAnOutageThatOutlastedItsWait() throws {
        var talk = try PublisherConversation.online()
        _ = try talk.fix(at: 20)
        _ = talk.acked(refusing: ["tracking/van"])
        _ = talk.lose()
        _ = talk.wait(.seconds(60))
        _ = talk.connect(1)
        #expect(talk.granted().contains { $0.hasPrefix("van/publisher/d1: present") })
    }

    // MARK: - Silence, battery, removal

    @Test func aParkedVanIsVisiblyAlive() throws {
        var talk = try PublisherConversation.online()
        #expect(try talk.fix(at: 5).contains("fix 2 tooSoon"))
        // Ten intervals: the newest fix that was kept back goes out; then, without any fix, the last one again.
        #expect(talk.wait(.seconds(100)).contains("van: update 2"))
        _ = talk.acked()
        #expect(talk.wait(.seconds(100)).contains("van: update 2"))
    }

    @Test func aFixFromTheFutureIsNoSignOfLife() throws {
        var talk = try PublisherConversation.online()
        #expect(try talk.fix(at: 5).contains("fix 2 tooSoon"))
        #expect(try talk.fix(at: 500).contains("fix 3 notLive"))
        #expect(talk.wait(.seconds(100)).contains("van: update 2"))
    }

    /// No position is left to repeat, or only one that may not be published: the silence does not end at once again
    /// and again.
    @Test(arguments: [nil, 500.0]) func afterARefusalForItsContentSilenceBeginsAnew(future: Double?) throws {
        var talk = try PublisherConversation.online()
        #expect(try talk.fix(at: 20).contains("van: update 2"))
        let refusal = TrackingError(.refused, "implementation specific error", reasonCode: 0x83)
        #expect(talk.tooLarge("tracking/van", refusal) == ["bad message on tracking/van"])
        if let future { #expect(try talk.fix(at: future).contains("fix 3 notLive")) }
        talk.now = MonotonicTime(.seconds(101))
        for _ in 0..<10 { _ = talk.happened(.timer) }
        let next = try #require(talk.machine.nextDeadline)
        #expect(next > talk.now)
    }

    @Test func aFixKeptBackGoesOutAfterTheSilenceThatFollowedARefusal() throws {
        var talk = try PublisherConversation.online()
        _ = try talk.fix(at: 20)
        _ = talk.tooLarge("tracking/van", TrackingError(.refused, "no", reasonCode: 0x99))
        #expect(try talk.fix(at: 25).contains("fix 3 tooSoon"))
        #expect(talk.wait(.seconds(100)).contains("van: update 3"))
    }

    @Test func lowBatteryIsPublishedOncePerCrossing() throws {
        let van = try PublisherConversation.van {
            $0.constraints = try? ResolutionConstraints(
                resolutions: ResolutionSet(all: .standard), batteryLevelThreshold: 20, lowBatteryMultiplier: 2)
        }
        var talk = try PublisherConversation.online(van)
        #expect(!talk.happened(.battery(20)).contains("van/event: LOW_BATTERY"))
        let low = talk.happened(.battery(19))
        #expect(low.contains("van/event: LOW_BATTERY"))
        #expect(low.contains { $0.hasPrefix("van/resolution") && $0.hasSuffix("low battery") })
        #expect(talk.happened(.battery(10)) == [])
        _ = talk.happened(.battery(50))
        #expect(talk.happened(.battery(19)).contains("van/event: LOW_BATTERY"))
    }

    @Test func removalClearsPresenceAndResolution() throws {
        var talk = try PublisherConversation.online()
        let said = talk.happened(.remove(try TrackableID("van")))
        #expect(said.contains("van/publisher/d1: cleared"))
        #expect(said.contains("van/resolution: cleared"))
    }

    @Test func whatIsRemovedBeforeTheAnswerIsNotListenedToEither() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = talk.connect(0)
        #expect(
            talk.happened(.remove(try TrackableID("van"))) == [
                "unsubscribe van/publisher/+ van/subscriber/+ van/request/+", "removed van",
            ])
        #expect(talk.granted() == ["_clients/d1: online mine/0"])
    }

    @Test func whatWasRemovedDuringAnOutageIsClearedAfterIt() throws {
        var talk = try PublisherConversation.online()
        _ = talk.lose()
        #expect(talk.happened(.remove(try TrackableID("van"))) == ["removed van"])
        _ = talk.connect(1)
        #expect(
            talk.granted() == [
                "_clients/d1: online mine/1", "van/publisher/d1: cleared", "van/resolution: cleared",
                "unsubscribe van/publisher/+",
            ])
    }

    /// A lost connection may lose the last message with it. The message is repeated until the broker acknowledges it.
    @Test(arguments: ["removal", "collision", "off"])
    func whatWasNotKnownToBeClearedIsClearedAgain(what: String) throws {
        var talk = try PublisherConversation.online()
        var cleared = ["van/publisher/d1: cleared", "van/resolution: cleared"]
        switch what {
        case "removal":
            _ = talk.happened(.remove(try TrackableID("van")))
        case "collision":
            // The resolution in force is that of the other publisher.
            _ = talk.publisher("d2", "other", since: 2000)
            cleared = ["van/publisher/d1: cleared"]
        default:
            var configuration = talk.machine.configuration
            configuration.isOn = false
            _ = talk.happened(.configure(configuration))
        }
        for connection in 1...2 {
            _ = talk.lose()
            _ = talk.connect(connection)
            #expect(talk.granted().filter { $0.hasSuffix("cleared") } == cleared)
        }
        _ = talk.acked()
        _ = talk.lose()
        _ = talk.connect(3)
        #expect(talk.granted().filter { $0.hasSuffix("cleared") } == [])
    }

    @Test func aTrackableThatIsTrackedAgainIsNotCleared() throws {
        var talk = try PublisherConversation.online()
        _ = talk.happened(.remove(try TrackableID("van")))
        _ = talk.lose()
        _ = talk.happened(.add(try PublisherConversation.van()))
        _ = talk.connect(1)
        let said = talk.granted()
        #expect(said.contains { $0.hasPrefix("van/publisher/d1: present") })
        #expect(!said.contains { $0.hasSuffix("cleared") })
        _ = talk.lose()
        // No message about it was received since, so its message on the earlier connection remains valid.
        _ = talk.happened(.remove(try TrackableID("van")))
        _ = talk.happened(.add(try PublisherConversation.van()))
        _ = talk.happened(.remove(try TrackableID("van")))
        _ = talk.connect(2)
        #expect(talk.granted().contains("van/publisher/d1: cleared"))
    }

    @Test func aWordAboutARemovedTrackableIsForgotten() throws {
        var talk = try PublisherConversation.online()
        _ = talk.happened(.remove(try TrackableID("van")))
        #expect(talk.subscriber("w1") == [])
        _ = talk.happened(.add(try PublisherConversation.van()))
        _ = talk.granted()
        #expect(talk.subscriber("w1").contains { $0.hasSuffix("subscribers 1") })
    }

    @Test func nothingIsPublishedAfterTheGoodbye() throws {
        var talk = try PublisherConversation.online()
        let said = talk.happened(.stop(by: nil))
        #expect(
            said == [
                "van/publisher/d1: cleared", "van/resolution: cleared", "_clients/d1: offline mine/0", "close",
            ])
        #expect(talk.echoed() == [])
        #expect(try talk.fix(at: 60) == [])
        #expect(talk.machine.nextDeadline == nil)
        #expect(talk.subscriber("w1") == [])
        #expect(talk.lose().contains("van is OFFLINE (connectionLost)"))
    }

    @Test func pendingRecordsAreSentBeforeTheGoodbye() throws {
        var talk = try PublisherConversation.online()
        #expect(try talk.fix(at: 20).contains("van: update 2"))
        #expect(try talk.fix(at: 40).contains("fix 3 sent"))
        #expect(try talk.fix(at: 21).contains("fix 4 tooSoon"))
        #expect(talk.happened(.stop(by: nil)) == [])
        #expect(talk.acked() == ["van: update 4 skipped 3"])
        #expect(talk.acked().last == "close")
    }

    // MARK: - Garbage

    @Test(arguments: [
        "van/publisher/d2", "van/subscriber/w1", "van/request/w1", "_clients/w1", "_clients/d1", "van/publisher/d1",
    ]) func garbageIsCountedAndSkipped(topic: String) throws {
        var talk = try PublisherConversation.online()
        let garbage = ["{", "null", "[]", "\u{0}", #"{"session":5}"#, #"{"type":"MAYOR","session":"s"}"#]
        for payload in garbage {
            #expect(talk.receive("tracking/\(topic)", payload) == ["bad message on tracking/\(topic)"])
            // Above a limit, requests wait before they are read.
            talk.now = talk.now.advanced(by: .seconds(1))
        }
        #expect(talk.machine.badMessages == garbage.count)
        #expect(try talk.fix(at: 20).contains("van: update 2"))
    }

    @Test func aPresenceOfTheWrongKindIsABadMessage() throws {
        var talk = try PublisherConversation.online()
        let presence = #"{"type":"SUBSCRIBER","session":"s","connection":0,"lease":90,"since":1}"#
        #expect(
            talk.receive("tracking/van/publisher/d2", presence) == ["bad message on tracking/van/publisher/d2"])
    }
}
