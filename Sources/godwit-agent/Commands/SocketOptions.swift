import ArgumentParser
import FoundationEssentials
import GodwitOptions
import TrackingControl
import TrackingCore

/// The option that selects a running agent. Every command that asks one has it.
struct SocketOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Ask the agent at this control socket. Default: $XDG_RUNTIME_DIR/godwit/agent.sock, else /run/godwit/agent.sock.",
            valueName: "path"))
    var socket: String?

    /// Connects to the agent.
    ///
    /// - Throws: `agentUnreachable` with the remedy.
    func connect() throws(TrackingError) -> ControlClient {
        let environment = ProcessInfo.processInfo.environment
        return try ControlClient(paths: self.socket.map { [$0] } ?? ControlSocket.candidates(environment: environment))
    }

    /// Has the agent carry out a command, and returns its result.
    @discardableResult
    func ask(
        _ name: Command.Name, _ arguments: [String: JSONValue] = [:]
    ) async throws -> [String: JSONValue] {
        try await self.connect().ask(name, arguments)
    }

    /// Has the agent carry out a command that takes long, and shows its progress.
    func askAndWait(_ name: Command.Name, _ arguments: [String: JSONValue] = [:]) async throws -> [String: JSONValue] {
        let client = try self.connect()
        guard Terminal.isOutput else { return try await client.ask(name, arguments, within: nil) }
        defer { Output.writeAll("\r\u{1B}[K") }
        return try await client.ask(name, arguments, within: nil) { line in
            guard case .progress(_, let done, let total) = line else { return }
            Output.writeAll("\r" + ProgressBar(done: done, total: total).text(width: Terminal.size.width) + "\u{1B}[K")
        }
    }
}

extension TrackableID {
    /// Reads an id, and returns it as an argument of a command.
    ///
    /// - Throws: `ValidationError` that names the broken rule.
    static func argument(_ text: String) throws -> JSONValue {
        do throws(TrackingError) { return .text(try TrackableID(text).rawValue) } catch {
            throw ValidationError(error.message)
        }
    }
}

extension Coordinate {
    /// The place as an argument of a command.
    var json: JSONValue { .list([.number(self.longitude), .number(self.latitude)]) }
}
