import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingStore

/// A recorder with malicious messages, and with records that its store rejects: other records are stored.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RecorderHardshipTests {
    /// A position of another program.
    private static func update(time: String, latitude: String = "52.5", more: String = "") -> String {
        """
        {"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.5,\(latitude)]},"properties":\
        {"time":\(time)\(more)}},"skippedLocations":[],"type":"ACTUAL"}
        """
    }

    /// Each message is quarantined with a reason, under the name of the trackable, and its neighbours are stored.
    @Test func anInvalidMessageIsQuarantinedWithTheReason() async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let hostile = [
            "latitude": Self.update(time: "1700000000", latitude: "91"),
            "infinite": Self.update(time: "1700000000", latitude: "1e999"),
            "infinity": Self.update(time: "1700000000", latitude: "Infinity"),
            // Milliseconds; read as seconds, they give the year 55840.
            "milliseconds": Self.update(time: "1700000000000"),
            "brackets": String(repeating: "[", count: 200_000),
            "nothing": String(repeating: " ", count: 200_000),
        ]
        for (name, text) in hostile {
            try await MosquittoTool.publish(text, to: "tracking/\(name)", on: stage.broker)
        }
        // The message exceeds the recorder's packet limit: the broker does not deliver it.
        try await MosquittoTool.publish(
            String(repeating: "\u{0}", count: 1_000_000), to: "tracking/van", on: stage.broker)
        let agent = try stage.agent(fixes: 100, speed: "1000")
        #expect(try await agent.result(within: .seconds(60)).code == 0, "\(agent.errors.suffix(2000))")
        try await stage.waitUntilStored(agent.loggedRecords)
        let refused = try await stage.withStore { try await $0.quarantined(limit: 100) }
        #expect(Set(refused.compactMap { $0.trackable?.rawValue }) == Set(hostile.keys))
        #expect(refused.count == hostile.count && refused.allSatisfy { !$0.reason.isEmpty }, "\(refused.map(\.reason))")
        #expect(try await stage.stored().count == 100)
        try await stage.end(recorder)
    }

    /// A point of a clock that is ahead is stored, but never becomes the last position.
    @Test func aPositionOfATimeToComeIsStoredAndNeverTheLast() async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let now = Date().timeIntervalSince1970
        let times = [now - 10, now + 7 * 86_400, 1_700_000_000_000, now - 5]
        for (seq, time) in times.enumerated() {
            let text = Self.update(time: "\(time)", more: ",\"stream\":\"s1\",\"seq\":\(seq + 1)")
            try await MosquittoTool.publish(text, to: "tracking/van", on: stage.broker)
        }
        try await stage.waitUntilStored(
            Set([1, 4].map { TestRecorder.Name(stream: StreamID("s1")!, seq: $0) }))  // a valid name
        let last = try await Programs.run("godwit", ["last", "van", "--store", stage.address, "--format", "json"])
        #expect(last.code == 0 && last.output.contains("\"seq\":4"), "\(last.output) \(last.errors)")
        let report = try await stage.report()
        let refused = try await stage.withStore { try await $0.quarantined(limit: 10) }
        #expect((report.streams.first?.clockFaults ?? 0) + refused.count == 2, "each is marked, or set aside")
        try await stage.end(recorder)
    }

    @Test func oneThatFloodsDoesNotHoldUpTheOthers() async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let flood = (0..<30_000).map { Self.update(time: "\(1_700_000_000 + $0)") }.joined(separator: "\n")
        async let flooding: Void = MosquittoTool.publish(flood, to: "tracking/flood", isLines: true, on: stage.broker)
        let agent = try stage.agent(fixes: 200, speed: "50")
        #expect(try await agent.result(within: .seconds(60)).code == 0, "\(agent.errors.suffix(2000))")
        try await stage.waitUntilStored(agent.loggedRecords, within: .seconds(60))
        try await flooding
        try await stage.end(recorder)
    }

    /// A stream has a limited number of ranges. A record that would begin another range stays on the device, and the
    /// recorder reports it.
    @Test func aStreamWithTooManyGapsIsReported() async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        // Every other number is gone, in messages of less than 128 KB.
        for part in 0..<9 {
            let gone = (0..<7_500).map { index in
                "[\((part * 7_500 + index) * 2 + 2),\((part * 7_500 + index) * 2 + 2)]"
            }
            let batch =
                "{\"batch\":\"b\",\"stream\":\"s1\",\"oldest\":1,\"gone\":[\(gone.joined(separator: ","))],"
                + "\"points\":[],\"remaining\":0}"
            try await MosquittoTool.publish(batch, to: "tracking/van/history", on: stage.broker)
        }
        let beyond = Self.update(time: "1700000000", more: ",\"stream\":\"s1\",\"seq\":1000000")
        try await MosquittoTool.publish(beyond, to: "tracking/van", on: stage.broker)
        try await recorder.waitForLog(
            "Recorder rejected records because too many record numbers of their stream are missing",
            within: .seconds(60))
        // One next to it is; the one beyond is not acknowledged, and not stored.
        let agent = try stage.agent(fixes: 20, speed: "1000")
        #expect(try await agent.result(within: .seconds(60)).code == 0, "\(agent.errors.suffix(2000))")
        try await stage.waitUntilStored(agent.loggedRecords)
        #expect(try await stage.report().points == 20)
        try await stage.end(recorder)
    }

    // MARK: - What the store refuses

    /// Each half with the record is rejected, until the record is alone.
    @Test(arguments: [false, true]) func aRecordThatTheStoreAlwaysRefusesBecomesAGap(isPostgres: Bool) async throws {
        let server = isPostgres ? try await PostgresServer.shared() : nil
        let stage = try await RecordStage(store: try await server?.makeDatabase())
        var recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        try await stage.end(recorder)
        if let server {
            try await server.execute(
                "ALTER TABLE godwit.point ADD CONSTRAINT poison CHECK (seq <> 42 OR stream = 0)", in: stage.address)
        } else {
            try await ChildProcess.run(
                "/usr/bin/env",
                [
                    "sqlite3", stage.database,
                    """
                    CREATE TRIGGER poison BEFORE INSERT ON point WHEN new.seq = 42 \
                    BEGIN SELECT raise(ABORT, 'poison'); END
                    """,
                ])
        }
        recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let agent = try stage.agent(fixes: 200, speed: "1000")
        // The agent ends: record 42 counts as handled and is not pending.
        #expect(try await agent.result(within: .seconds(90)).code == 0, "\(agent.errors.suffix(2000))")
        let others = agent.loggedRecords.filter { $0.seq != 42 }
        #expect(others.count == 199)
        try await stage.waitUntilStored(others)
        #expect(try await stage.stored() == others)
        #expect(recorder.errors.contains("History rejected a batch of records"))
        let report = try await stage.report()
        #expect(report.isComplete && report.streams.first?.coverage[.refused] == SeqSet([42...42]))
        let aside = try await stage.withStore { try await $0.quarantined(limit: 10) }.first { $0.seq == 42 }
        #expect(
            aside?.reason.contains("poison") == true && aside?.payload.isEmpty == false, "\(aside?.reason ?? "none")")
        let verified = try await stage.verify()
        #expect(verified.code == 0 && verified.output.contains("42  refused"), "\(verified.output)")
        try await stage.end(recorder)
    }

    // MARK: - A store that is away

    @Test(.enabled(if: SmallDisk.isAllowed, "mounts a small file system: run it as root"))
    func aFullDiskIsWaitedFor() async throws {
        try await SmallDisk.use(of: 16 << 20) { disk in
            let stage = try await RecordStage(store: "sqlite:\(disk.appending(path: "history.sqlite").path())")
            let recorder = try stage.recorder()
            try await recorder.waitForLog("Recorder is storing messages")
            let agent = try stage.agent(fixes: 6_000, speed: "50")
            try await agent.wait { _ in agent.loggedRecords.count >= 50 }
            try SmallDisk.fill(disk)
            try await recorder.waitForLog("History is unavailable", within: .seconds(60))
            #expect(recorder.errors.contains("full"), "\(recorder.errors.suffix(500))")
            try FileManager.default.removeItem(at: disk.appending(path: SmallDisk.filler))
            try await recorder.waitForLog("History is available again", within: .seconds(60))
            #expect(try await agent.result(within: .seconds(120)).code == 0, "\(agent.errors.suffix(2000))")
            try await stage.waitUntilStored(agent.loggedRecords)
            #expect(try await stage.report().isComplete)
            let aside = try await stage.withStore { try await $0.quarantined(limit: 10) }
            #expect(aside.isEmpty, "nothing is to blame: \(aside.map(\.reason))")
            try await stage.end(recorder)
        }
    }

    @Test func aServerThatIsGoneIsWaitedFor() async throws {
        let server = try await PostgresServer.start()
        let stage = try await RecordStage(store: try await server.makeDatabase())
        let manager = try NotifySocket(isAbstract: true)
        let recorder = try Programs.start(
            "godwit",
            [
                "record", "--broker", stage.broker.url, "--name", "keeper", "--store", stage.address, "--log-level",
                "info",
            ],
            environment: ["NOTIFY_SOCKET": manager.name])
        try await recorder.waitForLog("Recorder is storing messages")
        let agent = try stage.agent(fixes: 1_200, speed: "20")
        try await agent.wait { _ in agent.loggedRecords.count >= 20 }
        try await server.kill()
        try await recorder.waitForLog("History is unavailable", within: .seconds(60))
        while try await !manager.next().hasPrefix("STATUS=the history cannot be used") {}
        try await server.restart()
        try await recorder.waitForLog("History is available again", within: .seconds(60))
        while try await manager.next() != "STATUS=recording" {}
        #expect(try await agent.result(within: .seconds(120)).code == 0, "\(agent.errors.suffix(2000))")
        try await stage.waitUntilStored(agent.loggedRecords)
        #expect(try await stage.report().isComplete)
        try await stage.end(recorder)
    }
}
