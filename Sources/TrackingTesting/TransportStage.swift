public import TrackingCore

/// The environment in which a ``TransportRule`` is checked: a broker without retained messages, and functions that make
/// clients of it and cut their connections.
public struct TransportStage<Transport: MessageTransport>: Sendable {
    /// A function that makes a client with an optional will. The client connects when its `run()` is called.
    public typealias MakeClient =
        @Sendable (_ id: ClientID, _ will: (@Sendable (_ connection: Int) -> OutgoingMessage)?) throws -> Transport

    /// The function that makes clients for the broker that the checks use.
    public var makeClient: MakeClient
    /// A function that cuts the connection of the client with the given id. The client must then connect again by
    /// itself within seconds.
    public var cut: @Sendable (_ id: ClientID) throws -> Void
    /// A topic that no client is permitted to publish to.
    public var forbiddenTopic: String
    /// `true` when clients use MQTT 5, with which the broker reports rejections and transmits message properties.
    public var isMQTT5: Bool

    /// Makes an environment for the checks.
    ///
    /// - Parameters:
    ///   - forbiddenTopic: A topic that no client is permitted to publish to.
    ///   - isMQTT5: `true` when clients use MQTT 5.
    ///   - makeClient: The function that makes clients.
    ///   - cut: The function that cuts a client's connection.
    public init(
        forbiddenTopic: String, isMQTT5: Bool = true, makeClient: @escaping MakeClient,
        cut: @escaping @Sendable (_ id: ClientID) throws -> Void
    ) {
        self.makeClient = makeClient
        self.cut = cut
        self.forbiddenTopic = forbiddenTopic
        self.isMQTT5 = isMQTT5
    }
}

/// A violation of a rule by a transport or its broker.
public struct ConformanceFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The description of the violation, for the test's output.
    public let description: String

    init(_ description: String) { self.description = description }
}

extension TransportStage {
    /// Makes a client of the broker under test, and runs it while `body` runs. Cancels the client afterwards.
    func with<Value: Sendable>(
        _ id: String, will: (@Sendable (Int) -> OutgoingMessage)? = nil,
        _ body: (inout TransportTalk<Transport>) async throws -> Value
    ) async throws -> Value {
        let transport = try self.makeClient(ClientID(id), will)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await transport.run() }
            defer { group.cancelAll() }
            var talk = TransportTalk(transport)
            return try await body(&talk)
        }
    }

    /// Makes a client and runs it while `body` runs. `body` begins when the client is connected. Cancels the client
    /// afterwards.
    func withConnected<Value: Sendable>(
        _ id: String, will: (@Sendable (Int) -> OutgoingMessage)? = nil,
        _ body: (inout TransportTalk<Transport>) async throws -> Value
    ) async throws -> Value {
        try await self.with(id, will: will) { talk in
            _ = try await talk.until("a connection") { $0.isConnected }
            return try await body(&talk)
        }
    }
}

/// The conversation of a test with one client of the broker: the test sends commands through the client and reads its
/// events. All events that were read are remembered.
struct TransportTalk<Transport: MessageTransport> {
    let transport: Transport
    private var iterator: Transport.Events.AsyncIterator
    /// Events that were read from the client in a batch, and that the test has not examined yet.
    private var waiting: ArraySlice<TransportEvent> = []
    private var lastToken: TransportToken = 0
    /// All events that the test has examined so far, in order.
    private(set) var events: [TransportEvent] = []

    init(_ transport: Transport) {
        self.transport = transport
        self.iterator = transport.events.makeAsyncIterator()
    }

    /// The messages from the broker among the events that the test has examined.
    var messages: [IncomingMessage] { self.events.compactMap(\.message) }

    /// Reads events until one satisfies `matches`.
    ///
    /// - Returns: The events that were read, the matching one last.
    /// - Throws: ``ConformanceFailure`` when the events end before.
    @discardableResult
    mutating func until(
        _ what: String, _ matches: (TransportEvent) -> Bool
    ) async throws -> [TransportEvent] {
        let start = self.events.count
        while true {
            while let event = self.waiting.popFirst() {
                self.events.append(event)
                if matches(event) { return Array(self.events[start...]) }
            }
            guard let batch = await self.iterator.next(isolation: #isolation) else {
                throw ConformanceFailure("did not receive \(what); the last events were \(self.events.suffix(5))")
            }
            self.waiting = batch[...]
        }
    }

