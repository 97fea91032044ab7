import Foundation
import TestSupport
import Testing
import TrackingCore

/// Agents that track `van`, a broker, and a recorder that counts the records. Everything is removed with the test.
final class DrillScene: Sendable {
    /// The folder for logs, drives and configurations.
    let folder: URL
    let broker: MosquittoProcess
    let recorder: TestRecorder

    private init(_ broker: MosquittoProcess, acknowledgingAs name: String?) throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "godwit-scene-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.broker = broker
        self.recorder = try TestRecorder(of: "van", on: broker, acknowledgingAs: name)
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    /// Runs a scene while the recorder is subscribed.
    ///
    /// - Parameter recorder: The name under which it acknowledges.
    static func play(
        on broker: MosquittoProcess, recorder name: String? = nil,
        _ body: (DrillScene) async throws -> Void
    ) async throws {
        let scene = try DrillScene(broker, acknowledgingAs: name)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await scene.recorder.run() }
            try await scene.recorder.waitUntilListening()
            try await body(scene)
            group.cancelAll()
        }
    }

    /// Writes a drive with a number of fixes, four a second by their own times, to a file.
    func drive(_ fixes: Int, from start: Double = 1_700_000_000) throws -> String {
        let lines = (0..<fixes).map { Self.feature($0, time: start + Double($0) * 0.25) }
        let file = self.folder.appending(path: "drive-\(UUID().uuidString).jsonl")
        try (lines.joined(separator: "\n") + "\n").write(to: file, atomically: true, encoding: .utf8)
        return file.path()
    }

    /// A line of a drive.
    static func feature(_ index: Int, time: Double) -> String {
        let (latitude, longitude) = (52.0 + Double(index) * 1e-4, -8.5 + Double(index % 7) * 1e-5)
        return "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[\(longitude),\(latitude)]},"
            + "\"properties\":{\"time\":\(time)}}"
    }

    /// Starts an agent with its own log. It requests every fix, and logs each record that it has written.
    func agent(
        _ name: String, source: String, _ more: [String] = [], port: Int? = nil, spool: String? = nil
    ) throws -> RunningProgram {
        try Programs.start(
            "godwit-agent", self.arguments(name, source: source, port: port, spool: spool) + more)
    }

    /// Sends the backlog of an agent that was terminated: the agent runs once more.
    func sendTheRest(_ name: String, _ more: [String] = [], spool: String? = nil) async throws {
        let source = "jsonl:\(try self.drive(2))"
        let agent = try self.agent(name, source: source, ["--speed", "1000"] + more, spool: spool)
        let result = try await agent.result(within: .seconds(60))
        #expect(result.code == 0, "\(result.errors.suffix(2000))")
    }

    /// The arguments of such an agent.
    func arguments(_ name: String, source: String, port: Int? = nil, spool: String? = nil) -> [String] {
        [
            "run", "--trackable", "van", "--broker", "mqtt://127.0.0.1:\(port ?? self.broker.port)",
            "--client-id", name, "--battery", "none", "--source", source,
            "--spool", spool ?? self.folder.appending(path: "\(name).sqlite").path(), "--log-level", "trace",
            "--default-resolution", "HIGH/1000/0", "--sensor-resolution", "HIGH/0/0",
            "--batch-size", "20", "--batch-window", "0.2",
        ]
    }

    /// Waits until an agent has written a number of records.
    func wait(_ agent: RunningProgram, logged count: Int) async throws {
        try await agent.wait(within: .seconds(60)) { _ in agent.loggedRecords.count >= count }
    }

    /// Checks that all of these records reached the recorder, each with one content.
    func everythingArrived(_ names: Set<TestRecorder.Name>) async throws {
        try await self.recorder.wait(for: names, within: .seconds(60))
        for (name, contents) in self.recorder.contents.records {
            #expect(Set(contents).count == 1, "\(name) came with two contents")
        }
        for batch in self.recorder.contents.batches {
            #expect(batch.records.map(\.seq) == batch.records.map(\.seq).sorted())
        }
    }

    /// The kinds of the events that arrived in batches.
    var events: [String] {
        self.recorder.contents.batches.flatMap(\.records).filter { $0.kind == .event }.compactMap { record in
            (try? MessageCodec.decodeEvent(record.payload[...]))?.kind.rawValue
        }
    }
}
