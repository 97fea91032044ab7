import ArgumentParser
import FoundationEssentials
import GodwitOptions
import TrackingControl
import TrackingCore

/// The option `--socket`, which selects a running agent. Every command that asks a running agent has it.
struct SocketOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Ask the agent at this control socket. Default: $XDG_RUNTIME_DIR/godwit/agent.sock, else /run/godwit/agent.sock.",
            valueName: "path"))
    var socket: String?

    /// Connects to the running agent.
    ///
    /// - Throws: `agentUnreachable` if no agent listens; `notAuthorized` if this user may not connect.
    func connect() throws(TrackingError) -> ControlClient {
        let environment = ProcessInfo.processInfo.environment
        return try ControlClient(paths: self.socket.map { [$0] } ?? ControlSocket.candidates(environment: environment))
    }

    /// Connects to the agent, sends it a command, and returns the result of the command as JSON members.
    @discardableResult
    func ask(
        _ name: Command.Name, _ arguments: [String: JSONValue] = [:]
    ) async throws -> [String: JSONValue] {
        try await self.connect().ask(name, arguments)
    }

    /// Sends the agent a command that takes long, and returns its result as JSON members. Meanwhile, shows the progress
    /// if the output is a terminal.
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
    /// Checks the id of a trackable, and returns it as JSON for the arguments of a command.
    ///
    /// - Throws: `ValidationError` that names the rule for ids that the text breaks.
    static func argument(_ text: String) throws -> JSONValue {
        do throws(TrackingError) { return .text(try TrackableID(text).rawValue) } catch {
            throw ValidationError(error.message)
        }
    }
}

extension Coordinate {
    /// The coordinate as JSON for the arguments of a command: `[longitude, latitude]` in degrees.
    var json: JSONValue { .list([.number(self.longitude), .number(self.latitude)]) }
}
