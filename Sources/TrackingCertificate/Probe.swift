import Synchronization
import TrackingCore
import TrackingRuntime

/// One client of the broker under test: sends commands, collects the events, and waits for them with a deadline.
final class Probe<Transport: MessageTransport>: Sendable {
    /// The events of the connection so far.
    struct State {
        /// The messages that arrived, in order.
        var messages: [IncomingMessage] = []
        /// The broker's answers by the token of the command: one entry for a publish, one for each filter of a
        /// subscription. An entry is `nil` if the broker accepted.
        var answers: [TransportToken: [TrackingError?]] = [:]
        /// The number of connections that the broker accepted.
        var connections = 0
        /// `true` if the broker knew a session of this client when it accepted the last connection.
        var isSessionPresent = false
        /// The lost connections and the failed attempts to connect.
        var losses: [Disconnection] = []
        /// `true` after the last event of the transport.
        var hasEnded = false
        var lastToken: TransportToken = 0
        var bytes = 0
    }

    /// The bytes of received payloads at which the client stops reading, so that a broker cannot fill the memory.
    private static var maximumBytes: Int { 32 * 1_024 * 1_024 }

    private let transport: Transport
    private let state = Mutex(State())
    private let changed = WakeSignal()

    init(_ transport: Transport) { self.transport = transport }

    /// Runs the client until it is closed or the task is cancelled. A cancellation cuts the connection without a
    /// DISCONNECT.
    func run() async {
        async let running: Void = self.transport.run()
        for await batch in self.transport.events {
            self.state.withLock { state in
                for event in batch { state.note(event) }
            }
            self.changed.notify()
            if self.state.withLock({ $0.bytes > Self.maximumBytes }) { break }
        }
        await running
        self.state.withLock { $0.hasEnded = true }
        self.changed.notify()
    }

    /// Reads a value from the events so far.
    func read<Value>(_ body: (State) -> Value) -> Value { self.state.withLock { body($0) } }

    /// Waits until the events so far meet a condition. Returns `false` after the limit, and when the task is cancelled.
    @discardableResult
    func wait(_ limit: Duration, for condition: (State) -> Bool) async -> Bool {
        let deadline = DeviceClock.now.advanced(by: limit)
        return await self.changed.wait(until: deadline) { self.read(condition) }
    }

    /// Waits until `count` different messages match, until no message at all has arrived for `pause`, or until the limit.
    /// Returns the matching messages: perhaps fewer than `count`, and perhaps repeated ones.
    func gather(
        _ count: Int, pause: Duration, within limit: Duration = Certification<Transport>.longPatience,
        where matches: (IncomingMessage) -> Bool
    ) async -> [IncomingMessage] {
        let deadline = DeviceClock.now.advanced(by: limit)
        while true {
            let before = self.read { $0.messages.count }
            let next = min(deadline, DeviceClock.now.advanced(by: pause))
            let hasNews = await self.changed.wait(until: next) {
                self.read { $0.messages.count > before || $0.has(count, where: matches) }
            }
            let isOver = !hasNews || DeviceClock.now >= deadline || self.read { $0.has(count, where: matches) }
            if isOver { return self.read { $0.messages.filter(matches) } }
        }
    }

    /// Sends a command with a new token, and returns the token.
    private func send(_ command: (TransportToken) -> TransportCommand) -> TransportToken {
        let token = self.state.withLock { state in
            state.lastToken += 1
            return state.lastToken
        }
        self.transport.send([command(token)])
        return token
    }

    /// Subscribes to topic filters in one packet, and waits for the broker's answers.
    ///
    /// - Returns: For each filter, the broker's refusal, or `nil` if the broker granted it.
    /// - Throws: `connectionLost` without an answer within the limit.
    @discardableResult
    func subscribe(_ filters: [String], within limit: Duration) async throws(TrackingError) -> [TrackingError?] {
        let token = self.send { .subscribe(filters, $0) }
        await self.wait(limit) { $0.answers[token] != nil || $0.isLost }
        guard let answers = self.read({ $0.answers[token] }) else { throw self.noAnswer("a subscription") }
        return answers
    }

