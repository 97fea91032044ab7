public import TrackingCore
import Synchronization

/// A broker in memory, for tests: sessions, wills, retained messages, wildcards and shared subscriptions as MQTT has
/// them, at QoS 1.
///
/// Each client's events come in the order a real connection would tell them. Faults are methods: ``disconnect(_:)``,
/// ``forgetRetained()``, ``refuse(_:from:)``.
public final class InMemoryBroker: Sendable {
    private let state = Mutex(InMemorySessions())

    /// Makes a broker without clients and retained messages.
    public init() {}

    /// Makes a client; it connects when it is run.
    ///
    /// - Parameter will: What is published when the connection ends without a goodbye; asked anew for each connection.
    public func client(
        _ id: ClientID, will: (@Sendable (_ connection: Int) -> OutgoingMessage)? = nil
    ) -> Client {
        Client(id: id, broker: self, will: will)
    }

    /// Cuts a client's connection: its will is published, and it connects again at once.
    public func disconnect(_ id: ClientID) {
        let error = TrackingError(.connectionLost, "the connection was cut")
        let client = self.state.withLock { $0.end(id, reason: error, retry: .zero) }
        client?.connect()
    }

    /// Loses every retained message, as a broker that crashed.
    public func forgetRetained() { self.state.withLock { $0.forgetRetained() } }

    /// Refuses publishes of a client to these topics from now on, as an access list would.
    public func refuse(_ topics: Set<String>, from client: ClientID) {
        self.state.withLock { $0.refusedTopics[client] = topics }
    }

    /// The retained message of a topic.
    public func retained(_ topic: String) -> [UInt8]? { self.state.withLock { $0.retained(topic) } }

    /// Everything happens under one lock: what one client is told before another is told in that order to all.
    fileprivate func update<Result: Sendable>(_ body: (inout sending InMemorySessions) -> sending Result) -> Result {
        self.state.withLock(body)
    }
}

extension InMemoryBroker {
    /// One client of the broker: what a role is given in place of a real connection.
    public final class Client: MessageTransport {
        private struct State {
            var isClosed = false
            /// The number of the connection that is made next.
            var next = 0
            /// The connection whose `.connected` was last handed over; -1 before the first.
            var known = -1
        }

        /// Its name.
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

        /// What happened, in order.
        public var events: some AsyncSequence<[TransportEvent], Never> & Sendable {
            self.stream.map { events in
                for case .connected(let connection, _) in events { self.state.withLock { $0.known = connection } }
                return events
            }
        }

        /// Connects, and returns when the client was closed or the task cancelled, which sends its will.
        public func run() async {
            self.connect()
            for await wait in self.returns.stream {
                try? await Task.sleep(for: wait)
                if !Task.isCancelled { self.connect() }
            }
            self.broker.update { $0.close(self, isOrderly: false) }
        }

        /// Carries out commands at once. They are for the connection whose `.connected` was last read from ``events``,
        /// and ignored when that is gone.
        public func send(_ commands: [TransportCommand]) {
            let known = self.state.withLock { $0.known }
            self.broker.update { $0.carryOut(commands, of: self, on: known) }
        }

        /// Connects at once; a connection of the same name that stands is taken over.
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

        func tell(_ event: TransportEvent) { self.continuation.yield([event]) }

        /// - Returns: Whether it was not closed before.
        func beginClosing() -> Bool {
            self.state.withLock { state in
                defer { state.isClosed = true }
                return !state.isClosed
            }
        }

        /// Nothing comes any more.
        func finish() {
            self.continuation.finish()
            self.returns.continuation.finish()
        }

        /// Connects again after a wait.
        func comeBack(after wait: Duration) { self.returns.continuation.yield(wait) }
    }
}
