import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for the effect of the log on a publisher, one rule per test.
struct RecordingLaneTests {
    /// The numbers of the records that remain in the log.
    private func left(_ talk: PublisherConversation) -> [UInt64] {
        talk.log.values.flatMap(\.keys).sorted()
    }

    /// A publisher that captured a fix each second while it was offline, and has just connected again.
    private func backAfter(seconds: Int) throws -> PublisherConversation {
        var talk = try PublisherConversation.online()
        _ = talk.lose()
        for second in 1...seconds {
            talk.now = MonotonicTime(.seconds(second))
            _ = try talk.fix(at: Double(second))
        }
        _ = talk.connect(1)
        return talk
    }

    @Test func nothingIsSentBeforeItIsWritten() throws {
        var talk = try PublisherConversation.online()
        talk.isDiskBusy = true
        #expect(try talk.fix(at: 20) == ["fix 2 sent"])
        #expect(!talk.machine.readiness.isReadyForFix)
        #expect(talk.written() == ["van: update 2"])
    }

    @Test func aFullDiskDoesNotHoldUpTheLiveLaneAndIsDeclared() throws {
        var talk = try PublisherConversation.online()
        talk.isDiskFull = true
        let said = try talk.fix(at: 20)
        #expect(said.contains("van not logged (spoolFailed)"))
        #expect(said.last == "van: update 2")
        _ = talk.acked()
        talk.isDiskFull = false
        _ = try talk.fix(at: 21)  // too soon: it waits to ride along
        #expect(talk.wait(.seconds(20)).contains("van/history: batch [3] oldest 3 remaining 0"))
    }

    @Test func whatTheLiveLaneBroughtLeavesTheLog() throws {
        var talk = try PublisherConversation.online()
        for second in 11...13 { _ = try talk.fix(at: Double(second)) }
        #expect(self.left(talk) == [2, 3, 4])
        _ = talk.acked()  // 2 was sent at once
        #expect(self.left(talk) == [3, 4])
        #expect(try talk.fix(at: 21).last == "van: update 5 skipped 3,4")
        _ = talk.acked()
        #expect(self.left(talk) == [])
    }

