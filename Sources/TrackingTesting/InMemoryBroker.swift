public import TrackingCore
import Synchronization

/// An MQTT broker in memory, for tests. It has wills, retained messages, wildcards and shared subscriptions as MQTT
/// specifies them for QoS 1. It keeps no session after a connection has ended.
///
/// Each client receives its events in the order in which a real connection delivers them. Methods cause faults:
/// ``disconnect(_:)``, ``forgetRetained()``, ``refuse(_:from:)``.
///
///     let broker = InMemoryBroker()
///     let client = broker.client(try ClientID("watcher"))
///     async let run: Void = client.run()
///     for await events in client.events { … }
public final class InMemoryBroker: Sendable {
    private let state = Mutex(InMemorySessions())

    /// Makes a broker without clients and without retained messages.
    public init() {}

    /// Makes a client of this broker. It connects when ``Client/run()`` is called.
    ///
    /// - Parameters:
    ///   - id: The client id.
    ///   - will: Returns the will of a connection, given the connection's number: the message that the broker publishes
    ///     when the connection ends without a DISCONNECT. `nil` for no will.
    public func client(
        _ id: ClientID, will: (@Sendable (_ connection: Int) -> OutgoingMessage)? = nil
    ) -> Client {
        Client(id: id, broker: self, will: will)
    }

    /// Cuts the connection of the client with this id. The client's will is published, and the client connects again at
    /// once.
    public func disconnect(_ id: ClientID) {
        let error = TrackingError(.connectionLost, "the connection was cut")
        let client = self.state.withLock { $0.end(id, reason: error, retry: .zero) }
        client?.connect()
    }

    /// Deletes all retained messages of this in-memory broker, to simulate a broker that lost them in a crash. No
    /// client is informed.
    public func forgetRetained() { self.state.withLock { $0.forgetRetained() } }

    /// Rejects messages that the given client publishes to the given topics, like an access control list. It applies
    /// from now on and replaces the client's earlier topics.
    public func refuse(_ topics: Set<String>, from client: ClientID) {
        self.state.withLock { $0.refusedTopics[client] = topics }
    }

    /// Returns the payload of the message that the broker retains on a topic; `nil` when it retains none.
    public func retained(_ topic: String) -> [UInt8]? { self.state.withLock { $0.retained(topic) } }

    /// Runs `body` with exclusive access to the broker's sessions, so that all clients receive events in the same
    /// order.
    fileprivate func update<Result: Sendable>(_ body: (inout sending InMemorySessions) -> sending Result) -> Result {
        self.state.withLock(body)
    }
}

extension InMemoryBroker {
    /// One client of the in-memory broker. A test gives it to a publisher or subscriber in place of a real connection.
    public final class Client: MessageTransport {
        private struct State {
            var isClosed = false
            /// The number that the client's next connection gets. The first connection has the number 0.
            var next = 0
            /// The number of the connection whose event `.connected` the reader of the client's events received last;
            /// −1 before the first. The client's commands apply to this connection only.
            var known = -1
        }

        /// The client id with which this client connects to the in-memory broker.
        public let id: ClientID
        private let stream: AsyncStream<[TransportEvent]>
        private let continuation: AsyncStream<[TransportEvent]>.Continuation
        private let returns: (stream: AsyncStream<Duration>, continuation: AsyncStream<Duration>.Continuation)
        private let broker: InMemoryBroker
        private let will: (@Sendable (Int) -> OutgoingMessage)?
        private let state = Mutex(State())

        fileprivate init(id: ClientID, broker: InMemoryBroker, will: (@Sendable (Int) -> OutgoingMessage)?) {
            self.id = id
            self.broker = broker
            self.will = will
            (self.stream, self.continuation) = AsyncStream.makeStream(of: [TransportEvent].self)
            self.returns = AsyncStream.makeStream(of: Duration.self)
        }

        /// The events of the client's connection, such as received messages, in order. Each element is a batch of
        /// events.
        public var events: some AsyncSequence<[TransportEvent], Never> & Sendable {
            self.stream.map { events in
                for case .connected(let connection, _, _) in events { self.state.withLock { $0.known = connection } }
                return events
            }
        }

        /// Connects the client, and returns after the client was closed or the task was cancelled. A cancellation makes
        /// the broker publish the client's will.
        public func run() async {
            self.connect()
            for await wait in self.returns.stream {
                try? await Task.sleep(for: wait)
                if !Task.isCancelled { self.connect() }
            }
            self.broker.update { $0.close(self, isOrderly: false) }
        }

        /// Executes commands at once. They apply to the connection whose event `.connected` was read from ``events``
        /// last. If that connection has ended, they are ignored, apart from a command to close the client.
        public func send(_ commands: [TransportCommand]) {
            let known = self.state.withLock { $0.known }
            self.broker.update { $0.execute(commands, of: self, on: known) }
        }

        /// Connects the client at once, unless it is closed. The broker closes an existing connection with the same
        /// client id.
        fileprivate func connect() {
            let number = self.state.withLock { state -> Int? in
                guard !state.isClosed else { return nil }
                defer { state.next += 1 }
                return state.next
            }
            guard let number else { return }
            let will = self.will?(number)
            self.broker.update { $0.accept(self, number: number, will: will) }
        }

        // MARK: - From the broker, under its lock

        func deliver(_ event: TransportEvent) { self.continuation.yield([event]) }

        /// Marks the client as closed, so that it does not connect again. Returns `false` if the client was marked
        /// before.
        func beginClosing() -> Bool {
            self.state.withLock { state in
                defer { state.isClosed = true }
                return !state.isClosed
            }
        }

        /// Ends the stream of the client's events, after which the client does not connect again.
        func finish() {
            self.continuation.finish()
            self.returns.continuation.finish()
        }

        /// Schedules the next connection of the client: `run()` connects it again after the given wait.
        func comeBack(after wait: Duration) { self.returns.continuation.yield(wait) }
    }
}
