import ArgumentParser
import Foundation
import GodwitOptions
import TrackingCore

/// `godwit demo`: the main job, from a simulated courier through a real broker to a watcher, told in words as it happens.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See it work: a broker, a simulated courier and a watcher on this machine.",
        discussion: """
            Starts a private Mosquitto on a free loopback port, godwit-agent with a simulated courier, and a watcher; tells \
            what happens; ends everything on Ctrl-C, when the terminal is closed, or after --duration.
            """)

    @Option(parsing: .unconditional, help: ArgumentHelp("End after this many seconds.", valueName: "seconds"))
    var duration: Double?

    @Flag(help: "Run the story once, and end with 1 if a chapter did not happen.")
    var script = false

    @Option(help: ArgumentHelp("See the options of watch and run; the demo needs none.", visibility: .hidden))
    var config: String?

    func validate() throws {
        if let duration = self.duration, !(duration > 0 && duration < 1e9) {
            throw ValidationError("--duration must be above 0 seconds, not \(duration)")
        }
    }

    func run() async throws {
        // A reader that goes away is an error, after which what was started is ended; the signal would leave it running.
        signal(SIGPIPE, SIG_IGN)
        let stage = try DemoStage()
        defer { stage.end() }
        let show = DemoShow(stage: stage, isScript: self.script, duration: self.duration)
        do {
            try await Program.run(show)
        } catch let failure as Output.Failure where failure.isClosed {}  // nobody reads on
        if self.script, !show.hasSucceeded { throw ExitCode(1) }
    }
}
