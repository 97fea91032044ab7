import ArgumentParser
import GodwitOptions
import ServiceLifecycle
import Synchronization
import TrackingCore
import TrackingMQTT

/// Sends one command to the devices of several trackables, and prints each answer when it arrives.
struct CommandSender {
    let transport: MQTTTransport
    let timeout: Duration
    let failsFast: Bool

    /// Sends the commands, and waits until the device of every trackable has answered or the timeout has passed.
    ///
    /// - Throws: Exit code 1 if a command failed or a device did not answer; the connection's error if the broker
    ///   refused the connection, or if `failsFast` is `true` and the connection failed.
    func run(_ state: CommandSenderState) async throws {
        let run = CommandRun(transport: self.transport, timeout: self.timeout, failsFast: self.failsFast, state: state)
        try await Program.run(run)
        if let error = run.ending.error { throw error }
    }
}

/// One call of ``CommandSender/run(_:)``: connects to the broker, sends the commands, and prints the answers until all
/// have arrived or the timeout has passed.
private final class CommandRun: Service {
    let ending = Ending()
    private let transport: MQTTTransport
    private let timeout: Duration
    private let failsFast: Bool
    private let state: Mutex<CommandSenderState>
    /// The trackable to which each command was published, by the token of the publish. The broker's answer to a publish
    /// contains the token.
    private let ids = Mutex<[TransportToken: TrackableID]>([:])
    /// `true` once this run of the command has been connected to the broker.
    private let hasConnected = Mutex(false)

    init(transport: MQTTTransport, timeout: Duration, failsFast: Bool, state: CommandSenderState) {
        self.transport = transport
        self.timeout = timeout
        self.failsFast = failsFast
        self.state = Mutex(state)
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.transport.run() }
                group.addTask {
                    try? await Task.sleep(for: self.timeout)
                    self.close()
                }
                await self.receive()
                group.cancelAll()
            }
        }
        let silent = self.state.withLock { $0.silent }
        for id in silent {
            self.write("\(id): no answer\n")
            self.ending.note(ExitCode(1))
        }
        if !silent.isEmpty, self.hasConnected.withLock({ $0 }) {
            Program.note(
                "A device answers if its agent is connected and was started with --allow-commands. godwit watch \(silent[0].rawValue.printable) shows if it is connected\n"
            )
        }
    }

    private func close() { self.transport.send([.close(within: .seconds(2))]) }

    private func receive() async {
        for await batch in self.transport.events {
            for event in batch { self.perform(self.actions(event)) }
            self.printNews()
        }
    }

    private func actions(_ event: TransportEvent) -> [CommandSenderState.Action] {
        switch event {
        case .connected:
            self.hasConnected.withLock { $0 = true }
            return self.state.withLock { [$0.connected()] }
        case .subscribed(_, let refusals): return self.state.withLock { $0.subscribed(refusals) }
        case .received(let message): return self.state.withLock { $0.received(message) }
        case .published(let token, let refusal):
            guard let id = self.ids.withLock({ $0[token] }) else { return [] }
            return self.state.withLock { $0.published(to: id, refusal: refusal) }
        case .disconnected(let lost):
            guard let reason = lost.failure, reason.isRefusal || self.failsFast else { return [] }
            self.ending.note(reason)
            return [.finish]
        }
    }

    private func perform(_ actions: [CommandSenderState.Action]) {
        for action in actions {
            switch action {
            case .subscribe(let filters): self.transport.send([.subscribe(filters, 0)])
            case .publish(let messages): self.transport.send(self.commands(messages))
            case .finish: self.close()
            }
        }
    }

    /// Converts messages to the commands with which the connection publishes them. Gives each command a token of its
    /// own and stores the token's trackable, so that the broker's answer can be assigned to the trackable.
    private func commands(_ messages: [OutgoingMessage]) -> [TransportCommand] {
        self.ids.withLock { ids in
            messages.map { message in
                let token = TransportToken(ids.count + 1)
                ids[token] = self.state.withLock { $0.trackable(of: message) }
                return .publish(message, token)
            }
        }
    }

    /// Prints the outcomes of commands that became known since the last call.
    private func printNews() {
        for (id, outcome) in self.state.withLock({ $0.takeNews() }) {
            let (text, isDone) = Self.describe(outcome)
            self.write("\(id): \(text)".printable + "\n")
            if !isDone { self.ending.note(ExitCode(1)) }
        }
    }

    /// Writes a text to standard output. If standard output cannot be written, the error is recorded, and the program
    /// ends with it.
    private func write(_ text: String) {
        do { try Output.print(text) } catch { self.ending.note(error) }
    }

    private static func describe(_ outcome: CommandSenderState.Outcome) -> (String, isDone: Bool) {
        switch outcome {
        case .refused(let error): return ("the broker rejected the command: \(error.message)", false)
        case .answered(let answer):
            switch answer.outcome {
            case .failure(let failure): return (Self.plain("\(failure.code.rawValue): \(failure.message)"), false)
            case .success(let result):
                let json = String(decoding: JSONValue.object(result).json, as: UTF8.self)
                return (Self.plain(result.isEmpty ? "done" : "done \(json)"), true)
            }
        }
    }

    /// Returns a text from a device with `?` in place of each control character, because control characters could move
    /// the cursor of the terminal.
    private static func plain(_ text: String) -> String {
        String(text.map { $0.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } ? $0 : "?" })
    }
}
