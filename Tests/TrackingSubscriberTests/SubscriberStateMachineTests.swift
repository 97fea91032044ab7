import Testing
import TrackingCore

@testable import TrackingSubscriber

/// The subscriber's part of docs/reference/protocol.md and docs/reference/resolution.md. Every state is reached by
/// events.
@Suite struct SubscriberStateMachineTests {
    private func ask(_ interval: Duration) throws -> Resolution {
        try Resolution(accuracy: .high, desiredInterval: interval, minimumDisplacement: 0)
    }

    // MARK: - Limits

    @Test func everyTrackableOfALargeFleetMayHaveAPublisherAndASubscriber() throws {
        var configuration = SubscriberConfiguration(
            client: try ClientID("w1"), session: try #require(SessionID("mine")))
        configuration.maximumTrackables = 100_000
        let machine = SubscriberStateMachine(configuration: configuration, seed: 1)
        #expect(machine.member.presence.limit == 200_000)
    }

    // MARK: - Publishes

    /// The request takes effect together with the presence, so the publisher sees one change.
    @Test func livenessRequestAndPresenceArePublishedInThisOrder() throws {
        var talk = try SubscriberConversation()
        let first = talk.happened(.watch(try TrackableID("van"), try self.ask(.milliseconds(500))))
        #expect(first == ["van publisher UNKNOWN", "van is OFFLINE"])
        #expect(
            talk.connect(0) == [
                "connected", "subscribe _clients/w1",
                "subscribe van/publisher/+ van/resolution van van/trip van/event _clients/w1",
            ])
        #expect(
            talk.granted() == [
                "_clients/w1: online mine/0", "van/request/w1: ask 500",
                "van/subscriber/w1: present mine/0 since 1000.0", "van publisher ABSENT",
            ])
        _ = talk.lose()
        _ = talk.connect(1)
        #expect(
            talk.granted().prefix(3) == [
                "_clients/w1: online mine/1", "van/request/w1: ask 500",
                "van/subscriber/w1: present mine/1 since 1000.0",
            ])
    }

    @Test func aRequestIsChangedAndDropped() throws {
        var talk = try SubscriberConversation.online()
        let van = try TrackableID("van")
        #expect(talk.happened(.request(van, try self.ask(.seconds(2)))) == ["van/request/w1: ask 2000"])
        #expect(talk.happened(.request(van, try self.ask(.seconds(2)))) == [])
        #expect(talk.happened(.request(van, nil)) == ["van/request/w1: cleared"])
    }

    @Test func aSilentSubscriberIsNotPresent() throws {
        var talk = try SubscriberConversation { $0.isSilent = true }
        _ = talk.happened(.watch(try TrackableID("van"), try self.ask(.seconds(1))))
        _ = talk.connect(0)
        #expect(talk.granted() == ["_clients/w1: online mine/0", "van publisher ABSENT"])
    }

    @Test func presenceMayDependOnARequest() throws {
        let van = try TrackableID("van")
        var talk = try SubscriberConversation { $0.isPresentOnlyWhileAsking = true }
        _ = talk.happened(.watch(van, nil))
        _ = talk.connect(0)
        #expect(talk.granted() == ["_clients/w1: online mine/0", "van publisher ABSENT"])
        let entered = ["van/request/w1: ask 2000", "van/subscriber/w1: present mine/0 since 1000.0"]
        #expect(talk.happened(.request(van, try self.ask(.seconds(2)))) == entered)
        #expect(talk.happened(.request(van, try self.ask(.seconds(1)))) == ["van/request/w1: ask 1000"])
        let left = talk.happened(.request(van, nil))
        #expect(left.map { $0.split(separator: ":")[0] } == ["van/request/w1", "van/subscriber/w1"])
        #expect(talk.happened(.unwatch(van)).allSatisfy { !$0.contains("/w1") })
    }

    @Test func presenceDroppedWithoutAConnectionIsClearedOnTheNext() throws {
        let van = try TrackableID("van")
        var talk = try SubscriberConversation { $0.isPresentOnlyWhileAsking = true }
        _ = talk.happened(.watch(van, try self.ask(.seconds(2))))
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.lose()
        #expect(talk.happened(.request(van, nil)) == [])
        _ = talk.connect(1)
        let output = talk.granted().map { String($0.split(separator: ":")[0]) }
        #expect(output.contains("van/request/w1") && output.contains("van/subscriber/w1"))
        #expect(!output.contains { $0.hasPrefix("van/subscriber/w1: present") })
    }

    @Test func aRequestDroppedWithoutAConnectionIsClearedOnTheNext() throws {
        let van = try TrackableID("van")
        var talk = try SubscriberConversation()
        _ = talk.happened(.watch(van, try self.ask(.seconds(1))))
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.acked()
        _ = talk.lose()
        #expect(talk.happened(.request(van, nil)) == [])
        _ = talk.connect(1)
        let output = talk.granted()
        #expect(output.contains("van/subscriber/w1: present mine/1 since 1000.0"))
        #expect(output.filter { $0.hasPrefix("van/request") } == ["van/request/w1: cleared"])
        _ = talk.acked()
        _ = talk.lose()
        _ = talk.connect(2)
        #expect(talk.granted().contains("van/request/w1: cleared"), "a publisher may have been away")
    }

    @Test func aWithdrawnRequestIsClearedForAReturningPublisher() throws {
        let van = try TrackableID("van")
        var talk = try SubscriberConversation.online()
        _ = talk.happened(.request(van, try self.ask(.seconds(1))))
        _ = talk.happened(.request(van, nil))
        _ = talk.acked()
        _ = talk.publisher("d1", "a", connection: 1, since: 500, stream: "one")
        let output = talk.wait(.seconds(1))
        let presence = try #require(output.firstIndex { $0.hasPrefix("van/subscriber/w1: present") })
        #expect(presence > 0 && output[presence - 1] == "van/request/w1: cleared")
    }

    @Test func theResolutionIsInForceWhileAPublisherIsThere() throws {
        var talk = try SubscriberConversation()
        _ = talk.happened(.watch(try TrackableID("van"), nil))
        _ = talk.connect(0)
        _ = talk.granted()
        #expect(talk.resolution(interval: 1_000, silence: 0, retained: true) == [], "nobody is there")
        let came = talk.publisher("d1", "a", since: 500, stream: "one")
        #expect(came.contains("van every 1.0 seconds"))
        #expect(talk.publisher("d2", "b", since: 600, stream: "two").allSatisfy { !$0.contains("every") })
        #expect(talk.receive("van/publisher/d2", "").allSatisfy { !$0.contains("every") })
        #expect(talk.receive("van/publisher/d1", "").contains("van every ?"))
        #expect(talk.publisher("d1", "c", since: 700, stream: "one").contains("van every 1.0 seconds"))
    }

    /// A lost connection may lose the last publishes. They are repeated until the broker acknowledges them.
    @Test(arguments: ["request", "unwatch", "leave"])
    func anUnacknowledgedClearIsRepeated(what: String) throws {
        let van = try TrackableID("van")
        var talk = try SubscriberConversation { $0.isPresentOnlyWhileAsking = what == "leave" }
        _ = talk.happened(.watch(van, try self.ask(.seconds(1))))
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.acked()
        let cleared = ["van/request/w1: cleared"] + (what == "request" ? [] : ["van/subscriber/w1: cleared"])
        let output = talk.happened(what == "unwatch" ? .unwatch(van) : .request(van, nil))
        #expect(output.filter { $0.hasSuffix("cleared") } == cleared)
        for connection in 1...2 {
            _ = talk.lose()
            _ = talk.connect(connection)
            #expect(talk.granted().filter { $0.hasSuffix("cleared") } == cleared)
        }
        _ = talk.acked()
        _ = talk.lose()
        _ = talk.connect(3)
        // A present subscriber clears its request on each connection, because a publisher may have been absent.
        #expect(talk.granted().filter { $0.hasSuffix("cleared") } == (what == "request" ? cleared : []))
    }

    @Test func aRenewedRequestIsNotCleared() throws {
        let van = try TrackableID("van")
        var talk = try SubscriberConversation()
        _ = talk.happened(.watch(van, try self.ask(.seconds(1))))
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.happened(.unwatch(van))
        _ = talk.lose()
        _ = talk.happened(.watch(van, try self.ask(.seconds(2))))
        _ = talk.connect(1)
        let output = talk.granted()
        #expect(output.contains("van/request/w1: ask 2000") && !output.contains { $0.hasSuffix("cleared") })
        // The answer to an earlier message does not acknowledge a later one.
        _ = talk.happened(.request(van, nil))
        _ = talk.happened(.request(van, try self.ask(.seconds(3))))
        _ = talk.acked()
        _ = talk.happened(.request(van, nil))
        _ = talk.lose()
        _ = talk.connect(2)
        #expect(talk.granted().contains("van/request/w1: cleared"))
    }

    @Test func aRequestBeforeTheAnswerIsPublishedWithThePresence() throws {
        let van = try TrackableID("van")
        var talk = try SubscriberConversation()
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.happened(.watch(van, nil))
        #expect(talk.happened(.request(van, try self.ask(.seconds(2)))) == [])
        let entered = ["van/request/w1: ask 2000", "van/subscriber/w1: present mine/0 since 1000.0"]
        #expect(talk.granted().filter { $0.contains("/w1: ") } == entered)
    }

    @Test func thePresenceIsRepeatedWithinASecondOfAnArrival() throws {
        var talk = try SubscriberConversation()
        _ = talk.happened(.watch(try TrackableID("van"), try self.ask(.seconds(2))))
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.publisher("d1", "a", since: 1, stream: "one")
        let again = [
            "_clients/w1: online mine/0", "van/request/w1: ask 2000", "van/subscriber/w1: present mine/0 since 1000.0",
        ]
        #expect(talk.wait(.seconds(1)) == again)
        // A publisher that reconnected may have a broker without the retained messages.
        #expect(talk.publisher("d1", "a", connection: 1, since: 1, stream: "one") == [])
        #expect(talk.wait(.seconds(1)) == again)
    }

    @Test func anOfflineOfItsOwnSessionIsAnsweredAtOnce() throws {
        var talk = try SubscriberConversation.online()
        #expect(
            talk.receive("_clients/w1", #"{"status":"offline","session":"mine","connection":0}"#) == [
                "_clients/w1: online mine/0"
            ])
    }

    @Test func nothingIsPublishedAfterTheGoodbye() throws {
        var talk = try SubscriberConversation.online()
        #expect(
            talk.happened(.stop) == [
                "van/request/w1: cleared", "van/subscriber/w1: cleared", "_clients/w1: offline mine/0", "close",
            ])
        #expect(talk.receive("_clients/w1", #"{"status":"offline","session":"mine","connection":0}"#) == [])
        #expect(talk.wait(.seconds(100)) == [])
        #expect(talk.machine.nextDeadline == nil)
    }

    @Test func anUnwatchedTrackableIsCleared() throws {
        var talk = try SubscriberConversation.online()
        let output = talk.happened(.unwatch(try TrackableID("van")))
        #expect(output.suffix(2) == ["van/request/w1: cleared", "van/subscriber/w1: cleared"])
    }

    @Test func anUnwatchBeforeTheAnswerUnsubscribes() throws {
        var talk = try SubscriberConversation()
        _ = talk.happened(.watch(try TrackableID("van"), nil))
        _ = talk.connect(0)
        #expect(
            talk.happened(.unwatch(try TrackableID("van"))) == [
                "unsubscribe van/publisher/+ van/resolution van van/trip van/event"
            ])
        #expect(talk.granted() == ["_clients/w1: online mine/0"])
    }

    @Test func anUnwatchDuringAnOutageIsClearedAfterIt() throws {
        var talk = try SubscriberConversation.online()
        _ = talk.lose()
        _ = talk.happened(.unwatch(try TrackableID("van")))
        _ = talk.connect(1)
        #expect(
            talk.granted() == [
                "_clients/w1: online mine/1", "van/request/w1: cleared", "van/subscriber/w1: cleared",
            ])
    }

    @Test func aTakenOverClientIDFails() throws {
        var talk = try SubscriberConversation.online()
        _ = talk.lose()
        _ = talk.connect(1)
        _ = talk.receive(
            "_clients/w1", #"{"status":"online","session":"other","connection":0,"lease":90}"#, retained: true)
        #expect(talk.granted() == ["van is FAILED (takenOver)", "close"])
    }

    // MARK: - States

    @Test func thePublisherIsUnknownWhileThisSideIsNotConnected() throws {
        var talk = try SubscriberConversation.online()
        #expect(talk.lose() == ["not connected", "van publisher UNKNOWN", "van is OFFLINE (connectionLost)"])
        _ = talk.wait(.seconds(1_000))
        _ = talk.connect(1)
        let back = talk.granted()
        #expect(back.contains("van publisher PRESENT"))
        #expect(back.contains("van is ONLINE"))
        // A lease later, the publisher without a new message is absent.
        #expect(talk.wait(.seconds(90)).contains("van publisher ABSENT"))
    }

    @Test func aPublisherThatDiedIsAbsent() throws {
        var talk = try SubscriberConversation.online()
        #expect(
            talk.receive("_clients/d1", #"{"status":"offline","session":"a","connection":0}"#) == [
                "van publisher ABSENT", "van is OFFLINE", "van every ?",
            ])
        #expect(
            talk.receive("_clients/d1", #"{"status":"online","session":"a","connection":1,"lease":90}"#) == [
                "van publisher PRESENT", "van is ONLINE", "van every 1.0 seconds",
            ])
    }

    @Test func silenceBeyondTheAnnouncedSilenceIsStale() throws {
        var talk = try SubscriberConversation.online()
        #expect(try talk.update(1) == ["van at 1"])
        #expect(!talk.wait(.milliseconds(61_900)).contains("van is STALE"))
        #expect(talk.wait(.milliseconds(100)).contains("van is STALE"))
        // A retained position is no sign of life.
        #expect(try talk.update(2, retained: true) == ["van at 2 kept"])
        #expect(try talk.update(3) == ["van is ONLINE", "van at 3"])
    }

    @Test func aRepeatedUpdateIsASignOfLifeAndNoNews() throws {
        var talk = try SubscriberConversation.online()
        _ = try talk.update(1)
        _ = talk.wait(.seconds(60))
        #expect(try talk.update(1) == [])
        #expect(!talk.wait(.seconds(61)).contains("van is STALE"))
    }

    @Test func anAnnouncedSilenceOfZeroIsNeverStale() throws {
        var talk = try SubscriberConversation.online()
        _ = talk.resolution(interval: 1_000, silence: 0)
        _ = talk.wait(.seconds(80))
        _ = talk.receive("_clients/d1", #"{"status":"online","session":"a","connection":0,"lease":90}"#)
        #expect(!talk.wait(.seconds(80)).contains("van is STALE"))
    }

    @Test func theStaleDeadlineRestartsAfterAReconnect() throws {
        var talk = try SubscriberConversation.online()
        _ = try talk.update(1)
        #expect(talk.wait(.seconds(70)).contains("van is STALE"))
        _ = talk.lose()
        _ = talk.connect(1)
        _ = talk.publisher("d1", "a", since: 500, stream: "one", retained: true)
        #expect(talk.granted().contains("van is ONLINE"))
        #expect(!talk.wait(.seconds(61)).contains("van is STALE"))
        #expect(talk.wait(.seconds(1)).contains("van is STALE"))
    }

    // MARK: - Positions

    @Test func lateUpdatesAreMarkedAndDuplicatesOmitted() throws {
        var talk = try SubscriberConversation.online()
        #expect(try talk.update(5, skipped: [3, 4]) == ["van at 5 skipped 3,4"])
        #expect(try talk.update(5) == [])
        #expect(try talk.update(2) == ["van at 2 late"])
        #expect(try talk.update(4) == [])
        #expect(try talk.update(7, skipped: [4, 6]) == ["van at 7 skipped 6"])
    }

    @Test func onlyTheOwnersStreamCounts() throws {
        var talk = try SubscriberConversation.online()
        #expect(try talk.update(1, of: "two") == [])
        _ = talk.publisher("d2", "b", since: 600, stream: "two")
        #expect(try talk.update(1, of: "two") == ["van at 1"])
        #expect(try talk.update(1, of: "one") == [])
        // The owner leaves, and the other publisher is the latest again.
        _ = talk.receive("van/publisher/d2", "")
        #expect(try talk.update(1, of: "one") == ["van at 1"])
    }

    @Test(arguments: [("0", "one"), ("z", "two")]) func aTieGoesToTheGreaterSession(
        other: String, owner: String
    ) throws {
        var talk = try SubscriberConversation.online()
        _ = talk.publisher("d2", other, since: 500, stream: "two")
        #expect(try talk.update(1, of: owner) == ["van at 1"])
        #expect(try talk.update(2, of: owner == "one" ? "two" : "one") == [])
    }

    @Test func aLateJoinerReceivesTheRetainedMessages() throws {
        var talk = try SubscriberConversation()
        _ = talk.happened(.watch(try TrackableID("van"), nil))
        _ = talk.connect(0)
        #expect(try talk.update(9, retained: true) == ["van at 9 kept"])
        #expect(talk.resolution(interval: 500, silence: 60_000, retained: true) == [], "nobody is there yet")
        _ = talk.publisher("d1", "a", since: 1, stream: "one", retained: true)
        _ = talk.granted()
        #expect(
            talk.receive("_clients/d1", #"{"status":"online","session":"a","connection":0,"lease":90}"#, retained: true)
                == ["van publisher PRESENT", "van is ONLINE", "van every 0.5 seconds"])
    }

    @Test func everyNewTrackableIsWatchedAfterTheBirth() throws {
        var talk = try SubscriberConversation { $0.watchesAll = true }
        _ = talk.connect(0)
        #expect(try talk.update(1, retained: true) == ["van publisher UNKNOWN", "van is OFFLINE", "van at 1 kept"])
        #expect(
            talk.granted().dropFirst().prefix(2) == [
                "_clients/w1: online mine/0", "van/subscriber/w1: present mine/0 since 1000.1",
            ])
    }

    @Test func aLongAbsentTrackableMakesRoomForOthers() throws {
        var talk = try SubscriberConversation {
            $0.watchesAll = true
            $0.isPresentOnlyWhileAsking = true
            $0.maximumTrackables = 2
        }
        func receive(_ id: String, at time: Double, retained: Bool = false) -> [String] {
            talk.receive(
                id,
                #"{"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[0,0]},"properties":{"time":\#(time)}},"#
                    + #""skippedLocations":[],"intermediateLocations":[],"type":"ACTUAL"}"#, retained: retained)
        }
        let (old, bus, van) = (try TrackableID("old"), try TrackableID("bus"), try TrackableID("van"))
        _ = talk.connect(0)
        _ = talk.granted()
        _ = receive("old", at: 500, retained: true)
        _ = receive("bus", at: 1000)
        // No trackable was absent for a day: the overflow is reported at most once a minute.
        #expect(receive("van", at: 1000) == ["bad message on tracking/van"])
        #expect(receive("van", at: 1001) == [])
        _ = talk.wait(.seconds(60))
        #expect(receive("van", at: 1060) == ["bad message on tracking/van"])
        _ = talk.wait(.seconds(36_000))
        _ = receive("bus", at: 37_000)
        #expect(Set(talk.machine.trackables) == [old, bus])
        _ = talk.wait(.seconds(51_000))
        #expect(receive("van", at: 88_000).last?.hasPrefix("van at ") == true)
        #expect(Set(talk.machine.trackables) == [bus, van])
    }

    // MARK: - Trips and events

    @Test func aLateJoinerReceivesTheCurrentTripAtOnceAndEachVersionOnce() throws {
        var talk = try SubscriberConversation()
        _ = talk.happened(.watch(try TrackableID("van"), nil))
        _ = talk.connect(0)
        #expect(talk.trip(3, retained: true) == ["van trip t1 ACTIVE #3"])
        _ = talk.granted()
        _ = talk.lose()
        _ = talk.connect(1)
        #expect(talk.trip(3, retained: true) == [])
        #expect(talk.trip(7, "ENDED") == ["van trip t1 ENDED #7"])
        #expect(talk.trip(5) == [], "an older version is not the trip's current one")
        #expect(talk.trip(1, of: "two") == ["van trip t1 ACTIVE #1"], "a new stream counts anew")
    }

    @Test func aClearedTripIsReportedOnce() throws {
        var talk = try SubscriberConversation.online()
        #expect(talk.receive("van/trip", "") == [])
        _ = talk.trip(3)
        #expect(talk.receive("van/trip", "") == ["van trip cleared"])
        #expect(talk.receive("van/trip", "") == [])
    }

    @Test func aClearedPositionIsReportedOnceAndNewerOnesAreDelivered() throws {
        var talk = try SubscriberConversation.online()
        #expect(talk.receive("van", "") == [], "none was told")
        _ = try talk.update(3, skipped: [2])
        #expect(talk.receive("van", "") == ["van location cleared"])
        #expect(talk.receive("van", "") == [])
        #expect(try talk.update(3) == [], "what was seen does not come back")
        #expect(try talk.update(4) == ["van at 4"])
        #expect(talk.receive("van", "") == ["van location cleared"])
    }

    @Test func aClearIsReportedForAForgottenTrackableWhenAllAreWatched() throws {
        var talk = try SubscriberConversation { $0.watchesAll = true }
        _ = talk.connect(0)
        _ = talk.granted()
        _ = try talk.update(1)
        _ = talk.happened(.unwatch(try TrackableID("van")))
        #expect(talk.receive("van", "") == ["van location cleared"])
        var named = try SubscriberConversation.online()
        _ = talk.happened(.unwatch(try TrackableID("van")))
        #expect(named.receive("bus", "") == [])
    }

    @Test func anEventOfAnyPublisherIsDeliveredOnce() throws {
        var talk = try SubscriberConversation.online()
        #expect(talk.event(4) == ["van event LOW_BATTERY #4"])
        #expect(talk.event(4) == [])
        #expect(talk.event(2) == ["van event LOW_BATTERY #2"])
        // The publisher that lost the trackable reports the collision.
        #expect(talk.event(4, of: "two", "COLLISION") == ["van event COLLISION #4"])
        #expect(talk.receive("van/event", "") == [])
    }

    @Test func theMemoryOfDeliveredEventsIsBounded() throws {
        var talk = try SubscriberConversation.online()
        let last = DeliveredRecords.maximumRanges * 2
        for seq in 1...last { #expect(talk.event(seq * 2).count == 1) }
        #expect(talk.event((last - DeliveredRecords.maximumRanges + 1) * 2) == [])
        #expect(talk.event(2).count == 1)
        for seq in 1...last { #expect(talk.event(seq, of: "two").count == 1) }
        #expect(talk.event(1, of: "two") == [], "numbers that follow each other take one place")
    }

    // MARK: - The recording lane

    @Test func recordsOfTheRecordingLaneAreDeliveredOnce() throws {
        var talk = try SubscriberConversation {
            $0.watchesAll = true
            $0.wantsRecorded = true
        }
        #expect(talk.connect(0).last == "subscribe + +/event +/history")
        _ = talk.event(4)
        #expect(
            talk.batch(events: [2, 4, 6], trips: [-3, 5]) == [
                "van recorded trip t1 #5", "van event LOW_BATTERY #2", "van event LOW_BATTERY #6",
            ], "and no trip that is under way")
        #expect(talk.batch(events: [2, 4, 6], trips: [-3, 5]) == [])
        #expect(talk.event(6) == [])
        // A retained trip is the current state, so it is delivered.
        #expect(talk.trip(5, "ENDED", retained: true) == ["van trip t1 ENDED #5"])
        #expect(talk.trip(8, "ENDED") == ["van trip t1 ENDED #8"])
        #expect(talk.batch(trips: [8]) == [])
    }

    @Test func recordsOlderThanAWeekAreNotDelivered() throws {
        var talk = try SubscriberConversation {
            $0.watchesAll = true
            $0.wantsRecorded = true
        }
        _ = talk.connect(0)
        #expect(talk.batch(events: [1], trips: [2], at: 1000 - 7 * 86_400 - 1) == [])
        #expect(talk.batch(events: [1], trips: [2], at: 1000 - 7 * 86_400 + 1).count == 4)
        #expect(
            talk.receive("van/history", #"{"stream":"one","events":[{}]}"#) == ["bad message on tracking/van/history"])
    }

    @Test func theRecordingLaneIsIgnoredUnlessRequested() throws {
        var talk = try SubscriberConversation.online()
        #expect(talk.batch(events: [1], trips: [2]) == [])
    }

    @Test func aTripRevealsATrackableWhenAllAreWatched() throws {
        var talk = try SubscriberConversation { $0.watchesAll = true }
        #expect(talk.connect(0).last == "subscribe + +/event")
        #expect(talk.trip(3, retained: true) == ["van publisher UNKNOWN", "van is OFFLINE", "van trip t1 ACTIVE #3"])
        #expect(talk.event(4) == ["van event LOW_BATTERY #4"])
    }

    // MARK: - Trackables without messages

    @Test func aTrackableWithoutMessagesIsReportedOnce() throws {
        var talk = try SubscriberConversation { $0.isSilent = true }
        _ = talk.happened(.watch(try TrackableID("van"), nil))
        _ = talk.happened(.watch(try TrackableID("bike"), nil))
        _ = talk.connect(0)
        _ = talk.publisher("d1", "a", since: 1, stream: "one", retained: true)
        _ = talk.granted()
        #expect(!talk.wait(.milliseconds(9_900)).contains("bike unheard"))
        let output = talk.wait(.milliseconds(100))
        #expect(output.contains("bike unheard") && !output.contains("van unheard"))
        _ = talk.lose()
        _ = talk.connect(1)
        _ = talk.granted()
        #expect(!talk.wait(.seconds(30)).contains { $0.hasSuffix("unheard") })
    }

    @Test func aRefusalIsNotReportedAsSilence() throws {
        var talk = try SubscriberConversation()
        _ = talk.happened(.watch(try TrackableID("van"), nil))
        _ = talk.connect(0)
        _ = talk.granted(refusing: TrackingError(.notAuthorized, "no"))
        #expect(!talk.wait(.seconds(30)).contains("van unheard"))
        _ = talk.granted()
        #expect(talk.wait(.seconds(10)).contains("van unheard"))
        // An unwatched trackable is not reported as silent.
        _ = talk.happened(.watch(try TrackableID("bike"), nil))
        _ = talk.granted()
        _ = talk.happened(.unwatch(try TrackableID("bike")))
        #expect(!talk.wait(.seconds(30)).contains("bike unheard"))
    }

    // MARK: - Invalid messages

    @Test(arguments: [
        "van", "van/publisher/d1", "van/resolution", "van/trip", "van/event", "_clients/d1", "_clients/w1",
    ])
    func garbageIsCountedAndSkipped(topic: String) throws {
        var talk = try SubscriberConversation.online()
        let garbage = ["{", "null", "[]", "\u{0}", #"{"location":5}"#, #"{"session":5,"type":"MAYOR"}"#]
        for payload in garbage { #expect(talk.receive(topic, payload) == ["bad message on tracking/\(topic)"]) }
        #expect(talk.machine.badMessages == garbage.count)
        #expect(try talk.update(1) == ["van at 1"])
    }

    // MARK: - Refusals

    @Test func aRefusedPublishIsReportedOnceForEachConnection() throws {
        let topic = "tracking/van/subscriber/w1"
        var talk = try SubscriberConversation()
        _ = talk.happened(.watch(try TrackableID("van"), nil))
        for connection in 0...1 {
            _ = talk.connect(connection)
            _ = talk.granted()
            #expect(talk.acked(refusing: [topic]) == ["may not write \(topic) (notAuthorized)"])
            _ = talk.happened(.unwatch(try TrackableID("van")))
            _ = talk.happened(.watch(try TrackableID("van"), nil))
            _ = talk.granted()
            #expect(talk.acked(refusing: [topic]) == [])
        }
        #expect(talk.machine.badMessages == 0)
    }

    @Test func aRefusedSubscriptionIsReportedOnceAndTriedAgainWithBackoff() throws {
        let forbidden = TrackingError(.notAuthorized, "forbidden")
        var talk = try SubscriberConversation()
        _ = talk.happened(.watch(try TrackableID("van"), nil))
        _ = talk.connect(0)
        let refused = talk.granted(refusing: forbidden)
        #expect(refused.filter { $0.hasPrefix("refused") } == ["refused van (notAuthorized)"])
        #expect(!refused.contains("van publisher ABSENT"))
        for wait in [1_000, 2_000, 4_000] {
            #expect(talk.wait(.milliseconds(wait - 100)) == [])
            let again = talk.wait(.milliseconds(100))
            #expect(again.count == 1 && again.allSatisfy { $0.hasPrefix("subscribe ") })
            #expect(talk.granted(refusing: forbidden) == [])
        }
        #expect(talk.wait(.seconds(8)).count == 1)
        #expect(talk.granted() == ["van publisher ABSENT"])
        #expect(talk.publisher("d1", "a", since: 500, stream: "one").contains("van is ONLINE"))
    }

    @Test func aRefusalOfOneTrackableDoesNotAffectOthers() throws {
        var talk = try SubscriberConversation.online()
        _ = talk.happened(.watch(try TrackableID("bike"), nil))
        #expect(talk.granted(refusing: TrackingError(.notAuthorized, "no")).first == "refused bike (notAuthorized)")
        #expect(try talk.update(1) == ["van at 1"])
        // The subscription of an unwatched trackable is not tried again.
        _ = talk.happened(.unwatch(try TrackableID("bike")))
        #expect(!talk.wait(.seconds(5)).contains { $0.hasPrefix("subscribe") })
    }

    @Test func aRevokedPermissionMakesATrackableOffline() throws {
        var talk = try SubscriberConversation.online()
        _ = talk.lose()
        _ = talk.connect(1)
        let refused = talk.granted(refusing: TrackingError(.notAuthorized, "no"))
        #expect(refused.contains("refused van (notAuthorized)"))
        #expect(!refused.contains("van is ONLINE"))
    }

    @Test func manyTrackablesAreSubscribedToInSeveralPackets() throws {
        var talk = try SubscriberConversation()
        for number in 0..<300 { _ = talk.happened(.watch(try TrackableID("van-\(number)"), nil)) }
        let first = talk.connect(0)
        #expect(first.count { $0.hasPrefix("subscribe") } == 1 + 4, "a slice of 800 filters")
        let output = talk.granted(refusingOnly: "tracking/van-7")
        let packets = (first + output).filter { $0.hasPrefix("subscribe") }.map { $0.split(separator: " ").dropFirst() }
        #expect(packets.count == 1 + 8 && packets.allSatisfy { $0.count <= 200 })
        #expect(packets.dropFirst().flatMap(\.self).count == 300 * 5 + 1)
        #expect(output.count { $0.hasPrefix("refused") } == 1 && output.contains("refused van-7 (notAuthorized)"))
        #expect(output.count { $0.hasSuffix("publisher ABSENT") } == 299)
        #expect(output.first { $0.hasPrefix("_clients/w1: online") } != nil)
    }

    @Test func aRefusalOfEverythingIsReported() throws {
        var talk = try SubscriberConversation { $0.watchesAll = true }
        _ = talk.connect(0)
        #expect(
            talk.granted(refusing: TrackingError(.notAuthorized, "no")).contains("refused everything (notAuthorized)"))
        #expect(talk.wait(.seconds(1)).contains { $0.hasPrefix("subscribe +") })
    }

    @Test(arguments: ["tracking/van/raw", "tracking/van/trip", "tracking/van/event"])
    func aRefusedOptionalFilterIsNoFailure(lane: String) throws {
        var talk = try SubscriberConversation { $0.wantsRaw = true }
        _ = talk.happened(.watch(try TrackableID("van"), nil))
        let filters = "van/publisher/+ van/resolution van van/raw van/trip van/event"
        #expect(talk.connect(0).last == "subscribe \(filters) _clients/w1")
        #expect(talk.granted(refusingOnly: lane).contains("van publisher ABSENT"))
    }

    // MARK: - Retained positions

    /// The broker publishes no notice of a position that was cleared during an outage. The position is missing among
    /// the retained messages.
    @Test func theRetainedPositionsAreReportedAfterAReconnect() throws {
        var talk = try SubscriberConversation.online()
        func birth(_ connection: Int) -> String {
            #"{"status":"online","lease":90,"session":"mine","connection":\#(connection)}"#
        }
        _ = talk.receive("_clients/w1", birth(0))
        #expect(talk.wait(.seconds(2)) == ["keeps "], "nothing was kept")
        _ = try talk.update(1)
        for (connection, isKept) in [(1, true), (2, false)] {
            _ = talk.lose()
            _ = talk.connect(connection)
            if isKept { _ = try talk.update(1, retained: true) }
            _ = talk.granted()
            // The own liveness arrives behind all retained messages. The report follows a little later.
            _ = talk.receive("_clients/w1", birth(connection))
            #expect(!talk.wait(.milliseconds(1900)).contains { $0.hasPrefix("keeps") })
            #expect(talk.wait(.milliseconds(200)).contains(isKept ? "keeps van" : "keeps "))
        }
        // A position that the broker delivers late is accepted: the same position is new again, once.
        #expect(try talk.update(1, retained: true) == ["van at 1 kept"])
        #expect(try talk.update(1, retained: true) == [])
    }

    @Test func theRetainedPositionsAreReportedWithoutTheOwnLiveness() throws {
        var talk = try SubscriberConversation.online()
        #expect(talk.wait(.seconds(28)).contains { $0.hasPrefix("keeps") } == false)
        #expect(talk.wait(.seconds(2)).contains { $0.hasPrefix("keeps") })
        _ = talk.lose()
        #expect(talk.wait(.seconds(60)).contains { $0.hasPrefix("keeps") } == false, "not connected")
    }

    /// The broker may or may not have a retained message on a refused topic.
    @Test func aRefusedPositionIsNotReportedAsMissing() throws {
        var talk = try SubscriberConversation.online()
        _ = try talk.update(1)
        _ = talk.lose()
        _ = talk.connect(1)
        _ = talk.granted(refusingOnly: "tracking/van")
        #expect(talk.wait(.seconds(31)).contains("keeps van"))
    }

    // MARK: - The own liveness

    @Test func theGoodbyeOfAnotherProgramUnderThisIdIsAnsweredAtOnce() throws {
        var talk = try SubscriberConversation.online()
        let goodbye = #"{"status":"offline","session":"other","connection":0}"#
        #expect(talk.receive("_clients/w1", goodbye) == ["_clients/w1: online mine/0"])
        #expect((0..<50).reduce(0) { count, _ in count + talk.receive("_clients/w1", goodbye).count } == 3)
    }

    // MARK: - States

    @Test func aRetainedUpdateIsNoSignOfLife() throws {
        var talk = try SubscriberConversation.online()
        _ = try talk.update(1)
        _ = talk.wait(.seconds(60))
        #expect(try talk.update(2, retained: true) == ["van at 2 kept"])
        #expect(talk.wait(.seconds(2)).contains("van is STALE"))
    }

    @Test func aNameThatTheBrokerRejectsFails() throws {
        var talk = try SubscriberConversation()
        _ = talk.happened(.watch(try TrackableID("van"), nil))
        _ = talk.connect(0)
        let refusal = TrackingError(.refused, "topic filter invalid", reasonCode: 0x8F)
        #expect(talk.granted(refusing: refusal).contains("van is FAILED (refused)"))
    }

    // MARK: - Published events

    private static func event() throws -> TrackingEvent {
        TrackingEvent(
            id: "e", stream: try #require(StreamID("rules001")), seq: 1, time: UnixTime(5), kind: .fenceEntered)
    }

    @Test func aPublishedEventIsAnsweredByTheBrokersAcknowledgement() throws {
        var talk = try SubscriberConversation.online()
        let van = try TrackableID("van")
        #expect(talk.happened(.publish(try Self.event(), of: van, request: 7)).count == 1)
        #expect(talk.acked() == ["published 7"])
        _ = talk.happened(.publish(try Self.event(), of: van, request: 8))
        #expect(talk.acked(refusing: ["tracking/van/event"]) == ["published 8 not: notAuthorized"])
    }

    @Test func anEventWithoutAConnectionFails() throws {
        let van = try TrackableID("van")
        var talk = try SubscriberConversation()
        #expect(
            talk.happened(.publish(try Self.event(), of: van, request: 1)) == ["published 1 not: connectionLost"])
        talk = try SubscriberConversation.online()
        _ = talk.happened(.publish(try Self.event(), of: van, request: 2))
        let lost = Disconnection(reason: nil, retry: .seconds(1), lasted: .seconds(1))
        #expect(talk.happened(.transport(.disconnected(lost))).first == "published 2 not: connectionLost")
        talk = try SubscriberConversation.online()
        _ = talk.happened(.stop)
        #expect(
            talk.happened(.publish(try Self.event(), of: van, request: 3)) == ["published 3 not: connectionLost"])
    }
}
