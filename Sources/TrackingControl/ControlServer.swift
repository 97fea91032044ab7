private import Glibc
public import Logging
public import TrackingCore
import TrackingRuntime

/// Takes commands on the agent's local socket: one JSON object a line, and one or more lines in answer.
///
/// Each client's commands are carried out one after the other; several clients do not wait for each other. What a client
/// sends is bounded in size, and a client that does not read is closed.
public struct ControlServer: Sendable {
    /// How many clients there may be at a time; the next is told so and closed.
    public static let maximumClients = 16

    /// Carries out a command; `say` tells what there is to tell before the answer, and throws when nobody listens any more.
    public typealias Handler =
        @Sendable (_ command: Command, _ say: (ControlLine) async throws -> Void) async -> CommandAnswer

    /// How long a client may take for one thing of many: a person may page through them.
    static let itemPatience: Duration = .seconds(600)
    /// How long for anything else.
    static let patience: Duration = .seconds(5)

    private let path: String
    private let handler: Handler
    private let logger: Logger
    /// How often it is looked whether the socket's file is still there.
    private let pause: Duration

    /// Makes a server for the socket at `path`.
    public init(path: String, logger: Logger = Logger(label: "godwit.control"), handler: @escaping Handler) {
        self.init(path: path, pause: .seconds(30), logger: logger, handler: handler)
    }

    init(
        path: String, pause: Duration, logger: Logger = Logger(label: "godwit.control"), handler: @escaping Handler
    ) {
        self.path = path
        self.pause = pause
        self.handler = handler
        self.logger = logger
    }

    /// Listens until cancelled, and removes the socket then; one that is removed meanwhile is made anew. Call it once.
    ///
    /// - Parameter listening: Told once clients can connect.
    /// - Throws: `invalidConfiguration` where the path cannot be used or another agent listens on it.
    public func run(listening: @Sendable () -> Void = {}) async throws(TrackingError) {
        var door = try Door(self.path)
        defer { door.listener.removeFile() }
        listening()
        let clients = Slots(Self.maximumClients)
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let deadline = SourceClock.now.advanced(by: self.pause)
                if await door.channel.wait(isWriting: false, until: deadline).contains(.cancelled) { break }
                await self.accept(on: door, clients, &group)
                if door.listener.isFileGone { self.replace(&door) }
            }
            group.cancelAll()
        }
    }

    /// Where clients come in.
    private struct Door {
        let listener: ControlSocket.Listener
        let channel: ByteChannel

        init(_ path: String) throws(TrackingError) {
            self.listener = try ControlSocket.listen(path)
            self.channel = ByteChannel(self.listener.descriptor, name: path)
        }
    }

    /// The socket's file was removed: another one takes its place, now or at the next look.
    private func replace(_ door: inout Door) {
        do throws(TrackingError) {
            door = try Door(self.path)
            self.logger.warning("the control socket was removed and is there again", metadata: ["path": "\(self.path)"])
        } catch {
            self.logger.debug("the control socket was removed", metadata: ["reason": "\(error)"])
        }
    }

    /// Takes in all who wait.
    private func accept(on door: Door, _ clients: Slots, _ group: inout DiscardingTaskGroup) async {
        while true {
            let descriptor = ControlSocket.accept(door.listener)
            guard descriptor >= 0 else {
                // Out of files: the socket stays readable, and looking again at once would help nobody.
                if ![EAGAIN, EINTR, ECONNABORTED].contains(errno) { try? await Task.sleep(for: .seconds(1)) }
                return
            }
            guard clients.enter() else {
                Self.turnAway(descriptor)
                continue
            }
            group.addTask {
                await self.serve(ByteChannel(descriptor, name: "a client of the control socket"))
                clients.leave()
            }
        }
    }

    private static func turnAway(_ descriptor: Int32) {
        let failure = CommandFailure(.busy, "more than \(self.maximumClients) clients ask at once; try again")
        if let line = try? ControlLine.answer(CommandAnswer(id: "?", outcome: .failure(failure))).encoded() {
            _ = send(descriptor, line, line.count, Int32(MSG_NOSIGNAL))
        }
        close(descriptor)
    }

    private func serve(_ channel: ByteChannel) async {
        var buffer = LineBuffer(limit: Command.maximumBytes)
        do {
            while case .bytes(let bytes) = try await channel.read() {
                guard let lines = buffer.append(bytes) else {
                    let failure = CommandFailure(
                        .invalidArguments, "a line has at most \(Command.maximumBytes) bytes; this one has more")
                    try await self.say(.answer(CommandAnswer(id: "?", outcome: .failure(failure))), on: channel)
                    return
                }
                for line in lines { try await self.carryOut(line, on: channel) }
            }
        } catch {
            self.logger.debug("a client of the control socket has gone", metadata: ["reason": "\(error)"])
        }
    }

    private func carryOut(_ line: [UInt8], on channel: ByteChannel) async throws {
        let command: Command
        do throws(TrackingError) {
            command = try CommandCodec.decode(line)
        } catch {
            try await self.say(.answer(CommandAnswer(id: "?", outcome: .failure(CommandFailure(error)))), on: channel)
            return
        }
        self.logger.debug("command", metadata: ["command": "\(command.name.rawValue)"])
        let answer = await self.handler(command) { line in try await self.say(line, on: channel) }
        try await self.say(.answer(answer), on: channel)
    }

    private func say(_ line: ControlLine, on channel: ByteChannel) async throws {
        do throws(TrackingError) {
            try await channel.write(line.encoded(), within: line.patience)
        } catch {
            guard error.code == .payloadTooLarge, case .answer(let answer) = line else { throw error }
            let failure = CommandAnswer(id: answer.id, outcome: .failure(CommandFailure(error)))
            try await channel.write(ControlLine.answer(failure).encoded())
        }
    }
}

extension ControlLine {
    /// How long a client may take to read it.
    fileprivate var patience: Duration {
        if case .item = self { ControlServer.itemPatience } else { ControlServer.patience }
    }
}
