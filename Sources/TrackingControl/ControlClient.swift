public import TrackingCore
import TrackingRuntime

/// A connection of a client program to the local socket of a running agent. The class is not `Sendable`: use it in the
/// task that created it.
public final class ControlClient {
    /// The path of the agent's control socket to which this client program is connected.
    public let path: String
    private let channel: ByteChannel
    private var buffer = LineBuffer(limit: WireLimits.maximumPayloadBytes)
    private var waiting: [ControlLine] = []
    private var generator = SystemRandomNumberGenerator()

    /// Connects to the first of `paths` on which an agent listens.
    ///
    /// - Throws: `agentUnreachable` if no agent listens on any of the paths, or if `paths` is empty; `notAuthorized` if
    ///   this user may not connect to one of them; `invalidConfiguration` for a path that is too long;
    ///   `inputUnreadable` if the system has no free descriptor.
    public init(paths: [String]) throws(TrackingError) {
        let (descriptor, path) = try Self.connect(paths)
        self.path = path
        self.channel = ByteChannel(descriptor, name: "the agent")
    }

    private static func connect(_ paths: [String]) throws(TrackingError) -> (Int32, String) {
        var failure = TrackingError(
            .agentUnreachable,
            "cannot reach the agent: no control socket is named. Name the agent's socket with --socket")
        for path in paths {
            do throws(TrackingError) {
                return (try ControlSocket.connect(path), path)
            } catch {
                // A refused connection is a more useful error than a missing agent at another path.
                if failure.code != .notAuthorized { failure = error }
            }
        }
        throw failure
    }

    /// Sends a command to the agent and waits for its answer.
    ///
    /// - Parameters:
    ///   - name: The name of the command.
    ///   - arguments: The arguments of the command.
    ///   - limit: The longest wait for each line that the agent sends, up to and including the answer; `nil` for no
    ///     limit.
    ///   - received: A function that receives the lines before the answer: progress reports and listed items.
    /// - Returns: The members of the command's result.
    /// - Throws: `CommandFailure` if the command failed; `agentUnreachable` if the agent ended or did not answer in
    ///   time; `payloadTooLarge` for a command above 16 KiB; `invalidPayload` for a line that is no answer of an agent;
    ///   any error that `received` throws.
    public func ask(
        _ name: Command.Name, _ arguments: [String: JSONValue] = [:], within limit: Duration? = .seconds(30),
        received: (ControlLine) throws -> Void = { _ in }
    ) async throws -> [String: JSONValue] {
        let id = UUIDText.random(using: &self.generator)
        let command = Command(id: id, name: name, time: DeviceClock.wall, arguments: arguments)
        do throws(TrackingError) {
            try await self.channel.write(CommandCodec.encode(command) + [UInt8(ascii: "\n")])
        } catch {
            // An agent that closed the connection may have sent the reason before, so the answer is still read.
            guard error.code == .inputUnreadable else { throw error }
        }
        while true {
            let line = try await self.nextLine(within: limit)
            if case .answer(let answer) = line, answer.id == id || answer.id == "?" { return try answer.outcome.get() }
            try received(line)
        }
    }

    /// Requests the agent's status over the socket. Returns it as the members of a JSON object, as ``AgentStatus``
    /// parses them. The list of trackables is complete, however many lines it took.
    ///
    /// - Throws: The errors of ``ask(_:_:within:received:)``.
    public func status() async throws -> [String: JSONValue] {
        var first: [JSONValue] = []
        var members = try await self.ask(.status) { line in
            if case .item(_, let piece) = line { first += piece["trackables"]?.list ?? [] }
        }
        if !first.isEmpty { members["trackables"] = .list(first + (members["trackables"]?.list ?? [])) }
        return members
    }

    private func nextLine(within limit: Duration?) async throws(TrackingError) -> ControlLine {
        let deadline = limit.map { DeviceClock.now.advanced(by: $0) }
        while self.waiting.isEmpty {
            do throws(TrackingError) {
                switch try await self.channel.read(until: deadline) {
                case .bytes(let bytes):
                    guard let lines = self.buffer.append(bytes) else {
                        throw TrackingError(
                            .agentUnreachable,
                            "the agent at '\(self.path)' sent too long a line. Use programs of the same version")
                    }
                    for line in lines { self.waiting.append(try ControlLine(line: line)) }
                case .end:
                    throw TrackingError(
                        .agentUnreachable,
                        "the agent at '\(self.path)' closed the connection before its answer. Check that it runs")
                case .quiet:
                    throw TrackingError(
                        .agentUnreachable,
                        "the agent at '\(self.path)' did not answer in time. Try again, or restart the agent")
                case .news: continue
                }
            } catch {
                guard error.code == .inputUnreadable else { throw error }
                throw TrackingError(
                    .agentUnreachable,
                    "the agent at '\(self.path)' closed the connection before its answer. Check that it runs")
            }
        }
        return self.waiting.removeFirst()
    }
}
