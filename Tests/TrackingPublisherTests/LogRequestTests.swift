import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for the user's requests to the log, one rule per test.
struct LogRequestTests {
    /// A publisher of `van` that was offline while these seconds were recorded, and has since published its newest
    /// position.
    private func back(after seconds: ClosedRange<Int>, size: Int = 200) throws -> PublisherConversation {
        var talk = try PublisherConversation([try PublisherConversation.van()]) { $0.recording.batchSize = size }
        try self.drive(seconds, &talk)
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.echoed()
        return talk
    }

    private func drive(_ seconds: ClosedRange<Int>, _ talk: inout PublisherConversation) throws {
        for second in seconds {
            talk.now = MonotonicTime(.seconds(second))
            _ = try talk.fix(at: Double(second))
        }
    }

    private func said(_ talk: [String]) -> [String] {
        talk.filter { $0.hasPrefix("van/history") || $0.contains("answer") }
    }

    /// The numbers of the records that remain in the log.
    private func left(_ talk: PublisherConversation) -> [UInt64] { talk.log.values.flatMap(\.keys).sorted() }

    // MARK: - Send now

    @Test func sendNowIsAnsweredWhenItsBatchIsTaken() throws {
        var talk = try PublisherConversation.online()
        _ = try talk.fix(at: 1)
        _ = try talk.fix(at: 2)
        let asked = talk.happened(.asked(.sendNow, request: 7))
        #expect(asked == ["van/history: batch [2,3] oldest 2 remaining 0"])
        #expect(talk.acked() == ["answer 2 records"])
        #expect(self.left(talk).isEmpty)
    }

    @Test func sendNowJoinsTheBatchOnItsWay() throws {
        var talk = try self.back(after: 1...100, size: 10)
        #expect(self.said(talk.happened(.asked(.sendNow, request: 7))).isEmpty)  // the first ten are on their way
        #expect(self.said(talk.acked()).contains("answer 10 records"))
    }

    @Test func sendNowWithNothingToSendIsAnsweredAtOnce() throws {
        var talk = try PublisherConversation.online()
        #expect(talk.happened(.asked(.sendNow, request: 7)) == ["answer 0 records"])
        // The next records are not urgent any more.
        _ = try talk.fix(at: 11)
        #expect(!talk.wait(.seconds(1)).contains { $0.hasPrefix("van/history") })
    }

    @Test func sendNowDoesNotWaitOutARefusedBatch() throws {
        var talk = try self.back(after: 1...100)
        _ = talk.happened(.asked(.sendNow, request: 7))
        _ = talk.acked(refusing: ["tracking/van/history"])
        let again = self.said(talk.happened(.asked(.sendNow, request: 8)))
        #expect(again == ["van/history: batch [] oldest 1 remaining 39"])  // whether the topic is forbidden as a whole
    }

