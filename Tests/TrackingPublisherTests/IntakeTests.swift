import TestSupport
import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for ingested records, one rule per test.
struct IntakeTests {
    /// A connected publisher that tracks nothing, at second 100.
    private func standing(
        _ configure: (inout PublisherConfiguration) -> Void = { _ in }
    ) throws -> PublisherConversation {
        var talk = try PublisherConversation(configure: configure)
        talk.now = MonotonicTime(.seconds(100))
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.echoed()
        return talk
    }

    /// The same publisher, which tracks `van` for point 10; the point is safe.
    private func carrying(
        _ configure: (inout PublisherConfiguration) -> Void = { _ in }
    ) throws -> PublisherConversation {
        var talk = try self.standing(configure)
        _ = try talk.take([10])
        _ = talk.granted()
        _ = talk.echoed()
        let answers = talk.acked()
        let recorders = talk.machine.configuration.recording.recorders
        let acknowledged = try recorders.flatMap { try talk.acknowledge(1, by: $0) }
        #expect((answers + acknowledged).contains("answer taken 1"))
        return talk
    }

    private static func waitsForKeeper(_ configuration: inout PublisherConfiguration) {
        configuration.recording.recorders = [try! ClientID("keeper")]
    }

    @Test func ingestedRecordsAreSentAndAnsweredWhenTheyAreSafe() throws {
        var talk = try self.standing()
        #expect(try !talk.take([3, 1, 2]).contains { $0.hasPrefix("answer") })
        #expect(talk.granted().contains("van: update 3 skipped 1,2"), "numbered in order of time")
        #expect(!talk.acked().contains { $0.hasPrefix("answer") }, "the own presence did not come back yet")
        #expect(talk.echoed().contains("answer taken 3,1,2"), "named in the order in which they came")
        #expect(!talk.log.values.contains { !$0.isEmpty })
    }

    @Test func aRepeatedRecordRetainsItsNameAndIsSafeAtOnce() throws {
        var talk = try self.carrying()
        _ = try talk.take([11, 12])
        _ = talk.acked()
        #expect(try talk.take([12, 10]) == ["answer taken 3,1"])
        let mixed = try talk.take([11, 40, 12])
        #expect(mixed == ["van: update 4"], "only what is new goes out: \(mixed)")
        #expect(talk.acked().contains("answer taken 2,4,3"))
    }

    @Test func aRecordThatArrivesTwiceAtOnceIsRecordedOnce() throws {
        var talk = try self.carrying()
        talk.isDiskBusy = true
        _ = try talk.take([20, 20, 21], request: 2)
        _ = try talk.take([21, 22], request: 3)
        _ = talk.written()
        talk.isDiskBusy = false
        let answers = talk.acked() + talk.acked() + talk.acked()
        #expect(answers.contains("answer taken 2,2,3"), "\(answers)")
        #expect(answers.contains("answer taken 3,4"), "\(answers)")
    }

    @Test func recordersAreWaitedForOnTheRecordingLane() throws {
        var talk = try self.carrying(Self.waitsForKeeper)
        let said = try talk.take([30, 31])
        #expect(said == ["van: update 3 skipped 2", "van/history: batch [2,3] oldest 2 remaining 0"])
        #expect(talk.acked().isEmpty)
        #expect(try talk.acknowledge(2, by: ClientID("keeper")).isEmpty)
        #expect(try talk.acknowledge(3, by: ClientID("keeper")) == ["answer taken 2,3"])
    }

    @Test func anOlderPositionIsRecordedButNotPublished() throws {
        var talk = try self.carrying(Self.waitsForKeeper)
        _ = try talk.take([50])
        _ = talk.acked()
        #expect(try talk.take([20, 30]) == ["van/history: batch [3,4] oldest 2 remaining 0"])
        _ = talk.acked()
        let next = try talk.take([70])
        #expect(next.first == "van: update 5", "nor does it ride along: \(next)")
    }