    /// Publishes messages in order, and waits for the broker's answers.
    ///
    /// - Returns: For each message, `true` if the broker acknowledged it without a refusal.
    func publish(_ messages: [OutgoingMessage], within limit: Duration) async -> [Bool] {
        await self.answers(to: messages, within: limit).map { $0 == .accepted }
    }

    /// Publishes a message that the broker must accept.
    ///
    /// - Throws: The broker's refusal, or `connectionLost` without an answer within the limit.
    func require(_ message: OutgoingMessage, within limit: Duration) async throws(TrackingError) {
        for answer in await self.answers(to: [message], within: limit) {
            switch answer {
            case .accepted: continue
            case .refused(let refusal): throw refusal
            case .missing: throw self.noAnswer("a publish")
            }
        }
    }

    /// Publishes messages in order, and waits for the broker's answers. Returns the answer to each message.
    func answers(to messages: [OutgoingMessage], within limit: Duration) async -> [PublishAnswer] {
        let tokens = messages.map { message in self.send { .publish(message, $0) } }
        // The broker answers in order, so only the last answer is awaited.
        await self.wait(limit) { state in
            state.isLost || tokens.last.map { state.answers[$0] != nil } ?? true
        }
        await self.wait(limit) { state in state.isLost || tokens.allSatisfy { state.answers[$0] != nil } }
        return self.read { state in
            tokens.map { token in
                guard let answers = state.answers[token] else { return .missing }
                return answers.compactMap { $0 }.first.map { PublishAnswer.refused($0) } ?? .accepted
            }
        }
    }

    /// Acknowledges every message received on the first connection.
    func acknowledgeAll() {
        let count = self.read { $0.messages.count }
        self.transport.send([.acknowledge(through: count, connection: 0)])
    }

    /// Disconnects in order, and returns when the connection has ended.
    func close() async {
        self.transport.send([.close(within: .seconds(2))])
        await self.wait(.seconds(5)) { $0.hasEnded }
    }

    /// The error for an operation to which the broker gave no answer.
    func noAnswer(_ what: String) -> TrackingError {
        let reason = self.read { $0.losses.last?.reason }
        return reason ?? TrackingError(.connectionLost, "the broker did not answer \(what) in time")
    }
}

/// The broker's answer to one published message.
enum PublishAnswer: Hashable, Sendable {
    /// The broker acknowledged the message.
    case accepted
    /// The broker refused the message, with this reason.
    case refused(TrackingError)
    /// The broker did not answer in time, or the connection was lost before.
    case missing
}

/// The topic and the number of a message: two messages with the same key are one repeated message.
private struct MessageKey: Hashable {
    let topic: String
    let number: Int?
}

extension Probe.State {
    /// Returns `true` if `count` matching messages with different topics or numbers have arrived.
    func has(_ count: Int, where matches: (IncomingMessage) -> Bool) -> Bool {
        let found = self.messages.filter(matches)
        // The first comparison is cheap, and is enough most of the time.
        return found.count >= count
            && Set(found.map { MessageKey(topic: $0.topic, number: $0.number) }).count >= count
    }

    /// `true` if a connection was lost, or no further event follows.
    var isLost: Bool { !self.losses.isEmpty || self.hasEnded }

    mutating func note(_ event: TransportEvent) {
        switch event {
        case .connected(_, let isSessionPresent, _):
            self.connections += 1
            self.isSessionPresent = isSessionPresent
        case .disconnected(let loss): self.losses.append(loss)
        case .received(let message):
            self.messages.append(message)
            self.bytes += message.payload.count
        case .published(let token, let refusal): self.answers[token] = [refusal]
        case .subscribed(let token, let refusals): self.answers[token] = refusals
        }
    }
}
