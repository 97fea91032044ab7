import ArgumentParser
import FoundationEssentials
import GodwitOptions
import Logging
import TrackingControl
import TrackingCore

/// How a running agent is seen and steered.
struct ControlOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Take controls on this socket. Default: $XDG_RUNTIME_DIR/godwit/agent.sock, else /run/godwit/agent.sock.",
            valueName: "path"))
    var socket: String?

    @Option(
        help: ArgumentHelp(
            "Write figures to this file every 15 s, for node_exporter's textfile collector.", valueName: "path"))
    var metricsFile: String?

    @Option(
        defaultAsFlag: RemoteCommands.Acceptance.restricted,
        // A value after a sign counts also where another option follows, which the standard strategy passes over.
        parsing: .next,
        help: ArgumentHelp(
            "Also accept commands from the broker; unrestricted accepts changes of settings that discard records or show more.",
            valueName: "unrestricted"))
    var allowCommands: RemoteCommands.Acceptance?

    func validate() throws {
        guard self.allowCommands != .unknown else {
            throw ValidationError("--allow-commands has no value, or is restricted or unrestricted")
        }
    }
}

/// What the outside sees of a running agent: its control socket, its metrics file, its word to the service manager.
struct ControlService: Sendable {
    private let control: any AgentControl
    private let socket: String?
    private let metricsFile: String?
    private let environment: [String: String]
    private let notifier: ServiceNotifier?
    private let logger = Logger(label: "godwit.control")

    /// How often the metrics file is written.
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

    /// Runs until cancelled; the service manager hears then that the agent is about to end.
    ///
    /// - Parameter listening: Told once commands are taken, or it is certain that none will be.
    /// - Throws: `invalidConfiguration` where the socket that the user named cannot be used. Without one that is named,
    ///   the agent does its work without a socket.
    func run(listening: @escaping @Sendable () -> Void = {}) async throws {
        defer { self.notifier?.stopping() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.listen(listening) }
            group.addTask { await self.writeMetrics() }
            group.addTask {
                await self.notifier?.keepAlive { self.notifier?.status(await self.control.respond() ?? "") }
            }
            try await group.waitForAll()
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
            self.logger.warning("no controls", metadata: ["reason": "\(error)"])
            self.notifier?.ready()
            listening()
            // Without a socket there is still an end to be told.
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
                self.logger.warning("metrics not written", metadata: ["reason": "\(error)"])
            }
            try? await Task.sleep(for: Self.metricsInterval)
        }
    }
}
