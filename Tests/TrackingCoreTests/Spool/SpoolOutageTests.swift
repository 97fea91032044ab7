import Testing
import TrackingCore

/// The machine's decisions while the broker or a recorder is absent.
struct SpoolOutageTests {
    private func bench(_ recorders: [String] = [], window: Duration? = .seconds(20)) throws -> SpoolBench {
        var configuration = SpoolStateMachine.Configuration()
        (configuration.batchSize, configuration.batchWindow) = (10, window)
        configuration.recorders = Set(try recorders.map { try ClientID($0) })
        return SpoolBench(configuration)
    }

    /// A bench whose broker has accepted 50 records.
    private func taken(_ recorders: String...) throws -> SpoolBench {
        var bench = try self.bench(recorders)
        bench.append(1...50)
        bench.open()
        for _ in 0..<5 { bench.answer() }
        #expect(bench.batches.count == 5 && bench.machine.queued == 50)
        return bench
    }

    /// Advances the clock by minutes, while the broker answers at once.
    private func wait(_ minutes: Int, _ bench: inout SpoolBench, _ each: (inout SpoolBench) throws -> Void = { _ in })
        throws
    {
        for _ in 0..<minutes {
            bench.wait(.seconds(60))
            bench.answer()
            try each(&bench)
        }
    }

    // MARK: - A recorder is away

