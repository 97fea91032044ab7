import TestSupport
import TrackingCore
import TrackingMQTT

/// A running transport and a log of its events.
struct TestClient: Sendable {
    let transport: MQTTTransport
    let log: EventLog<TransportEvent>

    static func configuration(
        _ id: String, port: Int, version: ConnectionStateMachine.Version? = nil
    ) throws -> MQTTConfiguration {
        var configuration = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "127.0.0.1", port: port)], client: try ClientID(id))
        configuration.version = version
        configuration.firstWait = .milliseconds(50)
        configuration.longestWait = .milliseconds(200)
        return configuration
    }

    /// Runs a client while `body` does.
    static func with<Value: Sendable>(
        _ configuration: MQTTConfiguration, loop: MQTTEventLoop = .shared,
        _ body: (TestClient) async throws -> Value
    ) async throws -> Value {
        let client = TestClient(
            transport: try MQTTTransport(configuration: configuration, loop: loop), log: EventLog())
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.transport.run() }
            group.addTask {
                for await batch in client.transport.events { client.log.append(batch) }
                client.log.finish()
            }
            defer { group.cancelAll() }
            return try await body(client)
        }
    }

    /// The same with the usual configuration.
    static func with<Value: Sendable>(
        _ id: String, _ broker: MosquittoProcess,
        version: ConnectionStateMachine.Version? = nil,
        _ body: (TestClient) async throws -> Value
    ) async throws -> Value {
        try await Self.with(Self.configuration(id, port: broker.port, version: version), body)
    }

    /// Waits until connection number `number` is established.
    func connected(_ number: Int = 0) async throws {
        try await self.log.wait("connection \(number)") { $0.isConnected(number) }
    }

    /// Publishes and waits for the answers: a refusal or `nil` each.
    func publish(_ messages: [OutgoingMessage], from first: TransportToken = 1) async throws -> [TrackingError?] {
        let tokens = first..<(first + UInt64(messages.count))
        self.transport.send(zip(messages, tokens).map { .publish($0, $1) })
        let events = try await self.log.wait("the answers", count: tokens.count) { event in
            event.published.map(tokens.contains) ?? false
        }
        var refusals = [TrackingError?](repeating: nil, count: tokens.count)
        for case .published(let token, let refusal) in events where tokens.contains(token) {
            refusals[Int(token - first)] = refusal
        }
        return refusals
    }

    /// Subscribes and waits for the answer.
    @discardableResult
    func subscribe(_ filters: [String], token: TransportToken = 900_000) async throws -> [TrackingError?] {
        self.transport.send([.subscribe(filters, token)])
        let events = try await self.log.wait("a SUBACK") { $0.refusals(of: token) != nil }
        return events.lazy.compactMap { $0.refusals(of: token) }.first ?? []
    }

    /// The messages so far.
    var messages: [IncomingMessage] { self.log.elements.compactMap(\.message) }

    /// Waits for this many messages, and returns all.
    func messages(_ count: Int) async throws -> [IncomingMessage] {
        try await self.log.wait("\(count) messages", count: count) { $0.message != nil }.compactMap(\.message)
    }

    /// Waits for the first disconnection that meets `condition`.
    @discardableResult
    func disconnection(
        _ what: String = "a disconnection", where condition: @escaping @Sendable (Disconnection) -> Bool = { _ in true }
    ) async throws -> Disconnection {
        let events = try await self.log.wait(what) { $0.disconnection.map(condition) ?? false }
        return try events.compactMap(\.disconnection).first(where: condition) ?? { throw TestSupportError("none") }()
    }
}

extension TransportEvent {
    func isConnected(_ number: Int) -> Bool {
        if case .connected(number, _, _) = self { true } else { false }
    }
    var message: IncomingMessage? { if case .received(let message) = self { message } else { nil } }
    var published: TransportToken? { if case .published(let token, _) = self { token } else { nil } }
    var disconnection: Disconnection? { if case .disconnected(let value) = self { value } else { nil } }
    func refusals(of token: TransportToken) -> [TrackingError?]? {
        if case .subscribed(token, let refusals) = self { refusals } else { nil }
    }
}

extension OutgoingMessage {
    init(_ topic: String, _ text: String, isRetained: Bool = false) {
        self.init(topic: topic, payload: Array(text.utf8), isRetained: isRetained)
    }
}

extension IncomingMessage {
    var text: String { String(decoding: self.payload, as: UTF8.self) }
}
