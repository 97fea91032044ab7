import TestSupport
import Testing

@testable import TrackingCore

/// docs/reference/protocol.md, "Members and leases", rule by rule. Every state is reached by events.
@Suite struct PresenceStateMachineTests {
    // MARK: - Presence and liveness

    @Test func aLivePresenceCountsAsAHeartbeat() throws {
        var talk = PresenceConversation()
        #expect(try talk.subscriber("w1", "a/0") == ["arrived subscriber w1 a/0 on van", "watch w1"])
        #expect(try talk.present(.subscriber) == ["w1 a/0"])
        #expect(talk.machine.nextDeadline == .seconds(90))
    }

    @Test func aRetainedPresenceAloneIsNoMember() throws {
        var talk = PresenceConversation()
        #expect(try talk.subscriber("w1", "a/0", retained: true) == ["watch w1"])
        #expect(try talk.present(.subscriber) == [])
        #expect(try talk.online("w1", "a/0", retained: true) == ["arrived subscriber w1 a/0 on van"])
    }

    @Test func presenceAndLivenessMustNameTheSameSession() throws {
        var talk = PresenceConversation()
        #expect(try talk.subscriber("w1", "old/0", retained: true) == ["watch w1"])
        #expect(try talk.online("w1", "new/0") == [])
        #expect(try talk.present(.subscriber) == [])
        #expect(try talk.subscriber("w1", "new/0", retained: true) == ["arrived subscriber w1 new/0 on van"])
    }

    @Test func theLivenessOfAStrangerIsOfNoInterest() throws {
        var talk = PresenceConversation()
        #expect(try talk.online("w1", "a/0") == [])
        #expect(talk.machine.nextDeadline == nil)
    }

