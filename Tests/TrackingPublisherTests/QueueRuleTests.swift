import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for the queue rules of Overland, NextBillion.ai and Ably Asset Tracking, each named after its rule. Godwit
/// follows a rule, or improves it if it harmed users (docs/how-to/migrate-from-overland.md,
/// docs/how-to/migrate-from-nextbillion.md, docs/how-to/migrate-from-ably.md).
struct QueueRuleTests {
    /// ONLINE at second 0 with nothing left in the log; a batch has five records, the window is 20 s.
    private static func online(
        _ configure: (inout PublisherConfiguration) -> Void = { _ in }
    ) throws -> PublisherConversation {
        var talk = try PublisherConversation([try PublisherConversation.van()]) {
            $0.recording.batchSize = 5
            configure(&$0)
        }
        _ = try talk.fix(at: 0)
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.echoed()
        _ = talk.acked()
        return talk
    }

    /// So many points that are too soon for an update of their own: they are left to the queue. What went out
    /// meanwhile.
    private static func record(_ count: Int, _ talk: inout PublisherConversation) throws -> [String] {
        let start = talk.now.sinceOrigin / .seconds(1)
        return try (0..<count).flatMap { self.batches(try talk.fix(at: start + 0.1 + Double($0) * 0.01)) }
    }

    private static func batches(_ said: [String]) -> [String] { said.filter { $0.hasPrefix("van/history: ") } }

    /// The numbers of the records in the log.
    private static func queue(_ talk: PublisherConversation) -> [UInt64] { talk.log.values.flatMap(\.keys).sorted() }

    /// The last batch that was sent.
    private static func lastBatch(_ talk: PublisherConversation) throws -> HistoryBatch {
        try HistoryCodec.decode(try #require(talk.said["tracking/van/history"])).batch
    }

    /// The connection is lost and made again.
    private static func reconnect(_ talk: inout PublisherConversation, _ connection: Int) -> [String] {
        _ = talk.lose()
        return talk.connect(connection) + talk.granted() + talk.echoed()
    }

    // MARK: - Overland

    @Test func overlandABatchIsTheOldestOfTheQueueWhateverItIs() throws {
        var talk = try Self.online()
        _ = try Self.record(2, &talk)
        _ = talk.happened(.trip(try TrackableID("van"), try TripMode("bicycle"), request: 1))  // a trip and an event
        #expect(try Self.record(1, &talk) == ["van/history: batch [2,3,4,5,6] oldest 2 remaining 0"])
        let batch = try Self.lastBatch(talk)
        #expect(batch.records.map(\.kind) == [.point, .point, .trip, .event, .point])
    }

    @Test func overlandAPointHasTheNumberOfPointsInItsBatch() throws {
        let stats = TrackingStats(
            pauses: false, activity: .other, desiredAccuracy: .best, deferral: nil, significantChange: .off)
        func counts(_ batch: HistoryBatch) throws -> [Double?] {
            try batch.records.map { record in
                let extra = try LocationCodec.decodeFeature(record.payload).extra
                return try extra.map { try JSONValue(json: $0) }?["locations_in_payload"]?.number
            }
        }
        var configuration = CaptureStateMachine.Configuration()
        configuration.stats = stats
        let capture = try CaptureStateMachine(
            filter: CaptureFilter(), zones: PrivacyZones([]), configuration: configuration)
        var talk = try Self.online { $0.capture = capture }
        #expect(try Self.record(5, &talk) == ["van/history: batch [2,3,4,5,6] oldest 2 remaining 0"])
        #expect(try counts(Self.lastBatch(talk)) == [5, 5, 5, 5, 5])
        _ = talk.acked()
        #expect(try Self.record(2, &talk) == [])
        _ = talk.wait(.seconds(20))
        #expect(try counts(Self.lastBatch(talk)) == [2, 2])
        // Without statistics, a source's number of the same name is unchanged.
        var plain = try Self.online()
        _ = try Self.record(5, &plain)
        #expect(try counts(Self.lastBatch(plain)) == [nil, nil, nil, nil, nil])
    }

    @Test func overlandTheSendIntervalSendsWhatWaits() throws {
        var talk = try Self.online()
        #expect(try Self.record(3, &talk) == [])
        // There it takes another point; here time is enough.
        #expect(Self.batches(talk.wait(.seconds(19))) == [])
        #expect(Self.batches(talk.wait(.seconds(1))) == ["van/history: batch [2,3,4] oldest 2 remaining 0"])
    }

    @Test func overlandAFreshInstallationSendsByItself() throws {
        var talk = try PublisherConversation([try PublisherConversation.van()])
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.echoed()
        _ = talk.happened(.recordEvent(.sourceLost, [:]))
        #expect(Self.batches(talk.wait(.seconds(20))) == ["van/history: batch [1] oldest 1 remaining 0"])
    }

    @Test func overlandAnIntervalThatIsOffSendsOnlyWhenAsked() throws {
        var talk = try Self.online { $0.recording.batchWindow = nil }
        _ = try Self.record(12, &talk)
        // There the start and the end of a trip send all the same.
        let said =
            talk.happened(.trip(try TrackableID("van"), try TripMode("walk"), request: 1))
            + talk.happened(.trip(try TrackableID("van"), nil, request: 2)) + talk.wait(.seconds(3600)) + talk.acked()
        #expect(Self.batches(said) == [])
        let asked = Self.batches(talk.happened(.sendRecords(all: false)))
        #expect(asked.count == 1 && asked[0].hasPrefix("van/history: batch [1,2,3,4,5] "))
    }

    @Test func overlandSendNowSendsOneBatch() throws {
        var talk = try Self.online()
        _ = try Self.record(3, &talk)
        #expect(
            Self.batches(talk.happened(.sendRecords(all: false))) == ["van/history: batch [2,3,4] oldest 2 remaining 0"]
        )
        #expect(Self.batches(talk.acked()) == [])
    }

