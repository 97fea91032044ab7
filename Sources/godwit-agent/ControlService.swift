import ArgumentParser
import FoundationEssentials
import GodwitOptions
import Logging
import TrackingControl
import TrackingCore

/// The options of the agent for its control socket, its metrics file, commands from the broker, and the program that is
/// run for events.
struct ControlOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Accept commands on this socket. Default: $XDG_RUNTIME_DIR/godwit/agent.sock, else /run/godwit/agent.sock.",
            valueName: "path", visibility: .hidden))
    var socket: String?

    @Option(
        help: ArgumentHelp(
            "Write metrics to this file every 15 s, for node_exporter's textfile collector.", valueName: "path",
            visibility: .hidden))
    var metricsFile: String?

    @Option(
        defaultAsFlag: RemoteCommands.Acceptance.restricted,
        // The strategy `.next` accepts a value after `=` even if another option follows, unlike the default strategy.
        parsing: .next,
        help: ArgumentHelp(
            "Also accept commands from the broker. With the value unrestricted, these may also change settings so that records are discarded or subscribers see more.",
            valueName: "unrestricted"))
    var allowCommands: RemoteCommands.Acceptance?

    @Option(
        help: ArgumentHelp(
            "Run this program for each event: it reads the event from standard input as one line of JSON. Words are split at spaces, without a shell.",
            valueName: "command"))
    var notify: NotifyCommand?

    func validate() throws {
        guard self.allowCommands != .unknown else {
            throw ValidationError("--allow-commands must be given without a value, or with restricted or unrestricted")
        }
    }
}

/// The services that a running agent offers on its device: the control socket for commands, the metrics file, and
/// reports to the service manager (systemd).
struct ControlService: Sendable {
    private let control: any AgentControl
    private let socket: String?
    private let metricsFile: String?
    private let environment: [String: String]
    private let notifier: ServiceNotifier?
    private let logger = Logger(label: "godwit.control")

    /// The time between two writes of the metrics file.
    static let metricsInterval: Duration = .seconds(15)

    init(
        _ control: any AgentControl, options: ControlOptions,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.control = control
        self.socket = options.socket
        self.metricsFile = options.metricsFile
        self.environment = environment
        self.notifier = ServiceNotifier(environment: environment)
    }

    /// Runs the control socket, the metrics file and the reports to the service manager until the task is cancelled. At
    /// the end, reports to the service manager that the agent is ending.
    ///
    /// - Parameter listening: Called once the control socket accepts commands. Also called if the default socket cannot
    ///   be opened, because the agent then runs without a socket.
    /// - Throws: An error if the socket given by `--socket` cannot be opened. If the default socket cannot be opened,
    ///   only a warning is logged.
    func run(listening: @escaping @Sendable () -> Void = {}) async throws {
        defer { self.notifier?.stopping() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.listen(listening) }
            group.addTask { await self.writeMetrics() }
            group.addTask {
                await self.notifier?.keepAlive { self.notifier?.status(await self.control.respond() ?? "") }
            }
            // `waitForAll()` would throw the error of a socket only after the metrics and the watchdog have ended.
            while try await group.next() != nil {}
        }
    }

    private func listen(_ listening: @escaping @Sendable () -> Void) async throws(TrackingError) {
        let dispatcher = ControlDispatcher(self.control)
        let path = self.socket ?? ControlSocket.standardPath(environment: self.environment)
        let server = ControlServer(path: path) { await dispatcher.answer($0, say: $1) }
        do throws(TrackingError) {
            try await server.run {
                self.notifier?.ready()
                listening()
            }
        } catch {
            guard self.socket == nil else { throw error }
            self.logger.warning(
                "Control socket cannot be opened: the agent publishes, but godwit-agent status and the other commands cannot reach it. Give each agent a --socket of its own, or follow the reason",
                metadata: ["reason": "\(error)"])
            self.notifier?.ready()
            listening()
            // The task goes on until it is cancelled, so that the service manager learns of the end.
            let (nothing, sender) = AsyncStream.makeStream(of: Never.self)
            for await _ in nothing {}
            sender.finish()
        }
    }

    private func writeMetrics() async {
        guard let file = self.metricsFile else { return }
        while !Task.isCancelled {
            let metrics = await self.control.status().metrics
            do throws(TrackingError) { try OwnFile.writeShared(metrics, to: file) } catch {
                self.logger.warning(
                    "Metrics file (--metrics-file) cannot be written: it is missing or out of date, and the agent tries again every 15 s. Check the path and its permissions",
                    metadata: ["reason": "\(error)"])
            }
            try? await Task.sleep(for: Self.metricsInterval)
        }
    }
}
