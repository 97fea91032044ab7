import Foundation
import TestSupport
import Testing

/// A broker, an agent that reads a source, and a watcher of its only trackable, `van`.
struct Track {
    let broker: MosquittoProcess
    let agent: RunningProgram
    let watch: RunningProgram

    /// Starts all three; the watcher listens before the agent speaks, and asks for nothing.
    ///
    /// - Parameters:
    ///   - sources: What follows `--source`, each.
    ///   - options: More for the agent. Unless they say otherwise, every fix is sent.
    ///   - input: The file that is the agent's standard input.
    static func start(
        _ sources: [String], options: [String] = ["--default-resolution", "HIGH/0/0"], input: String = "/dev/null"
    ) async throws -> Track {
        let broker = try await MosquittoProcess.start()
        let watch = try Programs.start(
            "godwit", ["watch", "van", "--broker", broker.url, "--format", "json", "--skipped"])
        try await watch.wait { $0.contains("\"status\":\"ABSENT\"") }
        let agent = try Programs.start(
            "godwit-agent",
            ["run", "--trackable", "van", "--broker", broker.url, "--battery", "none"]
                + sources.flatMap { ["--source", $0] } + options, input: input)
        return Track(broker: broker, agent: agent, watch: watch)
    }

    /// How many positions the watcher printed so far.
    var watchedCount: Int { self.watch.output.components(separatedBy: "{\"event\":\"location\"").count - 1 }

    /// Waits until the watcher printed so many positions.
    func wait(fixes count: Int) async throws {
        try await self.watch.wait { _ in self.watchedCount >= count }
    }

    /// Waits for the agent's end, asking for it unless its source is to end by itself; then ends the watcher.
    ///
    /// - Returns: All positions that the watcher printed; at least `count`, or the test fails.
    func end(fixes count: Int, byItself: Bool = false) async throws -> [Fix] {
        if !byItself { self.agent.terminate() }
        let agent = try await self.agent.result(within: .seconds(60))
        #expect(agent.code == 0, "\(agent.errors)")
        try await self.wait(fixes: count)
        self.watch.terminate()
        let watch = try await self.watch.result(within: .seconds(60))
        #expect(watch.code == 0, "\(watch.errors)")
        return try Fix.watched(watch.output)
    }
}
