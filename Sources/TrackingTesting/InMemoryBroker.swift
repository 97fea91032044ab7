public import TrackingCore
import Synchronization

/// A broker in memory, for tests: sessions, wills, retained messages and wildcards as MQTT has them, at QoS 1.
///
/// Each client's events come in the order a real connection would tell them. Faults are methods: ``disconnect(_:)``,
/// ``forgetRetained()``.
public final class InMemoryBroker: Sendable {
    private struct Connection {
        var filters: [[Substring]] = []
        var will: OutgoingMessage?
    }

    private struct State {
        var retained: [String: OutgoingMessage] = [:]
        var connections: [ClientID: Connection] = [:]
        var clients: [ClientID: Client] = [:]
        var refusedTopics: [ClientID: Set<String>] = [:]
    }

    private let state = Mutex(State())

    /// Makes a broker without clients and retained messages.
    public init() {}

    /// Makes a client; it connects when it is run.
    ///
    /// - Parameter will: What is published when the connection ends without a goodbye; asked anew for each connection.
    public func client(
        _ id: ClientID, will: (@Sendable (_ connection: Int) -> OutgoingMessage)? = nil
    ) -> Client {
        let client = Client(id: id, broker: self, will: will)
        self.state.withLock { $0.clients[id] = client }
        return client
    }

    /// Cuts a client's connection: its will is published, and it connects again at once.
    public func disconnect(_ id: ClientID) {
        self.drop(id, sendsWill: true)
        guard let client = self.state.withLock({ $0.clients[id] }) else { return }
        client.lost()
        client.connect()
    }

    /// Loses every retained message, as a broker that crashed.
    public func forgetRetained() { self.state.withLock { $0.retained = [:] } }

    /// Refuses publishes of a client to these topics from now on, as an access list would.
    public func refuse(_ topics: Set<String>, from client: ClientID) {
        self.state.withLock { $0.refusedTopics[client] = topics }
    }

    /// The retained message of a topic.
    public func retained(_ topic: String) -> [UInt8]? { self.state.withLock { $0.retained[topic]?.payload } }

    // MARK: - From clients

    fileprivate func accept(_ id: ClientID, will: OutgoingMessage?) {
        self.state.withLock { $0.connections[id] = Connection(will: will) }
    }

    fileprivate func drop(_ id: ClientID, sendsWill: Bool) {
        let will = self.state.withLock { $0.connections.removeValue(forKey: id)?.will }
        if sendsWill, let will { self.route(will) }
    }

    fileprivate func refusal(of topic: String, from client: ClientID) -> TrackingError? {
        self.state.withLock { $0.refusedTopics[client]?.contains(topic) == true }
            ? TrackingError(.notAuthorized, "the broker's rules forbid this topic", reasonCode: 0x87) : nil
    }

    fileprivate func route(_ message: OutgoingMessage) {
        let levels = message.topic.split(separator: "/", omittingEmptySubsequences: false)
        let receivers: [Client] = self.state.withLock { state in
            if message.isRetained { state.retained[message.topic] = message.payload.isEmpty ? nil : message }
            return state.connections.compactMap { id, connection in
                connection.filters.contains { matches(levels, $0) } ? state.clients[id] : nil
            }
        }
        for receiver in receivers { receiver.deliver([message], isRetained: false) }
    }

    fileprivate func subscribe(_ id: ClientID, _ filters: [String]) -> [OutgoingMessage] {
        let split = filters.map { $0.split(separator: "/", omittingEmptySubsequences: false) }
        return self.state.withLock { state in
            state.connections[id]?.filters += split
            return split.flatMap { filter in
                state.retained.values.filter {
                    matches($0.topic.split(separator: "/", omittingEmptySubsequences: false), filter)
                }
            }
        }
    }

    fileprivate func unsubscribe(_ id: ClientID, _ filters: [String]) {
        let split = filters.map { $0.split(separator: "/", omittingEmptySubsequences: false) }
        self.state.withLock { $0.connections[id]?.filters.removeAll { split.contains($0) } }
    }
}

