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

    /// Waits until `count` received messages match, or until no message at all has arrived for `pause`. Returns the matching
    /// messages, perhaps fewer than `count`.
    func gather(_ count: Int, pause: Duration, where matches: (IncomingMessage) -> Bool) async -> [IncomingMessage] {
        while true {
            let before = self.read { $0.messages.count }
            let isEnough = await self.wait(pause) { state in
                state.messages.count > before || state.messages.count { matches($0) } >= count
            }
            let found = self.read { $0.messages.filter(matches) }
            if !isEnough || found.count >= count { return found }
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
        let tokens = messages.map { message in self.send { .publish(message, $0) } }
        // The broker answers in order, so only the last answer is awaited.
        await self.wait(limit) { state in
            state.isLost || tokens.last.map { state.answers[$0] != nil } ?? true
        }
        await self.wait(limit) { state in state.isLost || tokens.allSatisfy { state.answers[$0] != nil } }
        return self.read { state in tokens.map { state.answers[$0] == [nil] } }
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

extension Probe.State {
    /// `true` if a connection was lost, or no further event follows.
    var isLost: Bool { !self.losses.isEmpty || self.hasEnded }

    mutating func note(_ event: TransportEvent) {
        switch event {
        case .connected(_, let isSessionPresent):
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