    @Test func aSilentRecorderIsSentOneBatchWithBackoff() throws {
        var bench = try self.taken("a")
        try self.wait(24 * 60, &bench)
        let probes = bench.sent.dropFirst(5)
        #expect(probes.allSatisfy { $0 == Array(1...10) })
        #expect((24...60).contains(probes.count), "\(probes.count)")
        let wait = bench.now.duration(to: try #require(bench.machine.nextDeadline))
        #expect(wait <= .seconds(3600))
    }

    @Test func recordsAppendedDuringTheSilenceAreSentOnce() throws {
        var bench = try self.taken("a")
        var next: UInt64 = 51
        try self.wait(600, &bench) { bench in
            bench.append(next...next)
            next += 1
        }
        let sends = bench.sent.joined().filter { $0 > 10 }
        #expect(sends.count == Set(sends).count)
    }

    /// The recorder lost the batches that were on their way to it.
    @Test func aRecorderThatAnswersIsSentEverything() throws {
        var bench = try self.taken("a")
        try self.wait(600, &bench)
        let count = bench.batches.count
        try bench.acknowledge("a", 0)
        bench.wait(.seconds(29))
        bench.answer()
        #expect(bench.batches.count == count)
        bench.wait(.seconds(1))
        for _ in 0..<6 { bench.answer() }
        #expect(bench.sent[count...].flatMap { $0 } == Array(1...50))
    }

    @Test func nothingIsSentAgainWhileARecorderCatchesUp() throws {
        var bench = try self.taken("a")
        try self.wait(600, &bench)
        let count = bench.batches.count
        for seq in stride(from: UInt64(5), through: 50, by: 5) {
            try bench.acknowledge("a", seq)
            bench.wait(.seconds(20))
            bench.answer()
        }
        #expect(bench.batches.count == count && bench.machine.isDrained)
    }

    /// A device that connects again receives the retained acknowledgement of a recorder that is absent now.
    @Test func aRetainedAcknowledgementShowsNoLife() throws {
        var bench = try self.taken("a")
        let acknowledgement = Acknowledgement(streams: [bench.current: 0])
        let recorder = try ClientID("a")
        try self.wait(600, &bench) { bench in
            bench.perform(bench.machine.acknowledged(by: recorder, acknowledgement, isRetained: true, now: bench.now))
        }
        #expect(bench.sent.dropFirst(5).allSatisfy { $0 == Array(1...10) })
    }

    @Test func anotherRecordersAnswersDoNotCountForAnAbsentOne() throws {
        var bench = try self.taken("a", "b")
        try bench.acknowledge("a", 50)
        try self.wait(600, &bench) { try $0.acknowledge("a", 50) }
        #expect(bench.sent.dropFirst(5).allSatisfy { $0 == Array(1...10) })
        #expect(bench.batches.count < 30)
    }

    @Test func nothingIsSentWithoutAConnection() throws {
        var bench = try self.taken("a")
        bench.close()
        bench.wait(.seconds(86_400))
        #expect(bench.machine.unsent == 0)
        bench.open()
        bench.wait(.seconds(1))
        #expect(bench.sent.last == Array(1...10) && bench.batches.count == 6)
    }

    // MARK: - The order behind a silent recorder

    @Test func aRepeatedBatchHasTheSameIdentifierAndRecords() throws {
        var bench = try self.bench(["a"])
        bench.open()
        bench.append(1...3)
        bench.wait(.seconds(20))
        bench.answer()
        bench.wait(.seconds(25))
        bench.append(4...6)
        bench.wait(.seconds(5))
        #expect(bench.sent == [[1, 2, 3], [1, 2, 3]])
        #expect(bench.batches[1].id == bench.batches[0].id)
    }

    @Test func noNewerRecordPassesABatchThatASilentRecorderLacks() throws {
        var bench = try self.taken("a")
        let first = try #require(bench.batches.first)
        bench.wait(.seconds(30))
        bench.append(51...75)
        bench.answer()
        for _ in 0..<60 {
            bench.wait(.seconds(60))
            bench.answer()
        }
        let repeats = bench.batches.dropFirst(5)
        #expect(repeats.count > 1 && repeats.allSatisfy { $0.id == first.id && $0.records == first.records })
        // The recorder was absent, and has all batches in its session.
        try bench.acknowledge("a", 50)
        #expect(bench.sent.last == Array(51...60))
    }

    /// The recorder lost everything. The missing batches come in their order with their identifiers, followed by new
    /// ones.
    @Test func aReturningRecorderIsSentTheSameBatches() throws {
        var bench = try self.taken("a")
        let before = bench.batches
        bench.wait(.seconds(30))
        bench.answer()
        bench.append(51...70)
        try bench.acknowledge("a", 0)
        bench.wait(.seconds(30))
        let count = bench.batches.count
        for _ in 0..<8 { bench.answer() }
        let after = bench.batches[(count - 1)...]
        #expect(after.prefix(5).map(\.id) == before.map(\.id))
        #expect(after.flatMap { $0.records.map(\.seq) } == Array(1...70))
    }

    @Test func recordsOfLiveUpdatesAreSentAgainUnderOneIdentifier() throws {
        var bench = try self.bench(["a"])
        bench.open()
        bench.append(1...3)
        for seq in UInt64(1)...3 {
            bench.machine.sentLive(SeqSet([seq...seq]))
            bench.perform(bench.machine.takenLive(SeqSet([seq...seq]), now: bench.now))
        }
        try self.wait(10, &bench)
        #expect(bench.batches.count > 2 && Set(bench.batches.map(\.id)).count == 1)
        #expect(bench.sent.allSatisfy { $0 == [1, 2, 3] })
    }

    @Test func anUnacknowledgedOlderStreamBlocksTheYounger() throws {
        let old = try #require(StreamID("old"))
        var configuration = SpoolStateMachine.Configuration()
        (configuration.batchSize, configuration.recorders) = (10, [try ClientID("a")])
        var bench = SpoolBench(configuration, old: [StoredStream(id: old, stored: SeqSet([1...5]), last: 5)])
        bench.open()
        bench.answer()
        bench.wait(.seconds(30))
        bench.append(1...10)
        bench.answer()
        bench.wait(.seconds(600))
        #expect(bench.batches.allSatisfy { $0.stream == old })
        try bench.acknowledge("a", 5, of: old)
        bench.answer()
        #expect(bench.batches.contains { $0.stream == bench.current })
    }

    @Test func sendNowSendsTheOldestBatchAgain() throws {
        var bench = try self.taken("a")
        bench.wait(.seconds(30))
        bench.answer()
        bench.append(51...52)
        let count = bench.batches.count
        bench.perform(bench.machine.sendNow(now: bench.now))
        #expect(bench.batches.count == count + 1 && bench.batches.last?.id == bench.batches.first?.id)
    }

    /// At the end of a program, records that are not sent may be lost with it.
    @Test func aFlushSendsNewRecordsBehindTheOthers() throws {
        var bench = try self.taken("a")
        bench.wait(.seconds(30))
        bench.answer()
        bench.append(51...60)
        let count = bench.batches.count
        bench.perform(bench.machine.flush(now: bench.now))
        for _ in 0..<8 { bench.answer() }
        #expect(bench.sent[count...].flatMap { $0 } == Array(1...60))
    }

    // MARK: - Loss

    private func drop(_ range: ClosedRange<UInt64>, _ bench: inout SpoolBench) {
        for seq in range { bench.disk[bench.current]?[seq] = nil }
        bench.perform(bench.machine.dropped(SeqSet([range]), of: bench.current, now: bench.now))
    }

    /// The event that reports the loss occupies a place itself.
    @Test func eachOutageThatLosesRecordsIsReported() throws {
        var bench = try self.bench()
        bench.append(1...10)
        self.drop(1...3, &bench)
        bench.open()
        #expect(bench.reportedDropped == [3])
        bench.append(11...11)
        self.drop(4...4, &bench)
        bench.perform(bench.machine.flush(now: bench.now))
        for _ in 0..<4 { bench.answer() }
        #expect(bench.machine.isDrained && bench.reportedDropped == [3, 1], "the first event cost one record")
        bench.close()
        bench.append(12...20)
        self.drop(12...13, &bench)
        #expect(bench.reportedDropped == [3, 1])
        bench.open()
        #expect(bench.reportedDropped == [3, 1, 2])
        bench.close()
        self.drop(14...14, &bench)
        bench.open()
        #expect(bench.reportedDropped == [3, 1, 2, 1], "though nothing of the last outage was sent")
    }

    /// In a full log, each report costs a record. A connection that is lost at once does not add a report.
    @Test func recordsDroppedAfterTheReportAreReportedWhenAllIsSent() throws {
        var bench = try self.bench()
        bench.append(1...10)
        self.drop(1...3, &bench)
        bench.open()
        self.drop(4...4, &bench)
        for _ in 0..<3 {
            bench.close()
            bench.open()
        }
        #expect(bench.reportedDropped == [3])
        bench.perform(bench.machine.flush(now: bench.now))
        for _ in 0..<4 { bench.answer() }
        #expect(bench.machine.isDrained && bench.reportedDropped == [3, 1])
        bench.append(11...12)
        bench.perform(bench.machine.flush(now: bench.now))
        bench.answer()
        #expect(bench.machine.isDrained && bench.reportedDropped == [3, 1], "all is reported")
    }

    @Test func onAnOpenConnectionALossIsReportedOnceUntilEverythingIsSent() throws {
        var bench = try self.bench()
        bench.open()
        bench.append(1...10)
        self.drop(1...1, &bench)
        self.drop(2...2, &bench)
        #expect(bench.reportedDropped == [1])
        bench.answer()
        #expect(bench.reportedDropped == [1, 1])
        bench.append(11...11)  // the event of the report
        bench.perform(bench.machine.flush(now: bench.now))
        bench.answer()
        bench.append(12...13)
        self.drop(12...12, &bench)
        #expect(bench.reportedDropped == [1, 1, 1])
    }

    // MARK: - Requests

    @Test func aRequestForForgottenRecordsRequestsNothingElse() throws {
        var bench = try self.bench(window: nil)
        bench.append(1...3)
        bench.perform(bench.machine.sendNow(now: bench.now))
        for seq in UInt64(1)...3 { bench.disk[bench.current]?[seq] = nil }
        bench.perform(bench.machine.cleared(SeqSet([1...3]), of: bench.current, now: bench.now))
        bench.open()
        bench.answer()
        bench.append(4...4)
        bench.wait(.seconds(60))
        #expect(bench.sent == [[]], "that they are gone, and nothing that was not asked for")
    }
}
