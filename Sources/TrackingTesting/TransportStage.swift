public import TrackingCore

/// Where a ``TransportRule`` is checked: a broker without retained messages, and a way to make clients of it.
public struct TransportStage<Transport: MessageTransport>: Sendable {
    /// Makes a client that connects when it is run, and what it wills.
    public typealias MakeClient =
        @Sendable (_ id: ClientID, _ will: (@Sendable (_ connection: Int) -> OutgoingMessage)?) throws -> Transport

    /// Makes a client.
    public var makeClient: MakeClient
    /// Cuts the connection of the client of this name; it comes back by itself within seconds.
    public var cut: @Sendable (_ id: ClientID) throws -> Void
    /// A topic that nobody may write.
    public var forbiddenTopic: String
    /// Whether MQTT 5 is spoken: refusals are told, and properties travel.
    public var isMQTT5: Bool

    /// Makes a stage.
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

/// What a transport did that breaks a rule.
public struct ConformanceFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The sentence to read.
    public let description: String

    init(_ description: String) { self.description = description }
}

extension TransportStage {
    /// Runs a client while `body` talks through it, and ends it in order.
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

    /// The same, from the first connection on.
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

/// One client's side of a conversation: what it asks, and what it heard so far.
struct TransportTalk<Transport: MessageTransport> {
    let transport: Transport
    private var iterator: Transport.Events.AsyncIterator
    /// Read, and not looked at yet.
    private var waiting: ArraySlice<TransportEvent> = []
    private var lastToken: TransportToken = 0
    /// Everything looked at.
    private(set) var heard: [TransportEvent] = []

    init(_ transport: Transport) {
        self.transport = transport
        self.iterator = transport.events.makeAsyncIterator()
    }

    /// The messages looked at.
    var messages: [IncomingMessage] { self.heard.compactMap(\.message) }

    /// Reads on until something matches.
    ///
    /// - Returns: What was read meanwhile, with the match at its end.
    @discardableResult
    mutating func until(
        _ what: String, _ matches: (TransportEvent) -> Bool
    ) async throws -> [TransportEvent] {
        let start = self.heard.count
        while true {
            while let event = self.waiting.popFirst() {
                self.heard.append(event)
                if matches(event) { return Array(self.heard[start...]) }
            }
            guard let batch = await self.iterator.next(isolation: #isolation) else {
                throw ConformanceFailure("never \(what); the last that was heard: \(self.heard.suffix(5))")
            }
            self.waiting = batch[...]
        }
    }

    /// Reads on to the end.
    mutating func untilEnd() async {
        self.heard += self.waiting
        self.waiting = []
        while let batch = await self.iterator.next(isolation: #isolation) { self.heard += batch }
    }

    /// Reads on until this many messages were heard.
    ///
    /// - Returns: All messages.
    @discardableResult
    mutating func messages(_ count: Int) async throws -> [IncomingMessage] {
        while self.messages.count < count {
            try await self.until("message \(self.messages.count + 1)") { $0.message != nil }
        }
        return self.messages
    }

    /// Reads on until there was a message on this topic.
    mutating func message(on topic: String) async throws {
        if self.messages.contains(where: { $0.topic == topic }) { return }
        try await self.until("a message on \(topic)") { $0.message?.topic == topic }
    }

    /// Subscribes, and waits for the answer.
    @discardableResult
    mutating func subscribe(_ filters: String...) async throws -> [TrackingError?] {
        try await self.subscribe(all: filters)
    }

    /// Subscribes, and reads on until the answer to a second subscription: what stands has come by then.
    ///
    /// - Returns: The messages that came meanwhile.
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

    /// Publishes, and waits for the answers.
    @discardableResult
    mutating func publish(_ messages: OutgoingMessage...) async throws -> [TrackingError?] {
        try await self.publish(all: messages)
    }

    /// Publishes, and waits for the answers.
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
