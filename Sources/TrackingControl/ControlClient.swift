public import TrackingCore
import TrackingRuntime

/// One connection to a running agent's local socket. Not `Sendable`: it belongs to the task that made it.
public final class ControlClient {
    /// The socket that answered.
    public let path: String
    private let channel: ByteChannel
    private var buffer = LineBuffer(limit: WireLimits.maximumPayloadBytes)
    private var waiting: [ControlLine] = []
    private var generator = SystemRandomNumberGenerator()

    /// Connects to the first of `paths` where an agent listens.
    ///
    /// - Throws: `agentUnreachable` where none does, `notAuthorized` where this user may not talk to it.
    public init(paths: [String]) throws(TrackingError) {
        let (descriptor, path) = try Self.connect(paths)
        self.path = path
        self.channel = ByteChannel(descriptor, name: "the agent")
    }

    private static func connect(_ paths: [String]) throws(TrackingError) -> (Int32, String) {
        var failure = TrackingError(.agentUnreachable, "no socket is named")
        for path in paths {
            do throws(TrackingError) {
                return (try ControlSocket.connect(path), path)
            } catch {
                // That an agent may not be reached says more than that none was found elsewhere.
                if failure.code != .notAuthorized { failure = error }
            }
        }
        throw failure
    }

    /// Has a command carried out.
    ///
    /// - Parameters:
    ///   - limit: How long to wait for each line of the answer; `nil` waits for ever.
    ///   - heard: Told what comes before the answer.
    /// - Returns: What there is to tell.
    /// - Throws: `CommandFailure` where it was not done, `TrackingError.agentUnreachable` where the agent went or did not
    ///   answer in time, and what `heard` throws.
    public func ask(
        _ name: Command.Name, _ arguments: [String: JSONValue] = [:], within limit: Duration? = .seconds(30),
        heard: (ControlLine) throws -> Void = { _ in }
    ) async throws -> [String: JSONValue] {
        let id = UUIDText.random(using: &self.generator)
        let command = Command(id: id, name: name, time: SourceClock.unix, arguments: arguments)
        do throws(TrackingError) {
            try await self.channel.write(CommandCodec.encode(command) + [UInt8(ascii: "\n")])
        } catch {
            // Where it has closed, it may have said why before.
            guard error.code == .inputUnreadable else { throw error }
        }
        while true {
            let line = try await self.nextLine(within: limit)
            if case .answer(let answer) = line, answer.id == id || answer.id == "?" { return try answer.outcome.get() }
            try heard(line)
        }
    }

    /// How things stand: the members of an ``AgentStatus``, however many trackables it has.
    ///
    /// - Throws: As ``ask(_:_:within:heard:)``.
    public func status() async throws -> [String: JSONValue] {
        var first: [JSONValue] = []
        var members = try await self.ask(.status) { line in
            if case .item(_, let piece) = line { first += piece["trackables"]?.list ?? [] }
        }
        if !first.isEmpty { members["trackables"] = .list(first + (members["trackables"]?.list ?? [])) }
        return members
    }

    private func nextLine(within limit: Duration?) async throws(TrackingError) -> ControlLine {
        let deadline = limit.map { SourceClock.now.advanced(by: $0) }
        while self.waiting.isEmpty {
            do throws(TrackingError) {
                switch try await self.channel.read(until: deadline) {
                case .bytes(let bytes):
                    guard let lines = self.buffer.append(bytes) else {
                        throw TrackingError(.agentUnreachable, "the agent at '\(self.path)' says more than it should")
                    }
                    for line in lines { self.waiting.append(try ControlLine(line: line)) }
                case .end: throw TrackingError(.agentUnreachable, "the agent at '\(self.path)' has ended")
                case .quiet: throw TrackingError(.agentUnreachable, "the agent at '\(self.path)' does not answer")
                case .news: continue
                }
            } catch {
                guard error.code == .inputUnreadable else { throw error }
                throw TrackingError(.agentUnreachable, "the agent at '\(self.path)' has ended")
            }
        }
        return self.waiting.removeFirst()
    }
}