    /// A phone with an unset clock. A recorder does not accept such a point as the last position either.
    @Test func whatIsFromBefore2001IsRecordedAndNotShown() {
        let point = RecordDraft.Content.point(
            Location(coordinate: Coordinate(latitude: 52, longitude: -8)!, time: UnixTime(0)))  // in range
        let trip = RecordDraft.Content.trip(
            Trip(id: "t", mode: "car", start: UnixTime(0), stream: RecordDraft.unnamed, seq: 1))
        for content in [point, trip] {
            func isNews(_ second: Double, at now: Double) -> Bool {
                var reported = PublishedWatermarks()
                return reported.isNews(content, at: UnixTime(second), now: UnixTime(now))
            }
            #expect(!isNews(60, at: 1_790_000_000) && !isNews(978_307_199, at: 1_790_000_000))
            #expect(isNews(978_307_200, at: 1_790_000_000))
            #expect(isNews(60, at: 61), "by a clock that is not set itself nobody's is judged")
        }
    }

    @Test func aClearedPositionIsNotPublishedToNewSubscribers() throws {
        func comes(_ talk: inout PublisherConversation) -> [String] {
            (talk.subscriber("w") + talk.wait(.seconds(2))).filter { $0.hasPrefix("van: ") }
        }
        var talk = try self.carrying()
        #expect(comes(&talk) == ["van: update 1"])
        talk = try self.carrying()
        let van = try TrackableID("van")
        let received = try #require(talk.machine.table[van]?.live.lane.last?.location)
        _ = talk.happened(.forget(van, through: received))
        #expect(comes(&talk) == [])
        #expect(try talk.take([40]) == ["van: update 2"])
        _ = talk.acked()
        // The position had not been received when the earlier one was cleared.
        _ = talk.happened(.forget(van, through: received))
        #expect((talk.subscriber("x") + talk.wait(.seconds(2))).contains("van: update 2"))
    }

    @Test func aPositionThatIsClearedOnItsTopicIsNotPublishedAgain() throws {
        var talk = try self.standing()
        #expect(try talk.take([10]).contains("subscribe van"))
        _ = talk.granted() + talk.echoed() + talk.acked()
        _ = talk.receive("tracking/van", [])
        #expect((talk.subscriber("w") + talk.wait(.seconds(2))).filter { $0.hasPrefix("van: ") } == [])
        #expect(try talk.take([40]) == ["van: update 2"], "what comes after it is told")
    }

    /// The position may have been erased during the outage, without a message about it.
    @Test func anAcknowledgedPositionIsNotPublishedAgainAfterAnOutage() throws {
        var talk = try self.carrying()
        _ = talk.lose()
        let again = talk.connect(1) + talk.granted() + talk.echoed() + talk.acked()
        #expect(again.contains("subscribe van") && !again.contains { $0.hasPrefix("van: ") }, "\(again)")
        #expect((talk.subscriber("w") + talk.wait(.seconds(2))).filter { $0.hasPrefix("van: ") } == [])
        // The position that the broker did not acknowledge is published.
        _ = try talk.take([40])
        _ = talk.lose()
        let lost = talk.connect(2) + talk.granted()
        #expect(lost.contains("van: update 2"), "\(lost)")
    }

    /// A backlog contains events that are older than the published ones.
    @Test func aLateEventIsPublishedWithinAWeek() throws {
        func event(_ number: Int, at second: Double) -> RecordDraft.Content {
            let kind = TrackingEvent.Kind(rawValue: "VISIT-\(number)")
            return .event(
                TrackingEvent(
                    id: "e\(number)", stream: RecordDraft.unnamed, seq: 1, time: UnixTime(second), kind: kind))
        }
        var talk = try self.carrying()
        talk.now = MonotonicTime(.seconds(1_000_000))
        #expect(try talk.take([event(1, at: 1_000_990)], request: 2).contains("van/event: VISIT-1"))
        #expect(try talk.take([event(2, at: 1_000_000)], request: 3).contains("van/event: VISIT-2"))
        let week = 7.0 * 86_400
        let old = try talk.take([event(3, at: 1_001_001 - week), event(4, at: 1_000_999 - week)], request: 4)
        #expect(old.contains("van/event: VISIT-3") && !old.contains("van/event: VISIT-4"), "\(old)")
        // Hundreds of events at once are all published.
        let many = try talk.take((100..<400).map { event($0, at: 1_000_000 + Double($0)) }, request: 5)
        #expect(many.filter { $0.hasPrefix("van/event: VISIT-") }.count == 300)
    }

