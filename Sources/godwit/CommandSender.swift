import ArgumentParser
import GodwitOptions
import ServiceLifecycle
import Synchronization
import TrackingCore
import TrackingMQTT

/// Sends commands over one connection and prints what comes back.
struct CommandSender {
    let transport: MQTTTransport
    let timeout: Duration
    let failsFast: Bool

    /// Runs until everybody has answered or the time is over.
    ///
    /// - Throws: Exit code 1 where one failed or did not answer; what the broker said where it refused this program.
    func run(_ state: CommandSenderState) async throws {
        let run = CommandRun(transport: self.transport, timeout: self.timeout, failsFast: self.failsFast, state: state)
        try await Program.run(run)
        if let error = run.ending.error { throw error }
    }
}

/// One run of it.
private final class CommandRun: Service {
    let ending = Ending()
    private let transport: MQTTTransport
    private let timeout: Duration
    private let failsFast: Bool
    private let state: Mutex<CommandSenderState>
    /// Which publish is whose.
    private let ids = Mutex<[TransportToken: TrackableID]>([:])

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
                await self.listen()
                group.cancelAll()
            }
        }
        for id in self.state.withLock({ $0.silent }) {
            self.say("\(id): no answer\n")
            self.ending.note(ExitCode(1))
        }
    }

    private func close() { self.transport.send([.close(within: .seconds(2))]) }

    private func listen() async {
        for await batch in self.transport.events {
            for event in batch { self.perform(self.actions(event)) }
            self.tell()
        }
    }

    private func actions(_ event: TransportEvent) -> [CommandSenderState.Action] {
        switch event {
        case .connected: return self.state.withLock { [$0.connected()] }
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

    /// Each publish with a token that leads back to its trackable.
    private func commands(_ messages: [OutgoingMessage]) -> [TransportCommand] {
        self.ids.withLock { ids in
            messages.map { message in
                let token = TransportToken(ids.count + 1)
                ids[token] = self.state.withLock { $0.trackable(of: message) }
                return .publish(message, token)
            }
        }
    }

    /// Prints what was learned.
    private func tell() {
        for (id, outcome) in self.state.withLock({ $0.takeNews() }) {
            let (text, isDone) = Self.describe(outcome)
            self.say("\(id): \(text)".printable + "\n")
            if !isDone { self.ending.note(ExitCode(1)) }
        }
    }

    /// Who cannot say what came of it ends with that.
    private func say(_ text: String) {
        do { try Output.print(text) } catch { self.ending.note(error) }
    }

    private static func describe(_ outcome: CommandSenderState.Outcome) -> (String, isDone: Bool) {
        switch outcome {
        case .refused(let error): return ("refused by the broker: \(error.message)", false)
        case .answered(let answer):
            switch answer.outcome {
            case .failure(let failure): return (Self.plain("\(failure.code.rawValue): \(failure.message)"), false)
            case .success(let result):
                let json = String(decoding: JSONValue.object(result).json, as: UTF8.self)
                return (Self.plain(result.isEmpty ? "done" : "done \(json)"), true)
            }
        }
    }

    /// A text that cannot move the cursor: it comes from elsewhere.
    private static func plain(_ text: String) -> String {
        String(text.map { $0.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } ? $0 : "?" })
    }
}
