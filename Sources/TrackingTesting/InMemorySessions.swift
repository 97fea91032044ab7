import TrackingCore
import TrackingRuntime

/// The state of an ``InMemoryBroker`` (connections, subscriptions, retained messages), and the effects of its clients'
/// commands. The broker's lock protects all access.
struct InMemorySessions {
    private struct Connection {
        let client: InMemoryBroker.Client
        let number: Int
        let will: OutgoingMessage?
        var filters: [TopicPattern] = []
    }

    private struct Retained {
        let message: OutgoingMessage
        let deadline: MonotonicTime?
    }

    /// The topics to which the broker rejects messages, by the client that may not publish to them.
    var refusedTopics: [ClientID: Set<String>] = [:]
    private var kept: [String: Retained] = [:]
    private var connections: [ClientID: Connection] = [:]
    /// The number of messages that each shared subscription has distributed to its members. It determines the member
    /// that gets the next message, in turn.
    private var turns: [String: Int] = [:]

    mutating func forgetRetained() { self.kept = [:] }

    func retained(_ topic: String) -> [UInt8]? { self.kept[topic]?.message.payload }

    // MARK: - Connections

    mutating func accept(_ client: InMemoryBroker.Client, number: Int, will: OutgoingMessage?) {
        // Two clients with one id take over from each other for ever, about once a second. Like Mosquitto, the broker
        // closes the connection without a reason.
        let error = TrackingError(.connectionLost, "the broker closed the connection")
        self.end(client.id, reason: error, retry: .seconds(1))?.comeBack(after: .seconds(1))
        self.connections[client.id] = Connection(client: client, number: number, will: will)
        client.deliver(.connected(connection: number, sessionPresent: false))
    }

    /// Ends a client's connection without a DISCONNECT and publishes its will.
    ///
    /// - Parameters:
    ///   - id: The client id.
    ///   - reason: The reason in the client's event about the end.
    ///   - retry: The time in that event after which the client connects again.
    /// - Returns: The client whose connection was ended; `nil` when it had no connection.
    @discardableResult
    mutating func end(_ id: ClientID, reason: TrackingError, retry: Duration) -> InMemoryBroker.Client? {
        guard let connection = self.connections.removeValue(forKey: id) else { return nil }
        connection.client.deliver(.disconnected(Disconnection(reason: reason, retry: retry, lasted: .zero)))
        if let will = connection.will { self.route(will) }
        return connection.client
    }

    /// Closes a client for good, so that it never connects again. The client's will is published unless the close is
    /// orderly.
    mutating func close(_ client: InMemoryBroker.Client, isOrderly: Bool = true) {
        guard client.beginClosing() else { return }
        if self.connections[client.id]?.client === client {
            let connection = self.connections.removeValue(forKey: client.id)
            if !isOrderly, let will = connection?.will { self.route(will) }
        }
        client.deliver(.disconnected(Disconnection(reason: nil, retry: nil, lasted: .zero)))
        client.finish()
    }

    // MARK: - Commands

    mutating func execute(_ commands: [TransportCommand], of client: InMemoryBroker.Client, on number: Int) {
        for command in commands {
            if case .close = command { return self.close(client) }
            guard let connection = self.connections[client.id], connection.client === client,
                connection.number == number
            else { continue }
            self.execute(command, of: client)
        }
    }

    private mutating func execute(_ command: TransportCommand, of client: InMemoryBroker.Client) {
        switch command {
        case .publish(let message, let token):
            let refusal = self.refusal(of: message, from: client.id)
            if refusal == nil { self.route(message) }
            client.deliver(.published(token, refusal: refusal))
        case .subscribe(let filters, let token):
            let patterns = filters.map { TopicPattern($0) }
            let refusals = zip(filters, patterns).map { filter, pattern in
                pattern == nil ? TrackingError(.invalidName, "'\(filter)' is not a filter that MQTT allows") : nil
            }
            // Like Mosquitto, the broker answers before it sends retained messages. The answer to a second subscription
            // shows that they were sent.
            client.deliver(.subscribed(token, refusals: refusals))
            for pattern in patterns.compactMap({ $0 }) { self.subscribe(client, pattern) }
        case .unsubscribe(let filters):
            let patterns = filters.compactMap { TopicPattern($0) }
            self.connections[client.id]?.filters.removeAll { patterns.contains($0) }
        case .tryNow, .close, .acknowledge:
            break  // connected already; carried out before; nothing is withheld
        }
    }

    private func refusal(of message: OutgoingMessage, from client: ClientID) -> TrackingError? {
        if message.payload.count > WireLimits.maximumPayloadBytes {
            return TrackingError(
                .payloadTooLarge, "a payload has at most \(WireLimits.maximumPayloadBytes) bytes")
        }
        if !TopicPattern.isTopic(message.topic) {
            return TrackingError(.invalidName, "the message has a topic that MQTT does not allow")
        }
        if self.refusedTopics[client]?.contains(message.topic) == true {
            return TrackingError(.notAuthorized, "the broker's rules forbid this topic", reasonCode: 0x87)
        }
        return nil
    }

    /// Adds a subscription of a client and sends it the matching retained messages, even if the client had the same
    /// subscription already. Like Mosquitto, the broker also sends them for a shared subscription.
    private mutating func subscribe(_ client: InMemoryBroker.Client, _ pattern: TopicPattern) {
        if self.connections[client.id]?.filters.contains(pattern) == false {
            self.connections[client.id]?.filters.append(pattern)
        }
        let now = DeviceClock.now
        self.kept = self.kept.filter { $0.value.deadline.map { $0 > now } ?? true }
        for kept in self.kept.values where pattern.matches(kept.message.topic) {
            var message = kept.message
            if let deadline = kept.deadline { message.properties.expiry = now.duration(to: deadline).roundedUp }
            Self.deliver(message, to: client, isRetained: true)
        }
    }

    // MARK: - Messages

    private mutating func route(_ message: OutgoingMessage) {
        if message.isRetained {
            let deadline = message.properties.expiry.map { DeviceClock.now.advanced(by: $0) }
            self.kept[message.topic] =
                message.payload.isEmpty ? nil : Retained(message: message, deadline: deadline)
        }
        var groups: [String: [InMemoryBroker.Client]] = [:]
        for (_, connection) in self.connections.sorted(by: { $0.key < $1.key }) {
            let matching = connection.filters.filter { $0.matches(message.topic) }
            for pattern in matching where pattern.group != nil {
                groups[pattern.text, default: []].append(connection.client)
            }
            // A client receives a message once, however many of its subscriptions match.
            if matching.contains(where: { $0.group == nil }) {
                Self.deliver(message, to: connection.client, isRetained: false)
            }
        }
        for (group, members) in groups {
            let turn = self.turns[group, default: 0]
            self.turns[group] = turn + 1
            Self.deliver(message, to: members[turn % members.count], isRetained: false)
        }
    }

    private static func deliver(_ message: OutgoingMessage, to client: InMemoryBroker.Client, isRetained: Bool) {
        client.deliver(
            .received(
                IncomingMessage(
                    topic: message.topic, payload: message.payload[...], isRetained: isRetained,
                    properties: message.properties)))
    }
}

extension Duration {
    /// This duration, rounded up to whole seconds. An expiry is counted in whole seconds.
    fileprivate var roundedUp: Duration {
        let (seconds, rest) = self.components
        return .seconds(rest > 0 ? seconds + 1 : seconds)
    }
}
