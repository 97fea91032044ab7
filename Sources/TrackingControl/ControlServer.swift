private import SystemLibrary
public import Logging
public import TrackingCore
import TrackingRuntime

/// Accepts commands on the agent's local socket. Each command is one line with a JSON object. The agent answers with
/// one or more lines.
///
/// Commands of one client are performed one after the other; clients do not wait for each other. The length of a
/// command is limited, and a client that does not read its answers is disconnected.
public struct ControlServer: Sendable {
    /// The largest number of clients that are connected to the control socket at the same time: 16. A further client
    /// receives an error and is disconnected.
    public static let maximumClients = 16

    /// A function that performs a command and returns its answer. Its parameter `say` sends lines to the client before
    /// the answer, and throws if the client has disconnected.
    public typealias Handler =
        @Sendable (_ command: Command, _ say: (ControlLine) async throws -> Void) async -> CommandAnswer

    /// The time within which a client must read an item, such as one record of a long export. The time is long, because
    /// a person may read the output page by page.
    static let itemPatience: Duration = .seconds(600)
    /// The time within which a client must read an answer or a progress report. A client that is slower is
    /// disconnected.
    static let patience: Duration = .seconds(5)

    private let path: String
    private let handler: Handler
    private let logger: Logger
    /// The wait after the socket's file was removed, until it is created again. A program that removes old temporary
    /// files may remove the file first and its folder afterwards; the wait lets it finish.
    private let pause: Duration

    /// Creates a server for the control socket at `path`.
    ///
    /// - Parameter handler: The function that performs each command.
    public init(path: String, logger: Logger = Logger(label: "godwit.control"), handler: @escaping Handler) {
        self.init(path: path, pause: .seconds(1), logger: logger, handler: handler)
    }

    init(
        path: String, pause: Duration, logger: Logger = Logger(label: "godwit.control"), handler: @escaping Handler
    ) {
        self.path = path
        self.pause = pause
        self.handler = handler
        self.logger = logger
    }

    /// Accepts clients on the control socket until the task is cancelled, and then removes the socket's file. If
    /// another program removes the file meanwhile, the server creates the socket again. Call this function once.
    ///
    /// - Parameter listening: Called once clients can connect.
    /// - Throws: `invalidConfiguration` if the path cannot be used or another agent listens on it; `inputUnreadable` if
    ///   the system has no free descriptor.
    public func run(listening: @Sendable () -> Void = {}) async throws(TrackingError) {
        var door = try Door(self.path)
        defer { door.listener.removeFile() }
        listening()
        let clients = Slots(Self.maximumClients)
        await withDiscardingTaskGroup { group in
            var replacement: MonotonicTime?
            while !Task.isCancelled {
                let deadline = replacement ?? door.nextLook
                if await door.channel.wait(isWriting: false, until: deadline).contains(.cancelled) { break }
                await self.accept(on: door, clients, &group)
                self.replace(&door, at: &replacement)
            }
            group.cancelAll()
        }
    }

    /// The listening socket of the control server, with the channel on which the server waits for clients that want to
    /// connect.
    private struct Door {
        let listener: ControlSocket.Listener
        let channel: ByteChannel
        /// The file watch that wakes the control server when the file of its socket is removed. `nil` if the operating
        /// system could not provide a file watch.
        private let changes: FileChanges?

        init(_ path: String) throws(TrackingError) {
            self.listener = try ControlSocket.listen(path)
            self.channel = ByteChannel(self.listener.descriptor, name: path)
            self.changes = FileChanges(path) { [waiter = self.channel.waiter] in waiter.signal(.news) }
        }

        /// The time at which the control server next checks that the file of its socket exists: in 30 s. `nil` with a
        /// file watch, which reports the removal of the file.
        var nextLook: MonotonicTime? { self.changes == nil ? DeviceClock.now.advanced(by: .seconds(30)) : nil }
    }

    /// Creates the control socket again after its file was removed, once the wait ``pause`` is over. After a failed
    /// attempt, the next one follows after 30 times that wait.
    ///
    /// - Parameters:
    ///   - door: The listening socket to replace.
    ///   - time: The time of the re-creation, or of the next attempt. The function sets it, and sets it to `nil` while
    ///     the file exists.
    private func replace(_ door: inout Door, at time: inout MonotonicTime?) {
        guard door.listener.isFileGone else { return time = nil }
        let now = DeviceClock.now
        guard let due = time else { return time = now.advanced(by: self.pause) }
        guard due <= now else { return }
        do throws(TrackingError) {
            door = try Door(self.path)
            time = nil
            self.logger.warning(
                "Control socket was created again, because its file had been removed: the agent receives commands on it again",
                metadata: ["path": "\(self.path)"])
        } catch {
            time = now.advanced(by: self.pause * 30)
            self.logger.warning(
                "Control socket could not be created again after its file was removed: the agent receives no commands on it, and tries again. Check the permissions of its folder",
                metadata: ["reason": "\(error)"])
        }
    }

    /// Accepts all clients that wait for a connection to the control socket. Clients beyond ``maximumClients`` get an
    /// error and are disconnected.
    private func accept(on door: Door, _ clients: Slots, _ group: inout DiscardingTaskGroup) async {
        while true {
            let descriptor = ControlSocket.accept(door.listener)
            guard descriptor >= 0 else {
                // Without free descriptors the socket remains readable, so the server waits before the next attempt.
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
        let failure = CommandFailure(
            .busy,
            "cannot accept the command: \(self.maximumClients) programs are connected to the agent, which is the limit. Try again"
        )
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
                        .invalidArguments,
                        "cannot read the command: it has more than \(Command.maximumBytes) bytes. Shorten it")
                    try await self.write(.answer(CommandAnswer(id: "?", outcome: .failure(failure))), on: channel)
                    return
                }
                for line in lines { try await self.perform(line, on: channel) }
            }
        } catch {
            self.logger.debug(
                "Connection of a command-line program to the agent's control socket ended with an error: the program may not have received its answer",
                metadata: ["reason": "\(error)"])
        }
    }

    private func perform(_ line: [UInt8], on channel: ByteChannel) async throws {
        let command: Command
        do throws(TrackingError) {
            command = try CommandCodec.decode(line)
        } catch {
            try await self.write(.answer(CommandAnswer(id: "?", outcome: .failure(CommandFailure(error)))), on: channel)
            return
        }
        self.logger.debug(
            "Agent received a command on its control socket", metadata: ["command": "\(command.name.rawValue)"])
        let answer = await self.handler(command) { line in try await self.write(line, on: channel) }
        try await self.write(.answer(answer), on: channel)
    }

    private func write(_ line: ControlLine, on channel: ByteChannel) async throws {
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
    /// The time within which a client of the control socket must read a line that the agent sent. The time is longer
    /// for an item, such as one record of an export.
    fileprivate var patience: Duration {
        if case .item = self { ControlServer.itemPatience } else { ControlServer.patience }
    }
}