    @Test func oneHeartbeatCountsForEveryTrackableOfTheClient() throws {
        var talk = PresenceConversation()
        #expect(try talk.subscriber("w1", "a/0", on: "van", retained: true) == ["watch w1"])
        #expect(try talk.subscriber("w1", "a/0", on: "bike", retained: true) == [])
        #expect(
            try talk.online("w1", "a/0") == ["arrived subscriber w1 a/0 on bike", "arrived subscriber w1 a/0 on van"])
        #expect(
            talk.wait(.seconds(90)) == ["left subscriber w1 a/0 on bike", "left subscriber w1 a/0 on van"])
    }

    @Test func fewSessionsOfOneClientAreRemembered() throws {
        var talk = PresenceConversation()
        for number in 1...4 { _ = try talk.subscriber("w1", "s\(number)/0") }
        #expect(try talk.present(.subscriber).count == 4, "three of them in their grace")
        let lines = try talk.subscriber("w1", "s5/0")
        #expect(
            lines.contains { $0.hasPrefix("left subscriber w1") } && lines.contains("arrived subscriber w1 s5/0 on van")
        )
        for number in 6...500 { _ = try talk.subscriber("w1", "s\(number)/0") }
        let present = try talk.present(.subscriber)
        #expect(present.count == 4 && present.contains("w1 s500/0"))
        _ = talk.wait(.seconds(2))
        #expect(try talk.present(.subscriber) == ["w1 s500/0"])
    }

    // MARK: - Leases

    @Test func aLeaseRunsOutWithoutAHeartbeatAndAtOnce() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "a/0")
        #expect(talk.wait(.milliseconds(89_900)) == [])
        #expect(talk.wait(.milliseconds(100)) == ["left subscriber w1 a/0 on van"])
        #expect(try talk.present(.subscriber) == [])
    }

    @Test func aHeartbeatRenewsTheLeaseItGives() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "a/0", lease: 10)
        #expect(talk.wait(.seconds(8)) == [])
        #expect(try talk.online("w1", "a/0", lease: 30) == [])
        #expect(talk.wait(.milliseconds(29_900)) == [])
        #expect(talk.wait(.milliseconds(100)) == ["left subscriber w1 a/0 on van"])
    }

    @Test func aRetainedHeartbeatRenewsNothing() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "a/0", lease: 10)
        #expect(talk.wait(.seconds(8)) == [])
        #expect(try talk.online("w1", "a/0", lease: 10, retained: true) == [])
        #expect(talk.wait(.seconds(2)) == ["left subscriber w1 a/0 on van"])
    }

    @Test func aRetainedHeartbeatIsTrustedForOneLeaseOnce() throws {
        var talk = PresenceConversation()
        _ = try talk.publisher("d1", "a/2", lease: 10, retained: true)
        #expect(try talk.online("d1", "a/2", lease: 10, retained: true) == ["arrived publisher d1 a/2 on van"])
        #expect(talk.wait(.seconds(10)) == ["left publisher d1 a/2 on van"])
        // The ghost stays absent, however often the broker delivers its retained messages again.
        #expect(try talk.online("d1", "a/2", lease: 10, retained: true) == [])
        #expect(try talk.publisher("d1", "a/2", lease: 10, retained: true) == [])
        talk.disconnected()
        talk.connected()
        #expect(try talk.publisher("d1", "a/2", lease: 10, retained: true) == [])
        #expect(try talk.online("d1", "a/2", lease: 10, retained: true) == [])
        #expect(try talk.present(.publisher) == [])
        // A live heartbeat makes the member present again.
        #expect(try talk.online("d1", "a/2", lease: 10) == ["arrived publisher d1 a/2 on van"])
    }

    @Test func aRunWhoseLiveLeaseRanOutNeedsALiveHeartbeat() throws {
        var talk = PresenceConversation()
        _ = try talk.publisher("d1", "a/0", lease: 10)
        #expect(talk.wait(.seconds(10)) == ["left publisher d1 a/0 on van"])
        #expect(try talk.online("d1", "a/0", lease: 10, retained: true) == [])
        #expect(try talk.online("d1", "a/0", lease: 10) == ["arrived publisher d1 a/0 on van"])
    }

    @Test func theNextConnectionOfAGhostIsTrustedAnew() throws {
        var talk = PresenceConversation()
        _ = try talk.publisher("d1", "a/0", lease: 10, retained: true)
        _ = try talk.online("d1", "a/0", lease: 10, retained: true)
        #expect(talk.wait(.seconds(10)) == ["left publisher d1 a/0 on van"])
        #expect(try talk.online("d1", "a/1", lease: 10, retained: true) == ["arrived publisher d1 a/0 on van"])
    }

    @Test func noLeaseRunsWhileThisSideIsNotConnected() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "a/0", lease: 10)
        talk.disconnected()
        #expect(talk.machine.nextDeadline == nil)
        #expect(talk.wait(.seconds(3_600)) == [])
        #expect(try talk.present(.subscriber) == ["w1 a/0"])
    }

    @Test func eachKnownMemberGetsOneLeaseAfterAnOwnReconnect() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "a/0", lease: 10)
        #expect(talk.wait(.seconds(9)) == [])
        talk.disconnected()
        #expect(talk.wait(.seconds(100)) == [])
        talk.connected()
        #expect(try talk.subscriber("w1", "a/0", lease: 10, retained: true) == [])
        #expect(talk.wait(.milliseconds(9_900)) == [])
        #expect(talk.wait(.milliseconds(100)) == ["left subscriber w1 a/0 on van"])
    }

    @Test func aPresenceMissingAfterAnOwnReconnectEndsAfterALease() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "a/0", on: "van", lease: 10)
        _ = try talk.subscriber("w1", "a/0", on: "bike", lease: 10)
        talk.disconnected()
        talk.connected()
        // The member left the van while this side was not connected, and its client still publishes the bike.
        #expect(try talk.subscriber("w1", "a/0", on: "bike", lease: 10, retained: true) == [])
        #expect(talk.wait(.seconds(5)) == [])
        #expect(try talk.online("w1", "a/0", lease: 10) == [])
        #expect(talk.wait(.seconds(5)) == ["left subscriber w1 a/0 on van"])
        #expect(try talk.present(.subscriber, on: "bike") == ["w1 a/0"])
    }

    // MARK: - Goodbyes, wills and reconnects

    @Test func aClearedPresenceEndsAtOnce() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "a/0")
        #expect(try talk.cleared(.subscriber, "w1") == ["left subscriber w1 a/0 on van", "unwatch w1"])
        #expect(talk.machine.nextDeadline == nil)
    }

    @Test func aSubscriberThatDiedIsAbsentAfterTwoSeconds() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "a/0")
        #expect(try talk.offline("w1", "a/0") == [])
        #expect(talk.wait(.milliseconds(1_900)) == [])
        #expect(talk.wait(.milliseconds(100)) == ["left subscriber w1 a/0 on van"])
    }

    @Test func aSubscriberThatReturnsWithinTwoSecondsNeverLeft() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "a/0")
        #expect(try talk.offline("w1", "a/0") == [])
        #expect(talk.wait(.seconds(1)) == [])
        #expect(try talk.online("w1", "a/1") == [])
        #expect(try talk.subscriber("w1", "a/1") == ["changed subscriber w1 a/1 on van"])
        #expect(talk.wait(.seconds(10)) == [])
        #expect(try talk.present(.subscriber) == ["w1 a/1"])
    }

    @Test func aClearedPresenceEndsTheGraceOfAWill() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "a/0")
        #expect(try talk.offline("w1", "a/0") == [])
        #expect(try talk.cleared(.subscriber, "w1") == ["left subscriber w1 a/0 on van", "unwatch w1"])
        #expect(talk.wait(.seconds(10)) == [])
    }

    @Test func aPublisherThatDiedIsAbsentAtOnce() throws {
        var talk = PresenceConversation()
        _ = try talk.publisher("d1", "a/0")
        #expect(try talk.offline("d1", "a/0") == ["left publisher d1 a/0 on van"])
        #expect(try talk.online("d1", "a/1") == ["arrived publisher d1 a/0 on van"])
    }

    @Test func aLateWillNeverBeatsAFastReconnect() throws {
        var talk = PresenceConversation()
        _ = try talk.publisher("d1", "a/0")
        #expect(try talk.online("d1", "a/1") == [])
        #expect(try talk.offline("d1", "a/0") == [])
        #expect(try talk.present(.publisher) == ["d1 a/0"])
        #expect(try talk.offline("d1", "a/1") == ["left publisher d1 a/0 on van"])
    }

    @Test func aWillOfAnotherSessionCountsForNothing() throws {
        var talk = PresenceConversation()
        _ = try talk.publisher("d1", "new/0")
        #expect(try talk.offline("d1", "old/7") == [])
        #expect(try talk.present(.publisher) == ["d1 new/0"])
    }

    @Test func anEarlierConnectionOfTheSessionDoesNotCountAsItsHeartbeat() throws {
        var talk = PresenceConversation()
        _ = try talk.publisher("d1", "a/3", lease: 10)
        #expect(talk.wait(.seconds(8)) == [])
        #expect(try talk.online("d1", "a/2", lease: 10) == [])
        #expect(talk.wait(.seconds(2)) == ["left publisher d1 a/3 on van"])
    }

    @Test func anEmptyLivenessMeansOffline() throws {
        var talk = PresenceConversation()
        _ = try talk.publisher("d1", "a/0")
        #expect(try talk.livenessCleared("d1") == ["left publisher d1 a/0 on van"])
    }

    @Test func aGraceThatAnOwnOutageInterruptedEndsAfterIt() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "a/0", lease: 30)
        #expect(try talk.offline("w1", "a/0") == [])
        talk.disconnected()
        #expect(talk.wait(.seconds(60)) == [])
        talk.connected()
        #expect(try talk.subscriber("w1", "a/0", lease: 30, retained: true) == [])
        #expect(talk.wait(.seconds(2)) == ["left subscriber w1 a/0 on van"])
    }

    // MARK: - Sessions

    @Test func twoSessionsOfAClientAreTwoSubscribersForTwoSeconds() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "old/0")
        #expect(try talk.subscriber("w1", "new/0") == ["arrived subscriber w1 new/0 on van"])
        #expect(try talk.present(.subscriber) == ["w1 new/0", "w1 old/0"])
        #expect(talk.wait(.seconds(2)) == ["left subscriber w1 old/0 on van"])
        #expect(try talk.present(.subscriber) == ["w1 new/0"])
    }

    @Test func aPublisherThatStartsAgainIsAnotherOneAtOnce() throws {
        var talk = PresenceConversation()
        _ = try talk.publisher("d1", "old/0")
        #expect(
            try talk.publisher("d1", "new/0") == [
                "arrived publisher d1 new/0 on van", "left publisher d1 old/0 on van",
            ])
    }

    @Test func aClientIsOneMemberOfEachKind() throws {
        var talk = PresenceConversation()
        _ = try talk.publisher("c1", "a/0")
        #expect(try talk.subscriber("c1", "a/0") == ["arrived subscriber c1 a/0 on van"])
        #expect(try talk.cleared(.publisher, "c1") == ["left publisher c1 a/0 on van"])
        #expect(try talk.present(.subscriber) == ["c1 a/0"])
    }

    @Test func theSamePresenceAgainIsNoNews() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "a/0")
        #expect(try talk.subscriber("w1", "a/0") == [])
        #expect(try talk.subscriber("w1", "a/0", since: 5) == ["changed subscriber w1 a/0 on van"])
    }

    // MARK: - Bounds and forgetting

    @Test func strangersCannotFillMemory() throws {
        var talk = PresenceConversation(limit: 2)
        _ = try talk.subscriber("w1", "a/0")
        _ = try talk.subscriber("w2", "a/0")
        #expect(try talk.subscriber("w3", "a/0") == ["full w3"])
        // Known members can still change, and a member that leaves makes room for another.
        #expect(try talk.subscriber("w1", "a/1") == ["changed subscriber w1 a/1 on van"])
        _ = try talk.cleared(.subscriber, "w2")
        #expect(try talk.subscriber("w3", "a/0") == ["arrived subscriber w3 a/0 on van", "watch w3"])
    }

    @Test func aForgottenTrackableLeavesNoWatchBehind() throws {
        var talk = PresenceConversation()
        _ = try talk.subscriber("w1", "a/0", on: "van")
        _ = try talk.subscriber("w2", "a/0", on: "van")
        _ = try talk.subscriber("w2", "a/0", on: "bike")
        #expect(try talk.forget("van") == ["unwatch w1"])
        #expect(try talk.present(.subscriber) == [])
        #expect(try talk.present(.subscriber, on: "bike") == ["w2 a/0"])
    }

    @Test func retainedPublishersAreListedEvenIfTheyAreNotBelieved() throws {
        var talk = PresenceConversation()
        _ = try talk.publisher("d1", "a/0", since: 7, retained: true)
        #expect(talk.machine.standingPublishers(on: try TrackableID("van")).map(\.since) == [UnixTime(7)])
        #expect(try talk.present(.publisher) == [])
        _ = try talk.cleared(.publisher, "d1")
        #expect(talk.machine.standingPublishers(on: try TrackableID("van")) == [])
    }

    /// The shortest time of five rounds of 200 queries. Each query is about another one of `count` trackables.
    private func timeOfQuestions(among count: Int) throws -> Duration {
        var machine = PresenceStateMachine()
        machine.connected(now: MonotonicTime(.zero))
        let presence = Presence(
            kind: .publisher, session: try #require(SessionID("a")), connection: 0, lease: .seconds(90),
            since: UnixTime(1))
        let ids = try (0..<count).map { try TrackableID("van-\($0)") }
        for (number, id) in ids.enumerated() {
            _ = machine.received(
                presence, kind: .publisher, on: id, from: try ClientID("d\(number)"), isRetained: false,
                now: MonotonicTime(.zero))
        }
        let rounds = (0..<5).map { _ in
            ProcessorTime.measure {
                for id in ids.prefix(200) {
                    #expect(machine.members(of: .publisher, on: id).count == 1)
                    #expect(machine.standingPublishers(on: id).count == 1)
                }
            }
        }
        return rounds.min() ?? .zero
    }

    @Test(.enabled(if: ProcessorTime.isTelling)) func aQueryForOneTrackableDoesNotScanAll() throws {
        let (few, many) = (try self.timeOfQuestions(among: 200), try self.timeOfQuestions(among: 20_000))
        // A scan of all trackables would take more than a hundred times as long. Cache misses alone cost up to ten
        // times.
        #expect(many < few * 40, "\(few) among 200, \(many) among 20,000")
    }

    /// A client, such as a gateway, may be a member of thousands of trackables.
    @Test(.enabled(if: ProcessorTime.isTelling)) func itsLastTrackableCostsAClientAsMuchAsItsFirst() throws {
        var machine = PresenceStateMachine()
        machine.connected(now: MonotonicTime(.zero))
        let (client, session) = (try ClientID("gateway"), try #require(SessionID("a")))
        let presence = Presence(
            kind: .publisher, session: session, connection: 0, lease: .seconds(90), since: UnixTime(1))
        let birth = Liveness(status: .online(lease: .seconds(90)), session: session, connection: 0)
        let blocks = try (0..<40).map { block in
            let ids = try (0..<100).map { try TrackableID("van-\(block * 100 + $0)") }
            return ProcessorTime.measure {
                for id in ids {
                    _ = machine.received(
                        presence, kind: .publisher, on: id, from: client, isRetained: false, now: MonotonicTime(.zero))
                    _ = machine.received(birth, from: client, isRetained: false, now: MonotonicTime(.zero))
                }
            }
        }
        let (first, last) = (blocks[1..<6].min() ?? .zero, blocks.suffix(5).min() ?? .zero)
        #expect(last < first * 6, "\(first) for 100 at first, \(last) at last")
    }

    @Test func theTrackablesOfAClientAreThoseOfItsPresences() throws {
        var talk = PresenceConversation()
        _ = try talk.publisher("d1", "a/0", on: "van")
        _ = try talk.publisher("d1", "a/0", on: "bike")
        _ = try talk.publisher("d2", "b/0", on: "van")
        let d1 = try ClientID("d1")
        #expect(talk.machine.trackables(of: d1) == [try TrackableID("van"), try TrackableID("bike")])
        _ = try talk.cleared(.publisher, "d1", on: "van")
        #expect(talk.machine.trackables(of: d1) == [try TrackableID("bike")])
        #expect(talk.machine.members(of: .publisher, on: try TrackableID("van")).map(\.client.rawValue) == ["d2"])
        #expect(talk.machine.trackables(of: try ClientID("d3")).isEmpty)
    }
}
