import ArgumentParser
import Foundation
import GodwitOptions
import TrackingCore
import TrackingRoads

/// `godwit demo`: a simulated courier, a real broker and a watcher, with each step explained as it happens.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See Godwit work: a broker, a simulated courier and a watcher on this machine.",
        discussion: """
            The demo starts a private Mosquitto on a free loopback port, godwit-agent with a simulated courier, and a \
            watcher. It explains each step, and ends everything on Ctrl-C, when the terminal is closed, or after \
            --duration. On a terminal it also starts a gateway, prints a link to the live map, and takes keys: w for a \
            watcher, b for the battery, n for the network, q for the summary.

            With --roads, a van drives past three stops of a generated town. The demo prints its road and its arrival \
            times, and the map shows the streets. With --engine and --at, the van drives on real roads.

            Example:
              godwit demo
              godwit demo --roads
            """)

    @Flag(help: "Show positions on the road and arrival times at three stops.")
    var roads = false

    @Option(
        help: ArgumentHelp(
            "With --roads and --at, use the roads of this routing engine: valhalla:http://HOST:PORT. Default: a generated town.",
            valueName: "address"))
    var engine: EngineAddress?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("With --engine, drive around this place, in degrees.", valueName: "lat,lon"))
    var at: Coordinate?

    @Option(help: ArgumentHelp("Run the private broker on this port. Default: a free one.", valueName: "port"))
    var port: UInt16?

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
        if self.namesEngine, self.at == nil {
            throw ValidationError("--engine needs --at LAT,LON, a place in the region of the engine's extract")
        }
        if self.at != nil, self.engine == nil {
            throw ValidationError(
                "--at needs --engine valhalla:http://HOST:PORT, because the generated town has its own place")
        }
        if self.at != nil, !self.roads { throw ValidationError("--engine and --at need --roads") }
        if let port = self.port, port < 1024 { throw ValidationError("--port must be 1024 to 65535, not \(port)") }
    }

    /// `true` if the command line names an engine. An engine in the environment or in the configuration file may be for
    /// other commands, and the demo uses it only with `--at`.
    private var namesEngine: Bool {
        CommandLine.arguments.contains { $0 == "--engine" || $0.hasPrefix("--engine=") }
    }

    func run() async throws {
        // With SIGPIPE ignored, a closed output is an error, after which the child programs are ended. The signal would
        // leave them running.
        signal(SIGPIPE, SIG_IGN)
        let stage = try DemoStage(port: self.port ?? 0)
        defer { stage.end() }
        let hasSucceeded: Bool
        do {
            hasSucceeded = try await self.roads ? self.runRoads(stage) : self.runCourier(stage)
        } catch let failure as Output.Failure where failure.isClosed {  // the reader closed the output
            hasSucceeded = false
        }
        if self.script, !hasSucceeded { throw ExitCode(1) }
    }

    /// `true` if the demo is a story for a person at a terminal.
    private var isStory: Bool { Terminal.isInput && Terminal.isOutput && !self.script && self.duration == nil }

    /// Runs the demo of a courier. Returns `true` if the effect of every step was observed.
    private func runCourier(_ stage: DemoStage) async throws -> Bool {
        if self.isStory {
            try await Program.run(DemoStory(stage: stage))
            return true
        }
        let show = DemoShow(stage: stage, isScript: self.script, duration: self.duration)
        try await Program.run(show)
        return show.hasSucceeded
    }

    /// Runs the demo of positions on the road. Returns `true` if the effect of every step was observed.
    private func runRoads(_ stage: DemoStage) async throws -> Bool {
        let engine = self.at == nil ? nil : try self.engine.map { try ValhallaEngine(url: $0.url) }
        let show = try await DemoRoadsShow(
            stage: stage, form: self.isStory ? .story : self.script ? .script : .lines, duration: self.duration,
            engine: engine, around: self.at)
        try await Program.run(show)
        return show.hasSucceeded
    }
}