    /// Reads all events until the client ends.
    mutating func untilEnd() async {
        self.events += self.waiting
        self.waiting = []
        while let batch = await self.iterator.next(isolation: #isolation) { self.events += batch }
    }

    /// Reads events until the client has received at least `count` messages since its beginning.
    ///
    /// - Returns: All messages received since the beginning.
    @discardableResult
    mutating func messages(_ count: Int) async throws -> [IncomingMessage] {
        while self.messages.count < count {
            try await self.until("message \(self.messages.count + 1)") { $0.message != nil }
        }
        return self.messages
    }

    /// Reads events until a message on this topic was received. Returns at once if one was received before.
    mutating func message(on topic: String) async throws {
        if self.messages.contains(where: { $0.topic == topic }) { return }
        try await self.until("a message on \(topic)") { $0.message?.topic == topic }
    }

    /// Subscribes to topic filters and waits for the broker's answer.
    ///
    /// - Returns: For each filter, the error if the broker rejected it, or `nil`.
    @discardableResult
    mutating func subscribe(_ filters: String...) async throws -> [TrackingError?] {
        try await self.subscribe(all: filters)
    }

    /// Subscribes to topic filters, and then to a second filter that matches nothing. Waits for the answer to the
    /// second subscription, by which time the retained messages for the first one have arrived.
    ///
    /// - Returns: The messages that were received meanwhile.
    mutating func standing(_ filters: String...) async throws -> [IncomingMessage] {
        let start = self.messages.count
        try await self.subscribe(all: filters)
        try await self.subscribe("none/such")
        return Array(self.messages[start...])
    }

    @discardableResult
    private mutating func subscribe(all filters: [String]) async throws -> [TrackingError?] {
        self.lastToken += 1
        let token = self.lastToken
        self.transport.send([.subscribe(filters, token)])
        var refusals: [TrackingError?] = []
        try await self.until("the answer to a subscription") { event in
            guard case .subscribed(token, let answer) = event else { return false }
            refusals = answer
            return true
        }
        return refusals
    }

    /// Publishes messages and waits for the broker's answers.
    ///
    /// - Returns: For each message, the error if the broker rejected it, or `nil`.
    @discardableResult
    mutating func publish(_ messages: OutgoingMessage...) async throws -> [TrackingError?] {
        try await self.publish(all: messages)
    }

    /// Publishes a list of messages and waits for the broker's answers.
    ///
    /// - Returns: For each message, the error if the broker rejected it, or `nil`.
    @discardableResult
    mutating func publish(all messages: [OutgoingMessage]) async throws -> [TrackingError?] {
        let tokens = messages.indices.map { self.lastToken + 1 + TransportToken($0) }
        self.lastToken += TransportToken(messages.count)
        self.transport.send(zip(messages, tokens).map { .publish($0, $1) })
        var answers: [TransportToken: TrackingError?] = [:]
        while answers.count < tokens.count {
            try await self.until("the answer to a publish") { event in
                guard case .published(let token, let refusal) = event else { return false }
                answers[token] = .some(refusal)
                return true
            }
        }
        return tokens.map { answers[$0] ?? nil }
    }
}

extension TransportEvent {
    var message: IncomingMessage? { if case .received(let message) = self { message } else { nil } }
    var disconnection: Disconnection? { if case .disconnected(let value) = self { value } else { nil } }
    var isConnected: Bool { if case .connected = self { true } else { false } }
}

extension OutgoingMessage {
    init(_ topic: String, _ text: String, isRetained: Bool = false) {
        self.init(topic: topic, payload: Array(text.utf8), isRetained: isRetained)
    }
}

extension IncomingMessage {
    var text: String { String(decoding: self.payload, as: UTF8.self) }
}
