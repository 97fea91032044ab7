import Foundation
import TestSupport
import Testing
import TrackingControl
import TrackingCore

/// The agent reads its source without a break during its controls: no fix is lost, repeated, or published while
/// publishing is off.
@Suite(.timeLimit(.minutes(10))) struct SourceContinuityTests {
    private static let start = 1_700_000_000

    /// A Feature `index` seconds after the start, a metre further on.
    private static func line(_ index: Int) -> String {
        "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[-8.5,\(52 + Double(index) * 1e-5)]},"
            + "\"properties\":{\"time\":\(Self.start + index)}}\n"
    }

    /// The writing end of a pipe that is an agent's standard input.
    private final class Pipe {
        let path: String
        private let descriptor: Int32

        init(_ scene: AgentScene) throws {
            self.path = scene.file("in")
            // Open for reading and writing, so that neither end waits for the other.
            guard mkfifo(self.path, 0o600) == 0, case let descriptor = open(self.path, O_RDWR | O_NONBLOCK | O_CLOEXEC),
                descriptor >= 0
            else { throw TestSupportError("no pipe at \(self.path)") }
            self.descriptor = descriptor
        }

        /// - Throws: An error if the text is not read within 60 s.
        func write(_ text: String) async throws {
            var bytes = Array(text.utf8)[...]
            let deadline = ContinuousClock.now + .seconds(60)
            while !bytes.isEmpty {
                let count = bytes.withUnsafeBytes { Glibc.write(self.descriptor, $0.baseAddress, $0.count) }
                if count > 0 {
                    bytes = bytes.dropFirst(count)
                    continue
                }
                guard ContinuousClock.now < deadline else { throw TestSupportError("nobody reads the pipe") }
                try await Task.sleep(for: .milliseconds(5))
            }
        }

        deinit { close(self.descriptor) }
    }

    /// The seconds after the start of every published position, sent, skipped or in a batch.
    private static func seconds(_ listener: AgentScene.Listener) -> Set<Int> {
        var found: Set<Int> = []
        for text in listener.payloads("van-7") {
            guard let update = try? LocationCodec.decode(Array(text.utf8)) else { continue }
            for location in [update.location] + update.skipped { found.insert(Int(location.time.seconds) - Self.start) }
        }
        for text in listener.payloads("van-7/history") {
            for record in (try? HistoryCodec.decode(Array(text.utf8)[...]))?.batch.records ?? []
            where record.kind == .point {
                found.insert(Int(record.time.seconds) - Self.start)
            }
        }
        return found
    }

    private static let lively = ["--default-resolution", "HIGH/0/0", "--batch-window", "0.2"]

    @Test func noLineOfAPipeIsLostWhereTheConnectionIsAnother() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let other = try await MosquittoProcess.start()
        let (before, after) = (try AgentScene.Listener(scene.broker), try AgentScene.Listener(other))
        try await before.waitUntilListening()
        try await after.waitUntilListening()
        let pipe = try Pipe(scene)
        let agent = try await scene.start(["--source", "jsonl:-"] + Self.lively, input: pipe.path)
        let count = 4_000
        let writer = Task.detached {
            for batch in 0..<(count / 50) {
                try await pipe.write((0..<50).map { Self.line(batch * 50 + $0) }.joined())
                try await Task.sleep(for: .milliseconds(25))
            }
        }
        try await before.wait("van-7") { !$0.isEmpty }
        let link = "godwit://setup?broker=mqtt%3A%2F%2F127.0.0.1%3A\(other.port)"
        try await scene.done(["setup", link, "--yes"])
        try await writer.value
        try await after.wait("van-7/history") { _ in
            Self.seconds(before).union(Self.seconds(after)).count == count
        }
        #expect(try await agent.end().code == 0)
    }

    @Test func aRecordingGoesOnWhereTheConnectionIsAnother() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let other = try await MosquittoProcess.start()
        let after = try AgentScene.Listener(other)
        try await after.waitUntilListening()
        let drive = scene.file("drive.jsonl")
        try (0..<400).map { Self.line($0) }.joined().write(toFile: drive, atomically: true, encoding: .utf8)
        let agent = try await scene.start(["--source", "jsonl:\(drive)", "--speed", "10"] + Self.lively)
        // Nearly all records are acknowledged: while the recording runs, there is almost always a pending one.
        try await scene.status {
            ($0.lastFix?.time.seconds ?? 0) > Double(Self.start) + 60 && $0.connection.isUp && $0.queue.points < 25
        }
        let link = "godwit://setup?broker=mqtt%3A%2F%2F127.0.0.1%3A\(other.port)"
        try await scene.done(["setup", link, "--yes"])
        // The agent ends with the recording.
        let ended = try await agent.result(within: .seconds(120))
        #expect(ended.code == 0, "\(ended.errors)")
        let reported = Self.seconds(after)
        #expect(reported.contains(399))
        #expect(reported.min() ?? 0 > 30, "it did not begin anew")
    }

    @Test func fixesReadWhileTheAgentIsOffAreNotPublished() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let listener = try await scene.listen()
        let pipe = try Pipe(scene)
        let agent = try await scene.start(["--source", "jsonl:-"] + Self.lively, input: pipe.path)
        try await pipe.write(Self.line(1))
        try await listener.wait("van-7") { !$0.isEmpty }
        try await scene.done(["off"])
        // More than the capacity of a pipe: the agent reads it while it is off.
        for index in 10..<2_000 { try await pipe.write(Self.line(index)) }
        try await scene.done(["on"])
        try await pipe.write(Self.line(5_000))
        try await listener.wait("van-7") { _ in Self.seconds(listener).contains(5_000) }
        try await scene.status { $0.queue.points == 0 && $0.connection.isUp }
        #expect(Self.seconds(listener) == [1, 5_000])
        #expect(try await agent.end().code == 0)
    }

    @Test func offAndZonesAreInForceAlsoWhereTheyCannotBeKept() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let agent = try await scene.start(["--default-resolution", "HIGH/200/0"])
        // A folder takes the place of the file.
        try FileManager.default.createDirectory(
            atPath: scene.file("state/godwit/van-7.sqlite.settings"), withIntermediateDirectories: true)
        let refused = try await scene.control(["configure", "batch-size=7"])
        #expect(refused.code == 1)
        let zone = try await scene.control(["configure", "zone=home,52.6,-8.6,100000"])
        #expect(zone.code == 1 && zone.errors.contains("a restart undoes it"), "\(zone.errors)")
        try await scene.status { $0.lastFix?.source == .zone }
        let off = try await scene.control(["off"])
        #expect(off.code == 1 && off.errors.contains("a restart undoes it"), "\(off.errors)")
        #expect(try await scene.status().isOn == false)
        #expect(try await agent.end().code == 0)
    }
}