    @Test func aRecordFromTheFutureDoesNotSuppressOthers() throws {
        var talk = try self.carrying()
        #expect(try talk.take([9_000]) == ["van/history: batch [2] oldest 2 remaining 0"])
        _ = talk.acked()
        #expect(try talk.take([60]).first == "van: update 3")
    }

    @Test func eventsAndTripsGoToTheirTopics() throws {
        var talk = try self.carrying()
        let event = TrackingEvent(
            id: "e1", stream: RecordDraft.unnamed, seq: 1, time: UnixTime(1050), kind: .init(rawValue: "VISIT"))
        var trip = Trip(id: "t1", mode: "walk", start: UnixTime(1040), stream: RecordDraft.unnamed, seq: 1)
        trip.end = UnixTime(1050)
        trip.state = .ended
        let said = try talk.take([.event(event), .trip(trip)])
        #expect(said.contains("van/event: VISIT"), "\(said)")
        #expect(said.contains("van/trip: ENDED walk record 3"), "\(said)")
        #expect(said.contains("van/history: batch [2,3] oldest 2 remaining 0"), "\(said)")
        trip.end = UnixTime(1045)
        let older = try talk.take([.trip(trip)], request: 9)
        #expect(!older.contains { $0.hasPrefix("van/trip") }, "an older trip is not the last one")
    }

    @Test func aWaitingSenderGetsTheReasonAndNoRecordIsLost() throws {
        var talk = try self.carrying(Self.waitsForKeeper)
        _ = try talk.take([30], within: .seconds(5))
        _ = talk.acked()
        #expect(talk.wait(.seconds(5)).contains("answer notAcknowledged"))
        #expect(try talk.take([30]).isEmpty, "it is known, and waits for the recorder")
        #expect(try talk.acknowledge(2, by: ClientID("keeper")).contains("answer taken 2"))

        _ = talk.lose()
        _ = try talk.take([31], request: 4, within: .seconds(5))
        #expect(talk.wait(.seconds(5)).contains("answer brokerUnreachable"))
        _ = talk.connect(1)
        _ = talk.granted()
        let back = talk.echoed() + talk.acked()
        #expect(back.contains { $0.hasPrefix("van/history: batch [3]") }, "\(back)")
    }

    @Test func aRecordThatCouldNotBeWrittenIsRejectedAndAcceptedTheNextTime() throws {
        var talk = try self.carrying()
        talk.isDiskFull = true
        #expect(try talk.take([30]).contains("answer spoolFailed"))
        talk.isDiskFull = false
        _ = try talk.take([30])
        #expect(talk.acked().contains("answer taken 3"))
    }

    @Test func aRecordThatCouldNotBeWrittenIsNotPublished() throws {
        var talk = try self.carrying()
        let event = TrackingEvent(
            id: "e1", stream: RecordDraft.unnamed, seq: 1, time: UnixTime(1031), kind: .init(rawValue: "VISIT"))
        talk.isDiskFull = true
        let refused = try talk.take([30, 31]) + talk.take([.event(event)], request: 2)
        #expect(refused.filter { $0.hasPrefix("van") && !$0.contains("not logged") } == [])
        talk.isDiskFull = false
        let again = try talk.take([31, 30])
        #expect(again == ["van: update 6 skipped 5"], "and nothing of what was refused rides along: \(again)")
        #expect(talk.acked().contains("answer taken 6,5"))
        #expect(try talk.take([.event(event)]).contains("van/event: VISIT"))
    }

