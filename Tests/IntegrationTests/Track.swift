import Foundation
import TestSupport
import Testing

/// A broker, an agent that reads a source, and a watcher of its only trackable, `van`.
struct Track {
    let broker: MosquittoProcess
    let agent: RunningProgram
    let watch: RunningProgram

    /// Starts all three. The watcher is subscribed before the agent publishes, and requests nothing.
    ///
    /// - Parameters:
    ///   - sources: The values of the `--source` options.
    ///   - options: Further options of the agent. By default every fix is sent.
    ///   - input: The file for the agent's standard input.
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

    /// The number of positions that the watcher has printed.
    var watchedCount: Int { self.watch.output.components(separatedBy: "{\"event\":\"location\"").count - 1 }

    /// Waits until the watcher has printed a number of positions.
    func wait(fixes count: Int) async throws {
        try await self.watch.wait { _ in self.watchedCount >= count }
    }

    /// Waits for the agent's end, and terminates it unless its source ends by itself; then ends the watcher.
    ///
    /// - Returns: All positions that the watcher printed. The test fails with fewer than `count`.
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
