import ArgumentParser
import Foundation
import GodwitOptions
import TrackingCore

/// `godwit demo`: a simulated courier, a real broker and a watcher, with each step explained as it happens.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See Godwit work: a broker, a simulated courier and a watcher on this machine.",
        discussion: """
            The demo starts a private Mosquitto on a free loopback port, godwit-agent with a simulated courier, and a \
            watcher. It explains each step, and ends everything on Ctrl-C, when the terminal is closed, or after \
            --duration. On a terminal it also starts a gateway, prints a link to the live map, and takes keys: w for a \
            watcher, b for the battery, n for the network, q for the summary.

            Example:
              godwit demo
            """)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End the demo after this many seconds. Default: on Ctrl-C.", valueName: "seconds"))
    var duration: Double?

    @Flag(help: "Run all steps once and end. The exit code is 1 if the effect of a step was not observed.")
    var script = false

    @Option(help: ArgumentHelp("Not used: the demo reads no configuration file.", visibility: .private))
    var config: String?

    func validate() throws {
        if let duration = self.duration, !(duration > 0 && duration < 1e9) {
            throw ValidationError("--duration must be above 0 seconds, not \(duration)")
        }
    }

    func run() async throws {
        // With SIGPIPE ignored, a closed output is an error, after which the child programs are ended. The signal would
        // leave them running.
        signal(SIGPIPE, SIG_IGN)
        let stage = try DemoStage()
        defer { stage.end() }
        let show = DemoShow(stage: stage, isScript: self.script, duration: self.duration)
        let isStory = Terminal.isInput && Terminal.isOutput && !self.script && self.duration == nil
        do {
            if isStory { try await Program.run(DemoStory(stage: stage)) } else { try await Program.run(show) }
        } catch let failure as Output.Failure where failure.isClosed {}  // the reader closed the output
        if self.script, !show.hasSucceeded { throw ExitCode(1) }
    }
}