    @Test func whatWasWrittenWhileTheLogWasOpenedAnewIsNotSafeYet() throws {
        var talk = try self.carrying(Self.waitsForKeeper)
        let before = try #require(talk.log.keys.first)
        talk.isDiskBusy = true
        _ = try talk.take([30])
        // Looked up, and on its way to the disk.
        _ = talk.written(1)
        let held = SpoolContents.Trackable(streams: [StoredStream(id: before, last: 1)])
        #expect(talk.happened(.log(try TrackableID("van"), .reopened(held))).contains("answer spoolDamaged"))
        talk.isDiskBusy = false
        _ = talk.written()
        #expect(try !talk.take([30]).contains { $0.hasPrefix("answer") }, "it is known, and waits for the recorder")
        for _ in 0..<3 { _ = talk.echoed() + talk.acked() }
        let safe = try talk.acknowledge(2, by: ClientID("keeper"), of: before)
        #expect(safe.contains("answer taken 2"), "\(safe)")
    }

    @Test func whatHasNoTimeOfItsOwnIsKnownByItsDigest() throws {
        var talk = try self.carrying()
        let digest = try #require(RecordDigest(Array(repeating: 7, count: 16)))
        let drafts = [1031.0, 1032].map { second in
            RecordDraft(
                .event(
                    TrackingEvent(
                        id: "e1", stream: RecordDraft.unnamed, seq: 1, time: UnixTime(second),
                        kind: .init(rawValue: "STATUS"))),
                digest: digest, isKnownByDigest: true)
        }
        let answers = try drafts.flatMap { draft in
            talk.happened(
                .ingest([draft], of: try TrackableID("van"), by: talk.now.advanced(by: .seconds(20)), request: 1))
                + talk.acked()
        }
        #expect(answers.filter { $0 == "answer taken 2" }.count == 2, "\(answers)")
    }

    @Test func leaveIsTakenAfterTheLeaseAndNumbersGoOn() throws {
        var talk = try self.carrying()
        #expect(!talk.wait(.seconds(1190)).contains { $0.hasPrefix("removed") })
        let left = talk.wait(.seconds(10))
        #expect(left.contains("removed van") && left.contains("van/publisher/d1: cleared"), "\(left)")
        _ = try talk.take([500])
        #expect(talk.granted().contains("van: update 2"))
    }

