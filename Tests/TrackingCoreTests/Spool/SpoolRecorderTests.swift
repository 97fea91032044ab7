import Testing
import TrackingCore

/// The decisions that depend on recorders, after a reconnection and without a named recorder.
struct SpoolRecorderTests {
    private func bench(
        _ recorders: [String] = [], unnamed: SpoolStateMachine.UnnamedRecorder = .none, old: [StoredStream] = []
    ) throws -> SpoolBench {
        var configuration = SpoolStateMachine.Configuration()
        (configuration.batchSize, configuration.batchWindow) = (10, .zero)
        configuration.recorders = Set(try recorders.map { try ClientID($0) })
        configuration.unnamedRecorder = unnamed
        return SpoolBench(configuration, old: old)
    }

    /// Advances the clock by seconds, while the broker answers at once.
    private func wait(_ seconds: Int, _ bench: inout SpoolBench) {
        for _ in 0..<seconds {
            bench.wait(.seconds(1))
            while bench.machine.inFlight != nil { bench.answer() }
        }
    }

    private func answerAll(_ bench: inout SpoolBench) {
        while bench.machine.inFlight != nil { bench.answer() }
    }

    // MARK: - After a reconnection

    /// The broker was killed: the recorder stored the batch, and its acknowledgement was lost.
    @Test func aBatchIsRepeatedSoonAfterAReconnection() throws {
        var bench = try self.bench(["a"])
        bench.open()
        bench.append(1...5)
        self.answerAll(&bench)
        bench.close()
        bench.open()
        let count = bench.batches.count
        self.wait(3, &bench)
        #expect(bench.sent.count == count + 1 && bench.sent.last == [1, 2, 3, 4, 5])
        try bench.acknowledge("a", 5)
        #expect(bench.machine.isDrained)
    }

    @Test func aLateRecorderIsSentTheBatchAgainWithBackoff() throws {
        var bench = try self.bench(["a"])
        bench.open()
        bench.append(1...50)
        self.answerAll(&bench)
        bench.close()
        bench.open()
        let count = bench.batches.count
        self.wait(15, &bench)
        #expect((3...4).contains(bench.sent.count - count), "\(bench.sent.count - count)")
        self.wait(24 * 3600, &bench)
        #expect(bench.sent.count - count < 60)
        #expect(bench.sent[count...].allSatisfy { $0 == Array(1...10) })
    }

    @Test func reconnectionsDoNotResetTheBackoffOfASilentRecorder() throws {
        var bench = try self.bench(["a"])
        bench.open()
        bench.append(1...5)
        self.answerAll(&bench)
        self.wait(1800, &bench)
        let count = bench.batches.count
        for _ in 0..<20 {
            bench.close()
            bench.open()
            self.wait(5, &bench)
        }
        #expect(bench.batches.count - count <= 1)
    }

    // MARK: - No recorder is named

    @Test(arguments: [SpoolStateMachine.UnnamedRecorder.running, .startedLater])
    func anyRecordersAcknowledgementFreesARecord(unnamed: SpoolStateMachine.UnnamedRecorder) throws {
        var bench = try self.bench(unnamed: unnamed)
        bench.open()
        bench.append(1...5)
        self.answerAll(&bench)
        #expect(bench.machine.queued == 5 && bench.taken.count == (unnamed == .running ? 0 : 5))
        try bench.acknowledge("a", 4)
        // Another recorder, which has fewer records.
        try bench.acknowledge("b", 2)
        #expect(bench.machine.queued == 1)
        try bench.acknowledge("b", 5)
        #expect(bench.machine.isDrained && bench.machine.unrecordedSince == nil)
    }

    @Test func withoutUnnamedRecordersOnlyTheBrokerCounts() throws {
        var bench = try self.bench()
        bench.open()
        bench.append(1...5)
        self.answerAll(&bench)
        #expect(bench.machine.isDrained && bench.taken.isEmpty)
    }

    @Test func theAcknowledgementsOfStrangersAreLimited() throws {
        var bench = try self.bench(unnamed: .startedLater)
        bench.open()
        bench.append(1...5)
        self.answerAll(&bench)
        for number in 0..<100 { try bench.acknowledge("r\(number)", 0) }
        try bench.acknowledge("r200", 5)
        #expect(bench.machine.queued == 5)
        try bench.acknowledge("r3", 5)
        #expect(bench.machine.isDrained)
    }

    /// The records of an earlier run are not sent again at each start. One acknowledgement of a recorder requests all
    /// of them.
    @Test func unacknowledgedRecordsWaitForALaterRecorder() throws {
        let old = StoredStream(id: try #require(StreamID("old")), stored: SeqSet([1...50]), last: 50)
        var bench = try self.bench(unnamed: .startedLater, old: [old])
        bench.open()
        self.answerAll(&bench)
        #expect(bench.sent.joined().isEmpty && bench.machine.isFinished && bench.machine.unsent == 0)
        self.wait(40, &bench)
        #expect(bench.sent.filter { !$0.isEmpty } == [Array(1...10)], "one batch asks for an answer")
        let count = bench.batches.count
        try bench.acknowledge("a", 0, of: old.id)
        #expect(!bench.machine.isFinished)
        self.wait(3, &bench)
        #expect(bench.sent[count...].flatMap { $0 } == Array(1...50))
        try bench.acknowledge("a", 50, of: old.id)
        self.answerAll(&bench)
        #expect(bench.machine.isDrained)
    }

    @Test func aRetainedAcknowledgementShowsNoRecorderThatRuns() throws {
        var bench = try self.bench(unnamed: .startedLater)
        bench.open()
        bench.append(1...5)
        self.answerAll(&bench)
        let acknowledgement = Acknowledgement(streams: [bench.current: 3])
        bench.perform(
            bench.machine.acknowledged(by: try ClientID("a"), acknowledgement, isRetained: true, now: bench.now))
        #expect(bench.machine.queued == 2 && bench.machine.isFinished)
    }

    @Test func theTimeWithoutARecorderIsKnown() throws {
        var bench = try self.bench(["a"])
        bench.open()
        #expect(bench.machine.unrecordedSince == nil)
        bench.append(1...5)
        self.answerAll(&bench)
        let start = bench.now
        self.wait(100, &bench)
        #expect(bench.machine.unrecordedSince == start)
        try bench.acknowledge("a", 3)
        #expect(bench.machine.unrecordedSince == bench.now, "progress")
        try bench.acknowledge("a", 5)
        #expect(bench.machine.unrecordedSince == nil)
    }
}