    @Test func overlandSendNowDoesNotDoubleABatchOnItsWay() throws {
        var talk = try Self.online()
        #expect(try Self.record(7, &talk).count == 1)
        #expect(Self.batches(talk.happened(.sendRecords(all: false))) == [])
    }

    @Test func overlandAQueueOfABatchOrMoreGoesOnAtOnce() throws {
        var talk = try Self.online()
        _ = try Self.record(12, &talk)
        #expect(Self.batches(talk.acked()) == ["van/history: batch [7,8,9,10,11] oldest 7 remaining 2"])
    }

    @Test func overlandAQueueOfLessThanABatchWaitsForTheInterval() throws {
        var talk = try Self.online()
        _ = try Self.record(7, &talk)
        #expect(Self.batches(talk.acked()) == [])
        #expect(Self.batches(talk.wait(.seconds(20))) == ["van/history: batch [7,8] oldest 7 remaining 0"])
    }

    @Test func overlandPointsStayInTheQueueUntilTheirBatchIsAcknowledged() throws {
        var talk = try Self.online()
        _ = try Self.record(7, &talk)
        #expect(Self.queue(talk) == Array(2...8))
        _ = talk.acked()
        #expect(Self.queue(talk) == [7, 8])
    }

    @Test func overlandAFailedBatchIsKeptAndGoesFirst() throws {
        var talk = try Self.online()
        _ = try Self.record(5, &talk)
        let first = try Self.lastBatch(talk)
        _ = try Self.record(5, &talk)
        // An empty one first: is the connection good for it?
        #expect(Self.batches(Self.reconnect(&talk, 1)) == ["van/history: batch [] oldest 2 remaining 10"])
        #expect(Self.batches(talk.acked()) == ["van/history: batch [2,3,4,5,6] oldest 2 remaining 5"])
        #expect(try Self.lastBatch(talk).id == first.id)
        #expect(try Self.lastBatch(talk).records == first.records)
    }

    @Test func overlandTwoPointsOfOneSecondAreTwoPoints() throws {
        var talk = try Self.online()
        for _ in 0..<4 { _ = try talk.fix(at: 1) }  // there the last one replaces the others
        #expect(Self.queue(talk) == [2, 3, 4, 5])
        #expect(try Self.batches(talk.fix(at: 1)) == ["van/history: batch [2,3,4,5,6] oldest 2 remaining 0"])
    }

    // MARK: - NextBillion.ai

    @Test func nextBillionR1TheOldestGoFirst() throws {
        var talk = try Self.online()
        _ = try Self.record(12, &talk)
        _ = talk.acked()
        _ = talk.acked()
        _ = talk.wait(.seconds(20))
        #expect(Self.queue(talk) == [12, 13])
        #expect(try Self.lastBatch(talk).records.map(\.seq) == [12, 13])
    }

    @Test(arguments: [1, 4, 5, 6, 11])
    func nextBillionR2AnUploadContainsABatchOrAllPendingRecords(count: Int) throws {
        var talk = try Self.online()
        let early = try Self.record(count, &talk)
        _ = early.isEmpty ? talk.wait(.seconds(20)) : []
        #expect(try Self.lastBatch(talk).records.count == min(5, count))
    }

    @Test func nextBillionR3LessThanABatchGoesInOneCall() throws {
        var talk = try Self.online()
        _ = try Self.record(4, &talk)
        #expect(Self.batches(talk.wait(.seconds(60))) == ["van/history: batch [2,3,4,5] oldest 2 remaining 0"])
    }

    @Test func nextBillionR4OnlyWhatArrivedIsRemoved() throws {
        var talk = try Self.online()
        _ = try Self.record(5, &talk)
        _ = talk.acked(refusing: ["tracking/van/history"])
        #expect(Self.queue(talk) == Array(2...6))
        _ = Self.reconnect(&talk, 1)
        #expect(Self.queue(talk) == Array(2...6))
        _ = talk.acked()  // the empty one
        _ = talk.acked()
        #expect(Self.queue(talk) == [])
    }