    /// A parked phone that continues to send its position appears alive. The publisher repeats the position only when
    /// the phone sends it again.
    @Test func aStationaryPositionIsRepublishedWhenItArrivesAgain() throws {
        // Every point is too close to the last one.
        let own = try Resolution(accuracy: .balanced, desiredInterval: .seconds(5), minimumDisplacement: 0)
        var talk = try self.carrying {
            $0.ceiling = nil
            $0.defaultResolution = own
        }
        _ = talk.subscriber("w1")
        _ = talk.receive(
            "tracking/van/request/w1",
            #"{"session":"s","resolution":{"accuracy":"LOW","desiredInterval":1000,"minimumDisplacement":9999999}}"#)
        let later = talk.wait(.seconds(2))
        #expect(later.contains("van/resolution: LOW/1000/9999999 ONLINE subscribers 1"))
        #expect(later.contains("van: update 1"), "who came is told")
        _ = talk.acked()
        #expect(try !talk.take([50]).contains { $0.hasPrefix("van: ") })
        _ = talk.acked()
        #expect(!talk.wait(.seconds(60)).contains { $0.hasPrefix("van: ") })
        let said = try talk.take([60])
        #expect(said.contains { $0.hasPrefix("van: update 3") }, "\(said)")
        let inForce = try #require(talk.said["tracking/van/resolution"])
        #expect(try MessageCodec.decodeResolution(inForce[...]).maximumSilence == .zero)
    }

    @Test func aTrackableStaysTrackedWhileRecordsAreNotSafe() throws {
        var talk = try self.carrying(Self.waitsForKeeper)
        _ = try talk.take([30])
        _ = talk.acked()
        #expect(!talk.wait(.seconds(1300)).contains("removed van"))
        _ = try talk.acknowledge(2, by: ClientID("keeper"))
        _ = talk.acked()
        #expect(talk.wait(.seconds(60)).contains("removed van"))
    }

    @Test func whatAnotherPublisherTookOverIsRecordedUntilThatLeaves() throws {
        var talk = try self.carrying(Self.waitsForKeeper)
        _ = talk.receive("tracking/_clients/box", #"{"status":"online","session":"other","connection":0,"lease":90}"#)
        #expect(talk.publisher("box", "other", since: 5_000).contains("van is FAILED (takenOver)"))
        _ = talk.acked()
        let said = try talk.take([30])
        #expect(said.contains { $0.hasPrefix("van/history: batch") } && !said.contains { $0.hasPrefix("van: ") })
        _ = talk.acked()
        _ = try talk.acknowledge(3, by: ClientID("keeper"))
        _ = talk.acked()
        _ = talk.receive("tracking/van/publisher/box", [])
        _ = try talk.take([60])
        _ = talk.granted()
        #expect(talk.echoed().contains { $0.hasPrefix("van/history: batch") })
        #expect(talk.machine.table[try TrackableID("van")]?.failure == nil)
    }

    /// The work for one trackable does not depend on the number of tracked ones.
    @Test(.enabled(if: ProcessorTime.isTelling)) func aRecordOfOneTrackableCostsNothingForHundredsOfOthers() throws {
        func time(beside others: Int) throws -> Duration {
            var talk = try self.carrying()
            for number in 0..<others { _ = talk.happened(.add(Trackable(try TrackableID("car-\(number)")))) }
            _ = talk.granted()
            #expect(talk.machine.table.tracked.count == others + 1 && talk.machine.table.touched.isEmpty)
            // The fastest of several runs counts, because other programs use the processor too.
            return try (1...5).map { round in
                try ProcessorTime.measure { for second in 0..<20 { _ = try talk.take([round * 30 + second]) } }
            }.min() ?? .zero
        }
        let (few, many) = (try time(beside: 20), try time(beside: 400))
        #expect(many < few * 5, "20 takes beside 20: \(few), beside 400: \(many)")
    }
}

extension PublisherConversation {
    /// Ingests points at these seconds after 1000.
    mutating func take(
        _ seconds: [Int], request: UInt64 = 1, within limit: Duration = .seconds(20)
    ) throws -> [String] {
        try self.take(
            seconds.map { second in
                let place = try #require(Coordinate(latitude: Double(second) / 100, longitude: 1))
                return .point(Location(coordinate: place, time: UnixTime(1000 + Double(second))))
            }, request: request, within: limit)
    }

    mutating func take(
        _ contents: [RecordDraft.Content], request: UInt64 = 1, within limit: Duration = .seconds(20)
    ) throws -> [String] {
        let drafts = try contents.map { content in
            var sum = Hasher()
            sum.combine(content)
            let digest = withUnsafeBytes(of: sum.finalize()) { Array($0) }
            return RecordDraft(content, digest: try #require(RecordDigest(digest + digest)))
        }
        return self.happened(
            .ingest(drafts, of: try TrackableID("van"), by: self.now.advanced(by: limit), request: request))
    }

    /// A recorder has everything of the current stream up to `seq`.
    mutating func acknowledge(
        _ seq: UInt64, by recorder: ClientID, of stream: StreamID? = nil
    ) throws -> [String] {
        let stream = try #require(try stream ?? self.machine.table[TrackableID("van")]?.backlog.stream)
        return self.receive(
            "tracking/van/ack/\(recorder)", HistoryCodec.encode(Acknowledgement(streams: [stream: seq])))
    }
}