/// Whether a topic matches a filter (MQTT 3.1.1, section 4.7).
private func matches(_ topic: [Substring], _ filter: [Substring]) -> Bool {
    for (index, level) in filter.enumerated() {
        if level == "#" { return true }
        guard index < topic.count, level == "+" || level == topic[index] else { return false }
    }
    return topic.count == filter.count
}

extension InMemoryBroker {
    /// One client of the broker: what a role is given in place of a real connection.
    public final class Client: MessageTransport {
        private struct State {
            var isConnected = false
            var isClosed = false
            var connections = 0
        }

        /// Its name.
        public let id: ClientID
        /// What happened, in order.
        public let events: AsyncStream<[TransportEvent]>
        private let continuation: AsyncStream<[TransportEvent]>.Continuation
        private let ended: (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation)
        private let broker: InMemoryBroker
        private let will: (@Sendable (Int) -> OutgoingMessage)?
        private let state = Mutex(State())

        fileprivate init(id: ClientID, broker: InMemoryBroker, will: (@Sendable (Int) -> OutgoingMessage)?) {
            self.id = id
            self.broker = broker
            self.will = will
            (self.events, self.continuation) = AsyncStream.makeStream(of: [TransportEvent].self)
            self.ended = AsyncStream.makeStream(of: Void.self)
        }

        /// Connects, and returns when the client was closed or the task cancelled.
        public func run() async {
            self.connect()
            for await _ in self.ended.stream {}
            self.close()
        }

        /// Carries out commands at once.
        public func send(_ commands: [TransportCommand]) {
            for command in commands where self.state.withLock({ $0.isConnected }) || command.isClose {
                self.carryOut(command)
            }
        }

        private func carryOut(_ command: TransportCommand) {
            switch command {
            case .publish(let message, let token):
                let refusal = self.broker.refusal(of: message.topic, from: self.id)
                if refusal == nil { self.broker.route(message) }
                self.continuation.yield([.published(token, refusal: refusal)])
            case .subscribe(let filters, let token):
                let retained = self.broker.subscribe(self.id, filters)
                self.deliver(retained, isRetained: true)
                self.continuation.yield([.subscribed(token, refusals: filters.map { _ in nil })])
            case .unsubscribe(let filters):
                self.broker.unsubscribe(self.id, filters)
            case .close:
                self.close()
            }
        }

        fileprivate func deliver(_ messages: [OutgoingMessage], isRetained: Bool) {
            guard !messages.isEmpty else { return }
            self.continuation.yield(
                messages.map {
                    .received(
                        IncomingMessage(
                            topic: $0.topic, payload: $0.payload[...], isRetained: isRetained, properties: $0.properties
                        ))
                })
        }

        fileprivate func connect() {
            let connection: Int? = self.state.withLock { state in
                guard !state.isClosed else { return nil }
                state.isConnected = true
                defer { state.connections += 1 }
                return state.connections
            }
            guard let connection else { return }
            self.broker.accept(self.id, will: self.will?(connection))
            self.continuation.yield([.connected(connection: connection, sessionPresent: false)])
        }

        fileprivate func lost() {
            self.state.withLock { $0.isConnected = false }
            let error = TrackingError(.connectionLost, "the connection was cut")
            self.continuation.yield([.disconnected(Disconnection(reason: error, retry: .zero, lasted: .zero))])
        }

        private func close() {
            let wasClosed = self.state.withLock { state in
                defer { (state.isClosed, state.isConnected) = (true, false) }
                return state.isClosed
            }
            guard !wasClosed else { return }
            self.broker.drop(self.id, sendsWill: false)
            self.continuation.yield([.disconnected(Disconnection(reason: nil, retry: nil, lasted: .zero))])
            self.continuation.finish()
            self.ended.continuation.finish()
        }
    }
}

extension TransportCommand {
    fileprivate var isClose: Bool { if case .close = self { true } else { false } }
}
