import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingSpool
import TrackingTesting

/// No record is lost when programs are killed: the built agent, real Mosquitto, and a recorder that counts the records.
///
/// `GODWIT_DRILL_KILLS`: how often each program is killed; a larger number makes the drills longer.
@Suite(.serialized, .timeLimit(.minutes(30))) struct RecordingDrillTests {
    private static let kills = Int(ProcessInfo.processInfo.environment["GODWIT_DRILL_KILLS"] ?? "") ?? 8

    /// A temporary folder with a drive of `fixes` fixes.
    private final class Stage: Sendable {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-drill-\(UUID().uuidString)")
        let broker: MosquittoProcess

        /// - Parameter isPersistent: `true` if the broker saves its messages on disk.
        init(fixes: Int, isPersistent: Bool = false) async throws {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
            let lines = (0..<fixes).map { index in
                let (latitude, longitude) = (52.0 + Double(index) * 1e-4, -8.5 + Double(index % 7) * 1e-5)
                return
                    "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[\(longitude),\(latitude)]},"
                    + "\"properties\":{\"time\":\(1_700_000_000 + Double(index) * 0.25)}}"
            }
            try lines.joined(separator: "\n").write(
                to: self.folder.appending(path: "drive.jsonl"), atomically: true, encoding: .utf8)
            self.broker = try await isPersistent ? MosquittoProcess.startPersistent() : MosquittoProcess.start()
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        /// The agents' log.
        var spool: String { self.folder.appending(path: "spool.sqlite").path() }

        /// Returns the streams in the log of an agent that has ended.
        func streamsHeld() async throws -> Set<StreamID> {
            let log = SQLiteSpool(path: self.spool)
            let held = try await log.open(now: UnixTime(0)).trackables.values.flatMap(\.streams)
            try await log.close()
            return Set(held.map(\.id))
        }

        func agent(_ more: [String] = [], port: Int? = nil) throws -> RunningProgram {
            try Programs.start(
                "godwit-agent",
                [
                    "run", "--trackable", "van", "--broker", "mqtt://127.0.0.1:\(port ?? self.broker.port)",
                    "--client-id", "box", "--battery", "none",
                    "--source", "jsonl:\(self.folder.appending(path: "drive.jsonl").path())", "--speed", "20",
                    "--spool", self.spool, "--log-level", "trace",
                    "--default-resolution", "HIGH/1000/0", "--batch-size", "20", "--batch-window", "0.2",
                    // A replay thins itself to the requested resolution: this one requests every fix.
                    "--sensor-resolution", "HIGH/0/0",
                ] + more)
        }
    }

    /// Checks that all of `names` arrived, each with one content, and in order within its stream.
    private static func check(_ recorder: TestRecorder, _ names: Set<TestRecorder.Name>) async throws {
        try await recorder.wait(for: names, within: .seconds(60))
        for (name, contents) in recorder.contents.records {
            #expect(Set(contents).count == 1, "\(name) came with two contents")
        }
        for (stream, batches) in Dictionary(grouping: recorder.contents.batches, by: \.stream) {
            for batch in batches { #expect(batch.records.map(\.seq) == batch.records.map(\.seq).sorted(), "\(stream)") }
        }
    }

    @Test func anAgentThatIsKilledLosesNothingItWrote() async throws {
        let stage = try await Stage(fixes: 20_000)
        let recorder = try TestRecorder(of: "van", on: stage.broker)
        var written: Set<TestRecorder.Name> = []
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await recorder.run() }
            try await recorder.waitUntilListening()
            for _ in 0..<Self.kills {
                let agent = try stage.agent()
                let enough = Int.random(in: 1...60)
                try await agent.wait { _ in agent.loggedRecords.count >= enough }
                agent.signal(SIGKILL)
                _ = try await agent.result(within: .seconds(60))
                written.formUnion(agent.loggedRecords)
            }
            #expect(written.count >= Self.kills)
            let last = try stage.agent()
            try await last.wait { _ in !last.loggedRecords.isEmpty }
            try await Self.check(recorder, written)
            last.terminate()
            #expect(try await last.result(within: .seconds(60)).code == 0, "\(last.errors.suffix(2000))")
            group.cancelAll()
        }
    }

    /// `GODWIT_DRILL_BACKLOG`: the length of the backlog.
    @Test func theNewestPositionIsTheFirstAfterAnOutage() async throws {
        let count = Int(ProcessInfo.processInfo.environment["GODWIT_DRILL_BACKLOG"] ?? "") ?? 10_000
        let stage = try await Stage(fixes: count)
        let proxy = try FaultProxy(to: stage.broker.port)
        proxy.mode = .refuse
        let recorder = try TestRecorder(of: "van", on: stage.broker)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await recorder.run() }
            try await recorder.waitUntilListening()
            // The recording ends: the agent only has to send its backlog.
            let agent = try stage.agent(
                ["--speed", "1000000", "--batch-size", "200", "--batch-window", "20"], port: proxy.port)
            try await agent.wait(within: .seconds(120)) { _ in agent.loggedRecords.count >= count }
            proxy.mode = .pass
            let result = try await agent.result(within: .seconds(120))
            #expect(result.code == 0, "\(result.errors.suffix(2000))")
            // The broker had every record when the agent ended; the recorder may be behind.
            try await recorder.wait(for: agent.loggedRecords, within: .seconds(120))
            group.cancelAll()
        }
        let contents = recorder.contents
        #expect(contents.arrivals.first?.isLive == true && contents.arrivals.first?.newest == UInt64(count))
        let numbers = contents.batches.flatMap { $0.records.map(\.seq) }
        #expect(numbers == numbers.sorted())  // oldest first
        let stream = try #require(contents.records.keys.first?.stream)
        let missing = (1...UInt64(count)).filter { contents.records[.init(stream: stream, seq: $0)] == nil }
        #expect(missing.isEmpty, "missing: \(missing.prefix(20)) of \(missing.count)")
    }

    /// One broker saves nothing on disk, and the saved messages of the other are deleted.
    @Test(arguments: [false, true])
    func brokersThatAreKilledAndForgetLoseNothingThatARecorderMustAcknowledge(isWiped: Bool) async throws {
        let stage = try await Stage(fixes: 20_000, isPersistent: isWiped)
        let recorder = try TestRecorder(of: "van", on: stage.broker, acknowledgingAs: "keeper")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await recorder.run() }
            try await recorder.waitUntilListening()
            var written: Set<TestRecorder.Name> = []
            for number in 0..<Self.kills {
                let agent = try stage.agent(["--acknowledge-by", "keeper"])
                let enough = Int.random(in: 5...60)
                try await agent.wait { _ in agent.loggedRecords.count >= enough }
                // The messages of the killed broker are lost.
                try await stage.broker.kill()
                if isWiped { try stage.broker.wipe() }
                let more = enough + Int.random(in: 1...40)
                try await agent.wait { _ in agent.loggedRecords.count >= more }
                try await stage.broker.restart()
                if number.isMultiple(of: 2) { agent.signal(SIGKILL) } else { agent.terminate() }
                _ = try await agent.result(within: .seconds(60))
                written.formUnion(agent.loggedRecords)
            }
            let last = try stage.agent(["--acknowledge-by", "keeper"])
            try await last.wait { _ in !last.loggedRecords.isEmpty }
            try await Self.check(recorder, written)
            last.terminate()
            #expect(try await last.result(within: .seconds(60)).code == 0, "\(last.errors.suffix(2000))")
            group.cancelAll()
        }
    }

    @Test func moreStreamsThanAnAcknowledgementNamesAllDrain() async throws {
        let stage = try await Stage(fixes: 20_000)
        let proxy = try FaultProxy(to: stage.broker.port)
        proxy.mode = .refuse
        let recorder = try TestRecorder(of: "van", on: stage.broker, acknowledgingAs: "keeper")
        var written: Set<TestRecorder.Name> = []
        for _ in 0..<Acknowledgement.maximumStreams + 2 {
            let agent = try stage.agent(["--acknowledge-by", "keeper"], port: proxy.port)
            try await agent.wait { _ in !agent.loggedRecords.isEmpty }
            agent.signal(SIGKILL)
            _ = try await agent.result(within: .seconds(60))
            written.formUnion(agent.loggedRecords)
        }
        let streams = Set(written.map(\.stream))
        #expect(streams.count == Acknowledgement.maximumStreams + 2)
        proxy.mode = .pass
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await recorder.run() }
            try await recorder.waitUntilListening()
            // An agent that is stopped does not wait for acknowledgements: the next one sends the rest.
            let deadline = ContinuousClock.now + .seconds(60)
            repeat {
                let agent = try stage.agent(["--acknowledge-by", "keeper"], port: proxy.port)
                try await agent.wait { _ in agent.loggedRecords.count >= 20 }
                try await Self.check(recorder, written)
                agent.terminate()
                #expect(try await agent.result(within: .seconds(60)).code == 0, "\(agent.errors.suffix(2000))")
            } while try await !stage.streamsHeld().isDisjoint(with: streams) && ContinuousClock.now < deadline
            group.cancelAll()
        }
        // The agent received every acknowledgement, also for streams that the current acknowledgement no longer lists.
        #expect(try await stage.streamsHeld().isDisjoint(with: streams))
    }
}
