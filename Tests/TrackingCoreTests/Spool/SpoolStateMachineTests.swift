import TestSupport
import Testing
import TrackingCore

/// The machine's decisions, one rule for each test.
struct SpoolStateMachineTests {
    private func configuration(
        size: Int = 10, window: Duration? = .seconds(20), recorders: [String] = []
    ) throws -> SpoolStateMachine.Configuration {
        var configuration = SpoolStateMachine.Configuration()
        configuration.batchSize = size
        configuration.batchWindow = window
        configuration.recorders = Set(try recorders.map { try ClientID($0) })
        return configuration
    }

    // MARK: - The time of a batch

    @Test func fullBatchesAreSentAtOnceAndInSequence() throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...25)
        #expect(bench.batches.isEmpty)  // no connection
        bench.open()
        #expect(bench.sent == [Array(1...10)])
        bench.answer()
        bench.answer()
        #expect(bench.sent == [Array(1...10), Array(11...20)])
        #expect(bench.machine.queued == 5)
    }

    @Test func theNextBatchIsReadWhileOneIsInFlight() throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...30)
        bench.open()
        #expect(bench.sent == [Array(1...10)])
        #expect(bench.machine.answered(nil, now: bench.now).contains { if case .publish = $0 { true } else { false } })
    }

    @Test func severalBatchesAreReadTogetherWhereThereIsMemory() throws {
        var bench = SpoolBench(try self.configuration())
        bench.machine.batchesAhead = 8
        bench.append(1...155)
        bench.open()
        #expect(bench.asked == [10, 40])
        bench.answer()
        #expect(bench.asked == [10, 40, 40], "before what was read comes to an end")
        for _ in 0..<13 { bench.answer() }
        #expect(bench.asked == [10, 40, 40, 40, 20], "full batches alone")
        #expect(bench.sent == stride(from: UInt64(1), through: 141, by: 10).map { Array($0...($0 + 9)) })
        bench.answer()
        #expect(bench.machine.queued == 5)
    }

    /// Records that were read ahead would be sent by themselves if they arrived after the answer.
    @Test func nothingIsReadAheadWithoutAWindow() throws {
        var bench = SpoolBench(try self.configuration(window: nil))
        bench.append(1...50)
        bench.open()
        for count in 1...3 {
            bench.perform(bench.machine.sendNow(now: bench.now))
            bench.answer()
            #expect(bench.asked.count == count && bench.sent.count == count)
        }
        bench.perform(bench.machine.flush(now: bench.now))
        for _ in 0..<5 { bench.answer() }
        #expect(bench.sent.count == 5 && bench.asked == [10, 10, 10, 10, 10], "all of it may go")
    }

    @Test func recordsReadBeforeADeferralWaitForARelease() throws {
        var bench = SpoolBench(try self.configuration())
        bench.open()
        for seq in UInt64(1)...20 { bench.disk[bench.current, default: [:]][seq] = SpoolBench.record(seq) }
        let asked = bench.machine.appended(SeqSet([1...20]), of: bench.current, now: bench.now)
        guard case .read(let query)? = asked.first else { throw CancellationError() }
        bench.machine.held()
        let records = SpoolRecords((1...10).map { SpoolBench.record($0) })
        bench.perform(bench.machine.loaded(records, missing: SeqSet(), by: query.number, now: bench.now))
        #expect(bench.sent == [])
        bench.perform(bench.machine.sendNow(now: bench.now))
        bench.answer()
        #expect(bench.sent == [Array(1...10)])
    }

    /// The position before these records is accepted by the broker before their write completes.
    @Test func recordsReleasedDuringTheirWriteAreSentAtOnce() throws {
        var bench = SpoolBench(try self.configuration())
        bench.open()
        bench.machine.held()
        bench.append(1...1)
        bench.machine.sentLive(SeqSet([1...1]))
        bench.perform(bench.machine.released(through: 3, now: bench.now))
        bench.perform(bench.machine.takenLive(SeqSet([1...1]), now: bench.now))
        bench.machine.held()
        bench.append(2...4)
        bench.answer()
        #expect(bench.sent.first == [2, 3, 4])
        bench.append(5...6)
        bench.wait(.seconds(300))
        #expect(bench.sent.count == 1, "what comes after it is held")
    }

    @Test func aRequestDuringAReadingSendsOneBatch() throws {
        var bench = SpoolBench(try self.configuration())
        bench.open()
        bench.append(1...3)
        guard case .read(let query)? = bench.machine.sendNow(now: bench.now).first else { throw CancellationError() }
        #expect(bench.machine.sendNow(now: bench.now) == [])
        bench.machine.held()
        let records = SpoolRecords((1...3).map { SpoolBench.record($0) })
        bench.perform(bench.machine.loaded(records, missing: SeqSet(), by: query.number, now: bench.now))
        bench.append(4...6)
        bench.answer()
        #expect(bench.sent == [[1, 2, 3]])
    }

    @Test func oneBatchIsReadAheadWhereManyShareTheMemory() throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...50)
        bench.open()
        for _ in 0..<5 { bench.answer() }
        #expect(bench.asked == [10, 10, 10, 10, 10])
        #expect(bench.machine.queued == 0)
    }

    /// A record that does not fit into the byte limit of a batch is in the next batch.
    @Test func batchesOfSeveralReadingsKeepToTheirBytes() throws {
        var configuration = try self.configuration()
        configuration.batchBytes = 21
        var bench = SpoolBench(configuration)
        bench.machine.batchesAhead = 8
        bench.append(100...160)
        bench.open()
        for _ in 0..<9 { bench.answer() }
        #expect(bench.sent.flatMap { $0 } == Array(100...160).prefix(bench.sent.joined().count).map { $0 })
        #expect(bench.sent.allSatisfy { $0.count <= 7 })
        #expect(bench.machine.queued < 10)
    }

    @Test func recordsReadAheadAreDiscardedWithoutAConnection() throws {
        var bench = SpoolBench(try self.configuration())
        bench.machine.batchesAhead = 8
        bench.append(1...100)
        bench.open()
        bench.close()
        bench.open()
        bench.answer()
        bench.answer()
        #expect(bench.sent == [Array(1...10), [], Array(1...10), Array(11...20)], "an empty one asks first")
        #expect(bench.asked == [10, 40, 40, 40])
    }

    @Test func recordsAcknowledgedAfterReadingAreNotSent() throws {
        var bench = SpoolBench(try self.configuration())
        bench.machine.batchesAhead = 4
        bench.append(1...30)
        bench.open()
        bench.machine.sentLive(SeqSet([12...13]))
        bench.perform(bench.machine.takenLive(SeqSet([12...13]), now: bench.now))
        bench.answer()
        #expect(bench.sent == [Array(1...10), [11] + Array(14...22)])
    }

    @Test func recordsReadAheadAreReadAgainBehindOlderOnes() throws {
        var configuration = try self.configuration()
        configuration.recorders = [try ClientID("keeper")]
        var bench = SpoolBench(configuration)
        bench.append(1...40)
        bench.open()
        bench.answer()
        try bench.acknowledge("keeper", 5)
        try bench.acknowledge("keeper", 3)  // believed: 6 to 10 go again
        bench.answer()
        #expect(bench.sent.last == Array(6...10), "by themselves")
        #expect(bench.batches.last?.id == bench.batches.first?.id)
    }

    /// A trackable was removed and added again while its log was read.
    @Test func theAnswerToAnEarlierLifesQueryChangesNothing() throws {
        let now = MonotonicTime(.zero)
        func machine(_ name: String, seed: UInt64) throws -> (machine: SpoolStateMachine, query: RecordQuery) {
            let held = StoredStream(id: try #require(StreamID(name)), stored: SeqSet([1...3]), last: 3)
            var machine = SpoolStateMachine(
                configuration: .init(), streams: [held], current: try #require(StreamID("current")), seed: seed,
                now: now)
            guard case .read(let query)? = machine.opened(now: now).first else { throw CancellationError() }
            return (machine, query)
        }
        let earlier = try machine("old", seed: 1).query
        var (machine, query) = try machine("other", seed: 2)
        #expect(machine.loaded([], missing: earlier.seqs, by: earlier.number, now: now) == [])
        #expect(machine.readFailed(earlier.number, now: now) == [])
        #expect(machine.queued == 3)
        let records = SpoolRecords((1...3).map { SpoolBench.record($0) })
        guard case .publish(let batch)? = machine.loaded(records, missing: SeqSet(), by: query.number, now: now).first
        else { return #expect(Bool(false), "the answer to its own query is taken") }
        #expect(batch.stream == query.stream && batch.records.count == 3)
    }

    @Test func aSmallBatchIsSentAfterTheWindow() throws {
        var bench = SpoolBench(try self.configuration())
        bench.open()
        bench.append(1...3)
        bench.wait(.seconds(19))
        #expect(bench.batches.isEmpty)
        bench.append(4...5)
        bench.wait(.seconds(1))
        #expect(bench.sent == [Array(1...5)])  // one batch, without a further append
    }

    @Test func theWindowBeginsAnewAfterEachSmallBatch() throws {
        var bench = SpoolBench(try self.configuration())
        bench.open()
        bench.append(1...3)
        bench.wait(.seconds(20))
        bench.append(4...4)
        bench.answer()
        bench.wait(.seconds(19))
        #expect(bench.batches.count == 1)
        bench.wait(.seconds(1))
        #expect(bench.sent.last == [4])
    }

    @Test func withoutAWindowRecordsAreOnlyQueued() throws {
        var bench = SpoolBench(try self.configuration(window: nil))
        bench.open()
        bench.append(1...25)
        bench.wait(.seconds(1000))
        #expect(bench.batches.isEmpty)
        bench.perform(bench.machine.sendNow(now: bench.now))
        bench.answer()
        #expect(bench.sent == [Array(1...10)])
        bench.perform(bench.machine.flush(now: bench.now))
        bench.append(26...26)  // records after a flush wait for the next one
        bench.answer()
        bench.answer()
        #expect(bench.sent == [Array(1...10), Array(11...20), Array(21...26)])
        bench.append(27...27)
        #expect(bench.sent.count == 3)
    }

    @Test func sendNowJoinsTheBatchInFlight() throws {
        var bench = SpoolBench(try self.configuration())
        bench.open()
        bench.append(1...10)
        bench.append(11...12)
        bench.perform(bench.machine.sendNow(now: bench.now))
        bench.answer()
        #expect(bench.sent == [Array(1...10)])
    }

    @Test func olderStreamsDrainFirstUnderTheirOwnNamesAndAreEnded() throws {
        let old = StreamID("old")!
        var bench = SpoolBench(try self.configuration(), old: [StoredStream(id: old, stored: SeqSet([3...5]), last: 7)])
        bench.append(1...10)
        bench.open()
        #expect(bench.batches.map(\.stream) == [old])
        let batch = try #require(bench.batches.first)
        #expect(batch.oldest == 3 && batch.end == 7 && batch.records.map(\.seq) == [3, 4, 5])
        bench.answer()
        #expect(bench.forgotten == [old])
        #expect(bench.batches.last?.stream == bench.current)
        #expect(bench.batches.last?.end == nil)
    }

    // MARK: - Declarations

    @Test func missingRecordsAreDeclaredGone() throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...4)
        bench.machine.appendFailed(SeqSet([5...6]))
        bench.append(7...12)
        bench.damaged = [2]
        bench.open()
        let batch = try #require(bench.batches.first)
        #expect(batch.oldest == 1)
        #expect(batch.gone == [2...2, 5...6])
        #expect(batch.records.map(\.seq) == [1, 3, 4] + Array(7...12))
    }

    @Test func droppedRecordsRaiseTheOldestAndAreReportedOnceAnOutage() throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...30)
        for seq in UInt64(1)...5 {
            bench.disk[bench.current]?[seq] = nil
            bench.perform(bench.machine.dropped(SeqSet([seq...seq]), of: bench.current, now: bench.now))
        }
        #expect(bench.reportedDropped.isEmpty)
        bench.open()
        #expect(bench.reportedDropped == [5])
        #expect(bench.batches.first?.oldest == 6)
        #expect(bench.machine.dropped == 5)
    }

    // MARK: - Answers

    @Test func anUnansweredBatchIsRepeatedBeforeNewerRecords() throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...10)
        bench.open()
        bench.close()
        bench.append(11...30)
        bench.open()
        bench.answer()  // an empty one, that showed that the connection works
        #expect(bench.sent == [Array(1...10), [], Array(1...10)])
        #expect(bench.batches[0].id == bench.batches[2].id)
        #expect(bench.batches[0].records == bench.batches[2].records)
        #expect(bench.batches[2].remaining == 20)
    }

    @Test func waitsGrowToACapAndBeginAnewOnANewConnection() throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...10)
        bench.open()
        var waits: [Duration] = []
        for _ in 0..<10 {
            bench.refuse(.refused)
            let deadline = try #require(bench.machine.nextDeadline)
            waits.append(bench.now.duration(to: deadline))
            bench.wait(waits[waits.count - 1])
        }
        #expect(waits[0] <= .seconds(1) && waits[0] >= .milliseconds(500))
        #expect(waits[9] <= .seconds(60) && waits[9] >= .seconds(30))
        bench.refuse(.refused)
        let count = bench.batches.count
        bench.close()
        bench.open()
        #expect(bench.batches.count == count + 1)
        #expect(Set(bench.batches.map(\.id)).count == 1)
    }

    @Test func aTooLargeBatchIsHalvedDownToTheRefusedRecord() throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...20)
        bench.open()
        bench.perform(bench.machine.flush(now: bench.now))
        var taken: [UInt64] = []
        for _ in 0..<100 where bench.machine.unsent > 0 {
            let records = bench.sent[bench.sent.count - 1]
            if records.contains(7) {
                bench.refuse(.payloadTooLarge)
            } else {
                taken += records
                bench.answer()
            }
        }
        #expect(bench.quarantined == [7])
        #expect(taken == Array(1...6) + Array(8...20))
    }

    @Test func aForbiddenTopicQuarantinesNoRecord() throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...10)
        bench.open()
        for _ in 0..<5 {
            bench.refuse(.notAuthorized)
            bench.wait(.seconds(60))
        }
        #expect(bench.batches.dropFirst().allSatisfy { $0.records.isEmpty })
        bench.answer()
        #expect(bench.sent.last == Array(1...10))
        #expect(bench.quarantined.isEmpty)
    }

    /// "Not authorized", "Implementation specific error", "Payload format invalid".
    @Test(arguments: [0x87, 0x83, 0x99]) func aForbiddenRecordIsQuarantined(reason: UInt8) throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...4)
        bench.open()
        bench.perform(bench.machine.flush(now: bench.now))
        for _ in 0..<50 where bench.machine.unsent > 0 {
            let records = bench.sent[bench.sent.count - 1]
            let code: TrackingError.Code = reason == 0x87 ? .notAuthorized : .refused
            bench.answer(records.contains(3) ? TrackingError(code, "no", reasonCode: reason) : nil)
            bench.wait(.seconds(60))
        }
        #expect(bench.quarantined == [3])
        #expect(bench.removed[bench.current] == [1, 2, 4])
    }

    /// If the program ends in between, the record is still in the log and recorders have not received its
    /// declaration.
    @Test func aRecordIsDeclaredGoneOnlyOnceItIsQuarantined() throws {
        var bench = SpoolBench(try self.configuration(size: 1, recorders: ["a"]))
        bench.slowQuarantines = []
        bench.open()
        bench.append(1...2)
        bench.refuse(.payloadTooLarge)
        try bench.acknowledge("a", 0)
        bench.wait(.seconds(60))
        #expect(bench.sent == [[1]], "nothing goes that would declare it gone")
        #expect(bench.machine.contents.last?.stored == SeqSet([1...2]))
        #expect(!bench.machine.isQuiet && !bench.machine.isDrained)
        bench.slowQuarantines = nil
        bench.quarantine(1, of: bench.current)
        #expect(bench.sent == [[1], [2]])
        #expect(bench.batches.last?.oldest == 2)
        #expect(bench.machine.quarantined == 1)
    }

    @Test func aFailedQuarantineKeepsTheRecordAndIsTriedAgain() throws {
        var bench = SpoolBench(try self.configuration(size: 1))
        bench.failingQuarantines = 2
        bench.open()
        bench.append(1...2)
        bench.refuse(.payloadTooLarge)
        #expect(bench.sent == [[1]] && bench.quarantined.isEmpty)
        bench.wait(.seconds(10))
        #expect(bench.quarantined == [1])
        #expect(bench.sent == [[1], [2]], "and is not sent again meanwhile")
    }

    @Test func aRecordForgottenBeforeItsQuarantineBlocksNothing() throws {
        var bench = SpoolBench(try self.configuration(size: 1))
        bench.slowQuarantines = []
        bench.open()
        bench.append(1...2)
        bench.refuse(.payloadTooLarge)
        bench.perform(bench.machine.cleared(SeqSet([1...1]), of: bench.current, now: bench.now))
        bench.failingQuarantines = 1
        bench.quarantine(1, of: bench.current)
        #expect(bench.sent == [[1], [2]])
    }

    @Test func aRecordForgottenDuringAPendingQuarantineIsNotQuarantined() throws {
        var bench = SpoolBench(try self.configuration(size: 1))
        bench.failingQuarantines = 1
        bench.open()
        bench.append(1...2)
        bench.refuse(.payloadTooLarge)
        bench.perform(bench.machine.cleared(SeqSet([1...1]), of: bench.current, now: bench.now))
        bench.wait(.seconds(10))
        #expect(bench.machine.quarantined == 0 && bench.sent == [[1], [2]])
    }

    @Test func theLastRecordOfAnEndedStreamMayBeDeclaredGone() throws {
        let old = try #require(StreamID("old"))
        var bench = SpoolBench(
            try self.configuration(size: 1), old: [StoredStream(id: old, stored: SeqSet([1...2]), last: 2)])
        bench.open()
        bench.answer()
        bench.refuse(.payloadTooLarge)
        let batch = try #require(bench.batches.last)
        #expect(batch.stream == old && batch.records.isEmpty && batch.oldest == 3 && batch.end == 2)
        bench.answer()
        #expect(bench.forgotten == [old])
    }

    @Test func aBrokerThatRejectsEverythingQuarantinesNoRecord() throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...4)
        bench.open()
        bench.perform(bench.machine.flush(now: bench.now))
        let trouble = TrackingError(.refused, "no", reasonCode: 0x83)
        // The broker accepts one empty batch in between.
        for answer in [trouble, nil] + Array(repeating: trouble, count: 20) {
            bench.answer(answer)
            bench.wait(.seconds(60))
        }
        #expect(bench.quarantined.isEmpty)
        for _ in 0..<10 {
            bench.answer()
            bench.wait(.seconds(60))
        }
        #expect(bench.removed[bench.current] == [1, 2, 3, 4])
    }

    @Test func aBatchThatEndsTheConnectionThreeTimesIsRefused() throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...10)
        bench.open()
        for _ in 0..<2 {
            bench.close()
            bench.open()
            #expect(bench.sent.last == [])  // the connection works without it
            bench.answer()
        }
        bench.close()
        bench.open()
        #expect(bench.sent.last == Array(1...5))
    }

    @Test func aRefusedSizeIsTriedAgainWithBackoff() throws {
        var bench = SpoolBench(try self.configuration(size: 64))
        bench.append(1...2000)
        bench.open()
        var refusals: [Int] = []
        for _ in 0..<2000 where bench.machine.unsent > 0 {
            if bench.sent[bench.sent.count - 1].count > 5 {
                refusals.append(bench.batches.count)
                bench.refuse(.payloadTooLarge)
            } else {
                bench.answer()
            }
            bench.perform(bench.machine.flush(now: bench.now))
        }
        #expect(bench.machine.queued == 0 && bench.quarantined.isEmpty)
        // Four attempts find the record, followed by one attempt after each longer run.
        #expect(refusals.count <= 8, "\(refusals)")
        #expect(bench.sent.count < 530)
    }

    @Test func aConnectionThatWorksForNothingProvesNothing() throws {
        var bench = SpoolBench(try self.configuration(size: 1))
        bench.append(1...1)
        for _ in 0..<20 {
            bench.open()
            bench.close()
        }
        #expect(bench.quarantined.isEmpty)
    }

    // MARK: - The live lane

    @Test func recordsAcceptedOnTheLiveLaneAreNotSentAgain() throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...3)
        bench.machine.sentLive(SeqSet([1...3]))
        bench.open()
        bench.wait(.seconds(60))
        #expect(bench.batches.isEmpty)  // on its way
        bench.perform(bench.machine.takenLive(SeqSet([1...3]), now: bench.now))
        bench.wait(.seconds(60))
        #expect(bench.batches.isEmpty)
        #expect(bench.machine.queued == 0)
    }

    @Test func recordsRejectedOnTheLiveLaneAreSentOnTheRecordingLane() throws {
        var bench = SpoolBench(try self.configuration())
        bench.append(1...3)
        bench.machine.sentLive(SeqSet([1...3]))
        bench.perform(bench.machine.failedLive(SeqSet([1...3]), now: bench.now))
        bench.open()
        bench.wait(.seconds(20))
        #expect(bench.sent == [[1, 2, 3]])
    }

    // MARK: - Recorders

    @Test func aRecordIsRemovedOnlyWhenEachRecorderHasIt() throws {
        var bench = SpoolBench(try self.configuration(recorders: ["a", "b"]))
        bench.append(1...10)
        bench.open()
        bench.answer()
        #expect(bench.removed.isEmpty)
        try bench.acknowledge("a", 10)
        try bench.acknowledge("stranger", 10)
        #expect(bench.removed.isEmpty)
        try bench.acknowledge("b", 4)
        #expect(bench.removed[bench.current] == Set(1...4))
        try bench.acknowledge("b", 10)
        #expect(bench.machine.isDrained)
    }

    @Test func recordsUnacknowledgedFor30SecondsAreSentAgain() throws {
        var bench = SpoolBench(try self.configuration(recorders: ["a"]))
        bench.open()
        bench.append(1...3)
        bench.machine.sentLive(SeqSet([1...3]))
        bench.perform(bench.machine.takenLive(SeqSet([1...3]), now: bench.now))
        bench.wait(.seconds(20))
        try bench.acknowledge("a", 1)
        bench.wait(.seconds(29))
        #expect(bench.batches.isEmpty)
        bench.wait(.seconds(1))
        #expect(bench.sent == [[2, 3]])  // 30 s have passed, so no window follows
    }

    @Test func anAcknowledgementOfAnUnsentRecordIsIgnored() throws {
        var bench = SpoolBench(try self.configuration(recorders: ["a"]))
        bench.open()
        bench.append(1...10)
        try bench.acknowledge("a", 11)
        try bench.acknowledge("a", 5, of: StreamID("unknown")!)
        #expect(bench.removed.isEmpty)
    }

    /// A log that was closed at number 10, was restored from a snapshot after its recorder had number 20, and has
    /// recorded 11 to 13 since.
    private func putBack() throws -> SpoolBench {
        let current = try #require(StreamID("current"))
        var bench = SpoolBench(
            try self.configuration(recorders: ["a"]),
            old: [StoredStream(id: current, stored: SeqSet([8...10]), last: 10)])
        bench.append(11...13)
        return bench
    }

    @Test(arguments: [UInt64(12), 20]) func aRestoredLogBeginsANewStream(through: UInt64) throws {
        var bench = try self.putBack()
        let old = bench.current
        try bench.acknowledge("a", through)
        #expect(bench.begun.count == 1 && bench.removed[old] == Set(8...10), "those were sent before")
        bench.open()
        bench.answer()
        bench.wait(.seconds(20))
        let batch = try #require(bench.batches.last)
        #expect(batch.stream == bench.begun.first)
        #expect(batch.records.map { String(decoding: $0.payload, as: UTF8.self) } == ["11", "12", "13"])
        #expect(batch.records.map(\.seq) == [1, 2, 3])
        bench.answer()
        try bench.acknowledge("a", through, of: old)
        try bench.acknowledge("a", 3)
        #expect(bench.begun.count == 1 && bench.machine.isDrained)
        #expect(bench.forgotten == [old])
    }

    @Test func pendingAppendsUnderAReusedNumberAreRecordedAnew() throws {
        var bench = try self.putBack()
        let old = bench.current
        try bench.acknowledge("a", 20)
        bench.disk[old, default: [:]][14] = SpoolBench.record(14)
        bench.perform(bench.machine.appended(SeqSet([14...14]), of: old, now: bench.now))
        #expect(bench.disk[old]?.isEmpty == true)
        #expect(bench.disk[bench.current]?[4]?.payload == SpoolBench.record(14).payload)
    }

    /// The acknowledgement names a record that was never sent.
    @Test func aFalseAcknowledgementBeginsNoSecondStream() throws {
        var bench = try self.putBack()
        bench.open()
        bench.answer()
        try bench.acknowledge("a", 13)
        #expect(bench.begun.isEmpty, "that was sent")
        for seq in UInt64(1000)...1010 { try bench.acknowledge("a", seq) }
        try bench.acknowledge("b", 2000)
        #expect(bench.begun.count == 1)
    }

    /// An answer to a command is published before it is written, so the recorder may acknowledge it first.
    @Test func anAcknowledgementOfAPendingAppendBeginsNoStream() throws {
        var bench = try self.putBack()
        bench.open()
        let acknowledgement = Acknowledgement(streams: [bench.current: 14])
        bench.perform(
            bench.machine.acknowledged(by: try ClientID("a"), acknowledgement, given: 14, now: bench.now))
        #expect(bench.begun.isEmpty && bench.removed.isEmpty)
    }

    /// A power cut may lose the last records of a stream that were sent.
    @Test func anAcknowledgementAboveTheLastCompletesAnEndedStream() throws {
        let old = try #require(StreamID("old"))
        var bench = SpoolBench(
            try self.configuration(recorders: ["a"]), old: [StoredStream(id: old, stored: SeqSet([7...7]), last: 7)])
        try bench.acknowledge("a", 9, of: old)
        #expect(bench.removed[old] == [7])
    }

    @Test func aLowerAcknowledgementIsBelieved() throws {
        var bench = SpoolBench(try self.configuration(recorders: ["a", "b"]))
        bench.append(1...10)
        bench.open()
        bench.answer()
        try bench.acknowledge("a", 10)
        try bench.acknowledge("b", 5)
        #expect(bench.removed[bench.current] == Set(1...5))
        try bench.acknowledge("a", 2)  // it lost its store
        let batch = try #require(bench.batches.last)
        #expect(batch.records.map(\.seq) == Array(6...10))
        #expect(batch.oldest == 6)  // 3 to 5 are gone
    }

    @Test func theLossIsDeclaredEvenWhenNothingIsLeft() throws {
        var bench = SpoolBench(try self.configuration(recorders: ["a"]))
        bench.append(1...10)
        bench.open()
        bench.answer()
        try bench.acknowledge("a", 10)
        try bench.acknowledge("a", 0)
        let batch = try #require(bench.batches.last)
        #expect(batch.records.isEmpty && batch.oldest == 11)
    }

    // MARK: - Random sequences

    @Test(arguments: Seeds.first(60)) func noSequenceOfEventsLosesARecord(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let recorders = seed.isMultiple(of: 2) ? ["a", "b"] : []
        var bench = SpoolBench(try self.configuration(size: 7, recorders: recorders), seed: seed)
        var stored: [String: Set<UInt64>] = [:]
        var isOpen = false
        var next: UInt64 = 1
        var answered = 0
        func receive(_ batch: HistoryBatch, lossy: Bool) {
            for recorder in recorders.isEmpty ? ["broker"] : recorders {
                if lossy, Bool.random(using: &random) { continue }
                stored[recorder, default: []].formUnion(batch.records.map(\.seq))
                stored[recorder, default: []].formUnion(batch.gone.joined())
                stored[recorder, default: []].formUnion(1..<batch.oldest)
            }
        }
        for step in 0..<8000 {
            let isEnd = step > 500
            if isEnd, bench.machine.isDrained { break }
            switch isEnd ? Int.random(in: 3...6, using: &random) : Int.random(in: 0...7, using: &random) {
            case 0, 1:
                let count = UInt64.random(in: 1...9, using: &random)
                bench.append(next...(next + count - 1))
                next += count
            case 2 where isOpen:
                isOpen = false
                bench.close()
                answered = bench.batches.count
            case 3 where !isOpen:
                isOpen = true
                answered = bench.batches.count
                bench.open()
            case 4 where isOpen && answered < bench.batches.count:
                let batch = bench.batches[bench.batches.count - 1]
                answered = bench.batches.count
                if !isEnd, Int.random(in: 0..<5, using: &random) == 0 {
                    bench.refuse(.refused)
                } else {
                    receive(batch, lossy: !recorders.isEmpty && !isEnd)
                    bench.answer()
                }
            case 5: bench.wait(.seconds(Int.random(in: 1...40, using: &random)))
            case 6:
                for recorder in recorders {
                    let has = stored[recorder] ?? []
                    let through = (UInt64(1)..<next).first { !has.contains($0) }.map { $0 - 1 } ?? next - 1
                    try bench.acknowledge(recorder, through)
                }
            default: break
            }
        }
        #expect(bench.machine.queued == 0, "seed \(seed)")
        for recorder in recorders.isEmpty ? ["broker"] : recorders {
            let there = (stored[recorder] ?? []).union(bench.quarantined)
            #expect(there == Set(1..<next), "seed \(seed): \(Set(1..<next).subtracting(there).sorted())")
        }
    }
}