    @Test func sendNowWithoutAConnectionFailsAfterTenSeconds() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = try talk.fix(at: 0)
        #expect(talk.happened(.asked(.sendNow, request: 7)) == ["try now"])
        #expect(talk.wait(.seconds(9)).isEmpty)
        #expect(talk.wait(.seconds(1)) == ["answer brokerUnreachable"])
        #expect(self.left(talk) == [1])
    }

    // MARK: - Flush

    @Test func flushIsAnsweredWhenEverythingThatWaitedIsSafe() throws {
        var talk = try self.back(after: 1...100, size: 20)
        _ = talk.acked()  // the newest and the first batch
        #expect(self.left(talk).count == 19)
        _ = talk.happened(.asked(.flush, request: 7))
        _ = try talk.fix(at: 101)  // comes later: not waited for
        #expect(talk.acked().contains("answer 19 records"))
        #expect(self.left(talk) == [101])
    }

    @Test func flushReportsItsProgressAfterEachBatch() throws {
        var talk = try self.back(after: 1...161, size: 40)
        let reported = talk.happened(.asked(.flush, request: 7))
        #expect(!reported.contains { $0.contains(" of ") })
        #expect(talk.acked().filter { $0.contains(" of ") } == ["61 of 161", "101 of 161"])
        #expect(talk.acked().filter { $0.contains(" of ") } == ["141 of 161"])
        #expect(talk.acked().contains("answer 161 records"))
    }

    @Test func flushReportsEveryTenSecondsAndGivesUpAfterSeventy() throws {
        var talk = try self.back(after: 1...2)
        _ = talk.acked()
        _ = try talk.fix(at: 3)
        _ = talk.happened(.asked(.flush, request: 7))
        #expect(talk.wait(.seconds(69)).filter { $0 == "0 of 1" }.count == 6)
        #expect(talk.wait(.seconds(1)).contains("answer refused"))
    }

    @Test func flushSaysWhyNothingIsTaken() throws {
        var talk = try self.back(after: 1...100)
        _ = talk.happened(.asked(.flush, request: 7))
        var answers: [String] = []
        for _ in 1...40 {
            answers += talk.acked(refusing: ["tracking/van/history"])
            answers += talk.wait(.seconds(2))
        }
        #expect(answers.filter { $0.contains("records refused") } == ["van records refused (notAuthorized)"])
        #expect(self.said(answers).contains("answer notAuthorized"))
        #expect(talk.happened(.asked(.sending, request: 8)) == [#"answer refusals ["van notAuthorized"]"#])
        // The requested records are sent nevertheless as soon as that is possible.
        _ = talk.wait(.seconds(60))
        _ = talk.acked()
        _ = talk.acked()
        #expect(self.left(talk).isEmpty)
        #expect(talk.happened(.asked(.sending, request: 9)) == ["answer refusals []"])
    }

    @Test func flushOutlivesAShortGap() throws {
        var talk = try self.back(after: 1...100)
        _ = talk.happened(.asked(.flush, request: 7))
        _ = talk.lose()
        #expect(talk.wait(.seconds(9)).allSatisfy { !$0.contains("answer") })
        _ = talk.connect(1)
        _ = talk.granted()
        _ = talk.echoed()
        #expect((talk.acked() + talk.acked()).last == "answer 100 records")
    }

    @Test func flushCountsWhatRecordersHave() throws {
        let keeper = try ClientID("keeper")
        var talk = try PublisherConversation([try PublisherConversation.van()]) { $0.recording.recorders = [keeper] }
        _ = try talk.fix(at: 0)
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.echoed()
        _ = talk.happened(.asked(.flush, request: 7))
        #expect(!talk.acked().contains { $0.contains("answer") })
        let stream = try #require(talk.log.keys.first)
        let received = talk.receive("tracking/van/ack/keeper", #"{"streams":{"\#(stream)":1}}"#)
        #expect(received == ["answer 1 records"])
    }

    // MARK: - Purge

    @Test func purgeForgetsEverythingAndDeclaresItGone() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        try self.drive(1...100, &talk)
        #expect(talk.happened(.asked(.purge, request: 7)) == ["answer 100 records"])
        #expect(self.left(talk).isEmpty)
        _ = talk.connect(0)
        let said = (talk.granted() + talk.echoed()).filter { $0.hasPrefix("van: ") || $0.hasPrefix("van/history") }
        // The newest position remains the newest one; no purged record is added to an update.
        #expect(said == ["van: update 100", "van/history: batch [] oldest 101 remaining 0"])
        _ = talk.acked()
        #expect(!talk.wait(.seconds(300)).contains { $0.hasPrefix("van/history") })
    }

    @Test func afterAPurgeTheAnswerToABatchOnItsWayChangesNothing() throws {
        for isRefused in [false, true] {
            var talk = try self.back(after: 1...300)
            _ = talk.happened(.asked(.purge, request: 7))
            _ = try talk.fix(at: 301)
            #expect(self.left(talk) == [301])
            let said = talk.acked(refusing: isRefused ? ["tracking/van/history"] : []) + talk.wait(.seconds(30))
            // A purged record is never sent again, whatever the broker answered.
            #expect(!said.contains { $0.contains("batch [1,") })
            #expect(self.left(talk) == [301] || self.left(talk).isEmpty)
        }
    }

    @Test func purgeForgetsEventsThatWaitForAConnection() throws {
        var talk = try PublisherConversation.online()
        _ = talk.lose()
        _ = talk.happened(.recordEvent(.sourceLost, [:]))
        #expect(talk.happened(.asked(.purge, request: 7)) == ["answer 1 records"])
        _ = talk.connect(1)
        #expect(!(talk.granted() + talk.echoed()).contains { $0.hasPrefix("van/event") })
    }

    @Test func purgeAlsoRemovesRecordsOfUntrackedTrackables() throws {
        let (van, old) = (try TrackableID("van"), try #require(StreamID("old")))
        var machine = PublisherStateMachine(
            configuration: PublisherConfiguration(client: try ClientID("d1"), session: try #require(SessionID("mine"))),
            policy: DefaultResolutionPolicy(),
            logs: [van: .init(streams: [StoredStream(id: old, stored: SeqSet([4...5]), last: 9)], current: old)],
            seed: 1)
        let moment = Moment(now: MonotonicTime(.zero), wall: UnixTime(1000))
        let actions = machine.happened(.asked(.purge, request: 7), at: moment)
        #expect(actions == [.log(van, .remove(old, SeqSet([4...5]))), .answered(request: 7, .success(.records(2)))])
        #expect(
            machine.happened(.asked(.purge, request: 8), at: moment).last
                == .answered(request: 8, .success(.records(0))))
    }

    // MARK: - What was set aside

    @Test func whatIsPutBackGoesAtOnceUnderANewNumber() throws {
        var talk = try PublisherConversation.online()
        let stream = try #require(talk.log.keys.first)
        let old = try #require(StreamID("old"))
        let said = try talk.putBack(1, 7, in: old)
        #expect(said == ["answer 2 records", "van/history: batch [2,3] oldest 2 remaining 0"])
        let record = try #require(talk.log[stream]?[3])
        let event = try MessageCodec.decodeEvent(record.payload)
        #expect(event.id == "e7" && event.stream == stream && event.seq == 3)
        #expect(record.time == UnixTime(1000) && event.time == UnixTime(1000), "at its own time")
        #expect(record.kind == .event)
        _ = talk.acked()
        #expect(talk.log[stream]?.isEmpty == true && talk.log[old] == nil)
        #expect(try talk.fix(at: 30).last == "van: update 4")
    }

    /// The recorder received that the old number is gone, and acknowledged past it.
    @Test func noAcknowledgementOfTheOldNumberReachesWhatIsPutBack() throws {
        let keeper = try ClientID("keeper")
        var talk = try PublisherConversation([try PublisherConversation.van()]) {
            $0.recording.recorders = [keeper]
        }
        for second in 0...4 { _ = try talk.fix(at: Double(second)) }
        let stream = try #require(talk.log.keys.first)
        let acknowledgement = HistoryCodec.encode(Acknowledgement(streams: [stream: 5]))
        _ = try talk.putBack(3, in: stream)
        _ = talk.connect(0)
        _ = talk.receive("tracking/van/ack/keeper", acknowledgement, retained: true)
        #expect(talk.log[stream]?.keys.sorted() == [6])
        let said = talk.granted() + talk.echoed() + talk.wait(.seconds(20))
        #expect(said.contains("van/history: batch [6] oldest 6 remaining 0"), "\(said)")
    }

    @Test func aRecordPutBackForAnUntrackedTrackableWaitsInItsStream() throws {
        var talk = try PublisherConversation.online()
        let van = try TrackableID("van")
        let stream = try #require(talk.log.keys.first)
        _ = talk.happened(.remove(van))
        #expect(try talk.putBack(1, in: stream) == ["answer 1 records"])
        let held = StoredStream(id: stream, stored: SeqSet([2...2]), last: 2)
        #expect(talk.machine.table.dormant(van)?.log == .init(streams: [held], current: stream))
    }

    @Test func whatIsPutBackOfWhatIsUnknownBeginsAStream() throws {
        var talk = try PublisherConversation()
        let old = try #require(StreamID("old"))
        #expect(try talk.putBack(7, in: old) == ["answer 1 records"])
        let log = try #require(talk.machine.table.dormant(try TrackableID("van"))?.log)
        #expect(log.streams.map(\.stored) == [SeqSet([1...1])] && log.streams[0].id != old)
        #expect(log.current == log.streams[0].id)
    }

    @Test func whatCannotBePutBackIsSaidAndItsNumberIsGone() throws {
        var talk = try PublisherConversation.online()
        let stream = try #require(talk.log.keys.first)
        talk.isDiskFull = true
        #expect(try talk.putBack(1, in: stream) == ["answer spoolFailed"])
        #expect(talk.machine.readiness.isReadyForFix, "nothing is waited for")
        talk.isDiskFull = false
        #expect(try talk.fix(at: 30).last == "van: update 3")
        let record = SpoolRecord(seq: 1, time: UnixTime(1000), kind: .trip, payload: [1])
        let van = try TrackableID("van")
        let row = QuarantinedRecord(place: 1, entry: SpoolEntry(record, of: van, in: stream), reason: "no")
        #expect(talk.happened(.asked(.putBack([row], of: van), request: 9)) == ["answer 0 records"])
    }

    // MARK: - Another trackable

    private func other() throws -> Trackable { Trackable(try TrackableID("bus")) }

    @Test func bindIsRejectedWhilePointsAreUnsent() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        for second in 1...3 { _ = try talk.fix(at: Double(second)) }
        #expect(talk.happened(.asked(.bind(try self.other(), unsent: .refuse), request: 7)) == ["answer unsentPoints"])
        #expect(talk.happened(.asked(.bind(try self.other(), unsent: .send), request: 7)) == ["answer unsentPoints"])
        #expect(talk.machine.trackables.map(\.id.rawValue) == ["van"])
        #expect(self.left(talk) == [1, 2, 3])
    }

    @Test func whatIsBeingWrittenIsUnsentToo() throws {
        var talk = try PublisherConversation.online()
        talk.isDiskBusy = true
        _ = try talk.fix(at: 5)
        #expect(talk.happened(.asked(.bind(try self.other(), unsent: .refuse), request: 7)) == ["answer unsentPoints"])
    }

    @Test func forceClearsWhatIsUnsent() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        for second in 1...3 { _ = try talk.fix(at: Double(second)) }
        let said = talk.happened(.asked(.bind(try self.other(), unsent: .clear), request: 7))
        #expect(said.contains("removed van") && said.contains("answer bound"))
        #expect(talk.machine.trackables.map(\.id.rawValue) == ["bus"])
        #expect(self.left(talk).isEmpty)
    }

    @Test func bindIsImmediateWhenEverythingIsSafe() throws {
        var talk = try PublisherConversation.online()
        let said = talk.happened(.asked(.bind(try self.other(), unsent: .refuse), request: 7))
        #expect(said.contains("van/publisher/d1: cleared") && said.contains("answer bound"))
        #expect(talk.machine.trackables.map(\.id.rawValue) == ["bus"])
    }
}