    @Test func nextBillionR5WhatFailedGoesFirst() throws {
        var talk = try Self.online()
        _ = try Self.record(5, &talk)
        let failed = try Self.lastBatch(talk)
        _ = talk.acked(refusing: ["tracking/van/history"])
        _ = try Self.record(20, &talk)
        let again = Self.batches(talk.wait(.seconds(2))) + Self.batches(talk.acked())
        #expect(again.count == 2 && again[0].hasPrefix("van/history: batch [] "))
        #expect(try Self.lastBatch(talk).id == failed.id)
        #expect(try Self.lastBatch(talk).records == failed.records)
    }

    @Test(arguments: CollisionRule.allCases)
    func nextBillionR6ACollisionClearsOrKeepsWhatIsUnsent(rule: CollisionRule) throws {
        var talk = try Self.online { $0.onCollision = rule }
        _ = try Self.record(3, &talk)
        let said = talk.publisher("d2", "theirs", since: 5000)
        #expect(said.contains("van is FAILED (takenOver)"))
        switch rule {
        case .clear: #expect(!Self.queue(talk).contains { (2...4).contains($0) })
        case .keep:
            #expect(Self.queue(talk).starts(with: [2, 3, 4]))
            // They still drain on the recording lane.
            _ = talk.wait(.seconds(20))
            #expect(try Self.lastBatch(talk).records.map(\.seq).starts(with: [2, 3, 4]))
        }
    }

    @Test func nextBillionR7ItRunsByItself() throws {
        var talk = try Self.online()
        var said: [String] = []
        for second in 1...9 {
            talk.now = MonotonicTime(.seconds(second))
            said += try talk.fix(at: Double(second)) + talk.acked()
        }
        said += talk.wait(.seconds(20)) + talk.acked()
        #expect(Self.batches(said).count == 2)  // five at once, four after the window
        #expect(Self.queue(talk) == [])
    }

    @Test func nextBillionR8TheQueueOutlivesTheProgram() async throws {
        let van = try TrackableID("van")
        let stream = try #require(StreamID("old"))
        let log = InMemorySpool()
        _ = try await log.open(now: UnixTime(0))
        let record = SpoolRecord(seq: 1, time: UnixTime(1000), kind: .point, payload: Array("{}".utf8))
        try await log.append([SpoolEntry(record, of: van, in: stream)])
        try await log.close()
        // The next run finds what the one before left; that a file keeps it through kills is RecordingDrillTests'
        // matter.
        let contents = try await log.open(now: UnixTime(1))
        let configuration = PublisherConfiguration(
            client: try ClientID("d1"), session: try #require(SessionID("second")))
        var machine = PublisherStateMachine(
            configuration: configuration, policy: DefaultResolutionPolicy(), logs: contents.trackables, seed: 1)
        let moment = Moment(now: MonotonicTime(.zero), wall: UnixTime(1000))
        _ = machine.happened(.add(Trackable(van)), at: moment)
        #expect(machine.table[van]?.backlog.spool.unsent == 1)
    }

    // MARK: - Ably Asset Tracking

    @Test func ablyWhatIsNotSentRidesAlongAsSkippedLocations() throws {
        var talk = try Self.online { $0.recording.batchSize = 200 }
        _ = try Self.record(4, &talk)
        #expect(try talk.fix(at: 15).last == "van: update 6 skipped 2,3,4,5")
        _ = talk.acked()
        #expect(Self.queue(talk) == [])  // and is not sent again
    }

    @Test func ablyAnUpdateThatFailedRidesAlongWithTheNext() throws {
        var talk = try Self.online { $0.recording.batchSize = 200 }
        _ = try talk.fix(at: 15)
        _ = talk.lose()
        _ = try talk.fix(at: 30)
        let said = talk.connect(1) + talk.granted() + talk.echoed()
        #expect(said.contains("van: update 3 skipped 2"))
    }

    @Test func ablyOneUpdateIsOnItsWayAndTheNewestWaits() throws {
        var talk = try Self.online { $0.recording.batchSize = 200 }
        #expect(try talk.fix(at: 15).last == "van: update 2")
        #expect(!(try talk.fix(at: 30) + talk.fix(at: 45)).contains { $0.hasPrefix("van: ") })
        #expect(talk.acked().contains("van: update 4 skipped 3"))
    }

    @Test func ablyTheNewestPositionIsTheFirstAfterAnOutage() throws {
        var talk = try Self.online()
        _ = talk.lose()
        for second in 1...100 {
            talk.now = MonotonicTime(.seconds(second * 10))
            _ = try talk.fix(at: Double(second * 10))
        }
        let said = (talk.connect(1) + talk.granted() + talk.echoed()).filter {
            $0.hasPrefix("van: ") || $0.hasPrefix("van/h")
        }
        #expect(said.first?.hasPrefix("van: update 101 ") == true)
        #expect(said.dropFirst().first?.hasPrefix("van/history: batch [2,3,4,5,6] ") == true)
    }
}