    @Test func anAnswerBeforeTheOwnPresenceCameBackProvesNothing() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = try talk.fix(at: 0)
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.acked()
        #expect(self.left(talk) == [1])
        _ = talk.lose()
        _ = talk.connect(1)
        _ = talk.granted()
        _ = talk.acked()
        _ = talk.echoed()
        #expect(self.left(talk) == [])
    }

    @Test func theNewestPositionGoesFirstAndTheBacklogBehindIt() throws {
        var talk = try self.backAfter(seconds: 300)
        let said = (talk.granted() + talk.echoed()).filter { $0.hasPrefix("van: ") || $0.hasPrefix("van/history") }
        #expect(said.first?.hasPrefix("van: update 301 skipped 241,") == true)
        #expect(said.count == 2)
        #expect(said.last?.hasPrefix("van/history: batch [2,3,4,") == true)
        _ = talk.acked()
        _ = talk.wait(.seconds(20))
        _ = talk.acked()
        #expect(self.left(talk) == [])
    }

    @Test func anUpdateThatIsTooLargeGoesByItself() throws {
        var talk = try PublisherConversation.online()
        for second in 11...13 { _ = try talk.fix(at: Double(second)) }
        _ = talk.acked()
        #expect(try talk.fix(at: 21).last == "van: update 5 skipped 3,4")
        let said = talk.tooLarge("tracking/van")
        #expect(said == ["van: update 5"])
        _ = talk.acked()
        #expect(talk.wait(.seconds(20)).contains("van/history: batch [3,4] oldest 3 remaining 0"))
        #expect(!said.contains { $0.hasPrefix("van is") })
    }

    @Test func aPositionThatIsTooLargeByItselfIsLeftToTheRecordingLane() throws {
        var talk = try PublisherConversation.online()
        _ = try talk.fix(at: 20)
        #expect(talk.tooLarge("tracking/van") == ["bad message on tracking/van"])
        #expect(talk.wait(.seconds(20)).contains("van/history: batch [2] oldest 2 remaining 0"))
        #expect(try talk.fix(at: 41).last == "van: update 3")
    }

    /// 0x99: payload format invalid; 0x83: implementation specific.
    @Test(arguments: [0x99, 0x83]) func whatABrokerRefusesToReadHoldsNothingBack(reason: UInt8) throws {
        let error = TrackingError(.refused, "the broker does not like what it says", reasonCode: reason)
        var talk = try PublisherConversation.online()
        for second in 11...13 { _ = try talk.fix(at: Double(second)) }
        _ = talk.acked()
        #expect(try talk.fix(at: 21).last == "van: update 5 skipped 3,4")
        #expect(talk.tooLarge("tracking/van", error) == ["van: update 5"], "perhaps it is one that rides along")
        #expect(talk.tooLarge("tracking/van", error) == ["bad message on tracking/van"])
        #expect(try talk.fix(at: 31).last == "van: update 6")
        #expect(!talk.acked().contains { $0.hasPrefix("van is") })
        #expect(talk.wait(.seconds(20)).contains("van/history: batch [3,4,5] oldest 3 remaining 0"))
    }

    @Test func anUpdateThatEndsTheConnectionTwiceGoesByItself() throws {
        var talk = try PublisherConversation.online()
        for second in 11...13 { _ = try talk.fix(at: Double(second)) }
        _ = talk.acked()
        #expect(try talk.fix(at: 21).last == "van: update 5 skipped 3,4")
        for (connection, said) in [(1, "van: update 5 skipped 3,4"), (2, "van: update 5")] {
            _ = talk.lose()
            _ = talk.connect(connection)
            #expect((talk.granted() + talk.echoed()).filter { $0.hasPrefix("van: ") } == [said])
        }
    }

    @Test func whatACollisionLeavesIsSentBeforeTheEnd() throws {
        var talk = try PublisherConversation.online()
        for second in 11...13 { _ = try talk.fix(at: Double(second)) }
        _ = talk.acked()
        #expect(self.left(talk) == [3, 4])
        _ = talk.publisher("d2", "other", since: 5000)
        // Nothing more is recorded, because the other publisher records now.
        _ = try talk.fix(at: 30)
        #expect(self.left(talk) == [3, 4, 5])  // 5 is the collision
        _ = talk.happened(.stop(by: nil))
        #expect(!talk.machine.isClosed && talk.machine.readiness.hasFailed)
        let said = talk.acked() + talk.acked()
        #expect(said.last == "close")
        #expect(self.left(talk).isEmpty)
    }

    /// The broker acknowledges an update after another publisher took the trackable over. The record of the update is sent
    /// again in a batch, and the publisher can end.
    @Test func anUpdateInFlightAtACollisionDelaysNoEnd() throws {
        var talk = try PublisherConversation.online()
        #expect(try talk.fix(at: 20).last == "van: update 2")
        _ = talk.publisher("d2", "other", since: 5000)
        _ = talk.happened(.stop(by: nil))
        let said = talk.acked() + talk.acked() + talk.acked()
        #expect(said.last == "close", "\(said)")
        #expect(self.left(talk).isEmpty)
    }

    @Test func aNewPositionDoesNotWaitForTheBacklog() throws {
        var talk = try self.backAfter(seconds: 1000)
        _ = talk.granted()
        _ = talk.echoed()
        _ = talk.acked()  // the first batch is answered, the second one is on its way
        #expect(try talk.fix(at: 1020).last == "van: update 1002")
    }

    @Test func whereNothingGoesByItselfTheLiveLaneIsHeldAsWell() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()]) { $0.recording.batchWindow = nil }
        _ = try talk.fix(at: 0)
        _ = talk.connect(0)
        let said = talk.granted() + talk.echoed() + talk.acked() + talk.wait(.seconds(300))
        #expect(!said.contains { $0.hasPrefix("van: ") || $0.hasPrefix("van/history") })
        #expect(talk.happened(.sendRecords(all: false)) == ["van/history: batch [1] oldest 1 remaining 0"])
    }

    @Test func recordersAreListenedToAndDecide() throws {
        let keeper = try ClientID("keeper")
        var talk = try PublisherConversation([try PublisherConversation.van()]) {
            $0.recording.recorders = [keeper]
        }
        _ = try talk.fix(at: 0)
        #expect(talk.connect(0).contains { $0.hasPrefix("subscribe") && $0.contains("van/ack/keeper") })
        _ = talk.granted()
        _ = talk.echoed()
        _ = talk.acked()
        #expect(self.left(talk) == [1])
        let stream = try #require(talk.log.keys.first)
        _ = talk.receive("tracking/van/ack/other", #"{"streams":{"\#(stream)":1}}"#)
        #expect(self.left(talk) == [1])
        _ = talk.receive("tracking/van/ack/keeper", #"{"streams":{"\#(stream)":1}}"#, retained: true)
        #expect(self.left(talk) == [])
        #expect(talk.receive("tracking/van/ack/keeper", "garbage") == ["bad message on tracking/van/ack/keeper"])
    }

    @Test func anEventIsARecordToo() throws {
        var talk = try PublisherConversation.online()
        _ = talk.happened(.recordEvent(.sourceLost, [:]))
        #expect(self.left(talk) == [2])
        #expect(talk.wait(.seconds(20)).contains("van/history: batch [2] oldest 2 remaining 0"))
    }

    @Test func aStreamGoesOnWhereTheLogLeftIt() throws {
        let van = try TrackableID("van")
        let (old, current) = (try #require(StreamID("old")), try #require(StreamID("current")))
        let held = SpoolContents.Trackable(
            streams: [
                StoredStream(id: old, stored: SeqSet([4...5]), last: 9), StoredStream(id: current, last: 7),
            ], current: current)
        var configuration = PublisherConfiguration(
            client: try ClientID("d1"), session: try #require(SessionID("mine")))
        configuration.recording.batchSize = 1
        var machine = PublisherStateMachine(
            configuration: configuration, policy: DefaultResolutionPolicy(), logs: [van: held], seed: 1)
        let moment = Moment(now: MonotonicTime(.zero), wall: UnixTime(1000))
        _ = machine.happened(.add(Trackable(van)), at: moment)
        let fix = Location(coordinate: try #require(Coordinate(latitude: 1, longitude: 1)), time: UnixTime(1000))
        let actions = machine.happened(.fix(fix, raw: fix), at: moment)
        let appended = actions.compactMap { action -> (StreamID, UInt64)? in
            if case .log(_, .append(let stream, let record, _)) = action { (stream, record.seq) } else { nil }
        }
        #expect(appended.count == 1 && appended[0] == (current, 8))
    }

    @Test func aLogThatWasDamagedBeginsAnew() throws {
        var talk = try PublisherConversation.online()
        let before = try #require(talk.log.keys.first)
        let held = SpoolContents.Trackable(streams: [StoredStream(id: before, stored: SeqSet(), last: 1)])
        let said = talk.happened(.log(try TrackableID("van"), .reopened(held)))
        #expect(said.contains { $0.hasPrefix("van/publisher/d1: present mine/0") })  // with the new stream's name
        _ = try talk.fix(at: 30)
        #expect(talk.log.keys.filter { $0 != before }.count == 1)
        #expect(talk.log.filter { $0.key != before }.values.first?.keys.sorted() == [1])
    }

    @Test func aLogThatWasPutBackToAnEarlierStateBeginsAnew() throws {
        let current = try #require(StreamID("current"))
        let (van, keeper) = (try TrackableID("van"), try ClientID("keeper"))
        let held = SpoolContents.Trackable(streams: [StoredStream(id: current, last: 7)], current: current)
        var talk = try PublisherConversation(logs: [van: held]) { $0.recording.recorders = [keeper] }
        _ = talk.happened(.add(try PublisherConversation.van()))
        _ = try talk.fix(at: 0)
        #expect(talk.log[current]?.keys.sorted() == [8])
        _ = talk.connect(0)
        let acknowledgement = HistoryCodec.encode(Acknowledgement(streams: [current: 20]))
        let said = talk.receive("tracking/van/ack/keeper", acknowledgement, retained: true)
        #expect(said == ["numbers of van are used again"])
        let stream = try #require(talk.machine.table[van]?.backlog.stream)
        #expect(talk.log.filter { !$0.value.isEmpty }.mapValues { $0.keys.sorted() } == [stream: [1]])
        let sent = talk.granted() + talk.echoed() + talk.acked() + talk.acked() + talk.wait(.seconds(20))
        #expect(sent.contains("van/history: batch [1] oldest 1 remaining 0"), "\(sent)")
        #expect(try talk.fix(at: 20).contains { $0.hasPrefix("fix 2 ") })
    }

    /// The broker answers late to messages from before it rejected the live position.
    @Test func aLateAnswerCountsForNoOtherBatch() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()]) { $0.recording.batchSize = 2 }
        // These records are not added to a live update.
        for _ in 1...6 { _ = talk.happened(.recordEvent(.paused, [:])) }
        _ = try talk.fix(at: 0)
        _ = talk.connect(0)
        _ = talk.granted()
        #expect(talk.echoed().contains("van/history: batch [1,2] oldest 1 remaining 5"))
        _ = talk.tooLarge("tracking/van", TrackingError(.notAuthorized, "forbidden"))
        _ = talk.wait(.seconds(1))
        let again = talk.granted() + talk.echoed()
        #expect(again.contains("van/history: batch [1,2] oldest 1 remaining 5"), "\(again)")
        #expect(talk.ackedFirst("tracking/van/history") == [], "it was given up")
        #expect(talk.ackedFirst("tracking/van/history").contains("van/history: batch [3,4] oldest 3 remaining 3"))
        #expect(self.left(talk) == [3, 4, 5, 6, 7])
    }

    @Test func aLateAnswerCountsForNothingOfATrackableThatWasAddedAgain() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()]) { $0.recording.batchSize = 2 }
        for _ in 1...4 { _ = talk.happened(.recordEvent(.paused, [:])) }
        _ = talk.connect(0)
        #expect((talk.granted() + talk.echoed()).contains("van/history: batch [1,2] oldest 1 remaining 2"))
        _ = talk.happened(.remove(try TrackableID("van")))
        _ = talk.happened(.add(try PublisherConversation.van()))
        #expect((talk.granted() + talk.echoed()).contains("van/history: batch [1,2] oldest 1 remaining 2"))
        #expect(talk.ackedFirst("tracking/van/history") == [])
        #expect(self.left(talk) == [1, 2, 3, 4])
    }

    /// The old stream's position was acknowledged, and the new stream's is not acknowledged yet.
    @Test func aLateAnswerCountsForNothingOfALogThatWasOpenedAnew() throws {
        var talk = try PublisherConversation.online()
        let (van, before) = (try TrackableID("van"), try #require(talk.log.keys.first))
        #expect(try talk.fix(at: 20).last == "van: update 2")
        let held = SpoolContents.Trackable(streams: [StoredStream(id: before, stored: SeqSet([2...2]), last: 2)])
        _ = talk.happened(.log(van, .reopened(held)))
        #expect(try talk.fix(at: 40).contains("van: update 1"))
        _ = talk.echoed()
        _ = talk.ackedFirst("tracking/van")
        let stream = try #require(talk.machine.table[van]?.backlog.stream)
        #expect(talk.log[stream]?.keys.sorted() == [1])
        _ = talk.ackedFirst("tracking/van")
        #expect(talk.log[stream]?.isEmpty == true)
    }

    @Test func anEventOfAnEarlierRunIsPublishedAtOnce() throws {
        var talk = try PublisherConversation.online()
        let before = try #require(talk.log.keys.first)
        _ = talk.lose()
        _ = talk.happened(.recordEvent(.sourceLost, [:]))
        let held = SpoolContents.Trackable(streams: [StoredStream(id: before, stored: SeqSet([2...2]), last: 2)])
        _ = talk.happened(.log(try TrackableID("van"), .reopened(held)))
        _ = talk.connect(1)
        #expect(talk.granted().contains("van/event: SOURCE_LOST"))
    }

    @Test func whatWasOnItsWayToTheDiskWhenTheLogWasOpenedAnewGoesOut() throws {
        var talk = try PublisherConversation.online()
        let before = try #require(talk.log.keys.first)
        talk.isDiskBusy = true
        _ = try talk.fix(at: 30)
        let held = SpoolContents.Trackable(streams: [StoredStream(id: before, last: 1)])
        var said = talk.happened(.log(try TrackableID("van"), .reopened(held)))
        said += talk.acked()  // the old stream's end is declared
        talk.isDiskBusy = false
        said += talk.written()
        #expect(talk.log[before]?.keys.sorted() == [2])
        for _ in 0..<3 { said += talk.echoed() + talk.acked() }
        #expect(said.contains("van/history: batch [2] oldest 2 remaining 0"), "\(said)")
        #expect(talk.log[before] == nil, "and the stream is forgotten with the last of it")
    }

    @Test func writesOfAnUntrackedTrackableAreAccountedFor() throws {
        var talk = try PublisherConversation.online()
        let van = try TrackableID("van")
        talk.isDiskBusy = true
        _ = try talk.fix(at: 30)
        _ = talk.happened(.remove(van))
        _ = talk.happened(.log(van, .reopened(.init())))
        _ = talk.written()
        let stream = try #require(talk.log.first { !$0.value.isEmpty }?.key)
        let held = StoredStream(id: stream, stored: SeqSet([2...2]), last: 2)
        #expect(talk.machine.table.dormant(van)?.log == .init(streams: [held], current: stream))
    }
}
