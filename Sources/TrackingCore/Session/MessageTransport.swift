/// A message to publish. It is always published at QoS 1.
public struct OutgoingMessage: Hashable, Sendable {
    /// The complete topic name of the message, including the topic root.
    public var topic: String
    /// The payload. An empty payload in a retained message removes the broker's retained copy.
    public var payload: [UInt8]
    /// `true` for a message of which the broker keeps a copy for later subscribers (MQTT RETAIN).
    public var isRetained: Bool
    /// The MQTT 5 properties of the message. On MQTT 3.1.1, they are not sent.
    public var properties: MessageProperties

    /// Makes an outgoing message from its topic, its payload, its retain flag, and its MQTT 5 properties (by default,
    /// none).
    public init(
        topic: String, payload: [UInt8], isRetained: Bool, properties: MessageProperties = MessageProperties()
    ) {
        self.topic = topic
        self.payload = payload
        self.isRetained = isRetained
        self.properties = properties
    }
}

/// The MQTT 5 properties of a message. Godwit works correctly without them, because MQTT 3.1.1 has none.
public struct MessageProperties: Hashable, Sendable {
    /// The media type of the message's payload.
    public var contentType: String?
    /// The time after which the broker discards the message if it could not deliver it to a subscriber, in whole
    /// seconds.
    public var expiry: Duration?
    /// The topic on which the receiver of the message publishes its answer.
    public var responseTopic: String?
    /// The correlation data of the message: bytes that the receiver copies into its answer, so that the sender finds
    /// the request that belongs to the answer.
    public var correlationData: [UInt8]?

    /// Creates the MQTT 5 properties of a message, none of which is set.
    public init() {}
}

/// A message received from the broker.
public struct IncomingMessage: Hashable, Sendable {
    /// The complete topic name of the received message, including the topic root.
    public var topic: String
    /// The payload of the received message, which may be a slice of a larger buffer.
    public var payload: ArraySlice<UInt8>
    /// `true` for a retained message, which the broker sent because the client subscribed. `false` for a newly
    /// published one.
    public var isRetained: Bool
    /// The MQTT 5 properties of the received message; none of them is set on MQTT 3.1.1.
    public var properties: MessageProperties

    /// Makes a received message from its topic, its payload, its retain flag, and its MQTT 5 properties (by default,
    /// none).
    public init(
        topic: String, payload: ArraySlice<UInt8>, isRetained: Bool, properties: MessageProperties = MessageProperties()
    ) {
        self.topic = topic
        self.payload = payload
        self.isRetained = isRetained
        self.properties = properties
    }
}

/// The number that the user of a transport gives to a publish or subscribe command. The event with the broker's answer
/// contains it. The user never gives a number twice.
public typealias TransportToken = UInt64

/// A command of a publisher, subscriber or recorder to its connection. Sending a command never blocks. Its result
/// arrives later as a ``TransportEvent``.
public enum TransportCommand: Hashable, Sendable {
    /// Publish a message at QoS 1. The event `.published` contains the broker's answer. Without a connection, the
    /// command is ignored.
    case publish(OutgoingMessage, TransportToken)
    /// Subscribe to topic filters at QoS 1. The event `.subscribed` contains the broker's answer to each filter, in
    /// order. Without a connection, the command is ignored.
    case subscribe([String], TransportToken)
    /// Unsubscribe from these topic filters. No event reports the broker's answer. Without a connection, the command is
    /// ignored.
    case unsubscribe([String])
    /// Connect now instead of waiting for the next attempt. If the transport is not waiting, the command is ignored.
    /// The next `.connected` or `.disconnected` is the result.
    case tryNow
    /// Acknowledge messages to the broker, because they are stored safely: the first `through` messages that were
    /// received on the connection with this number. No event follows. The command is ignored on a connection that
    /// acknowledges messages by itself, and for an earlier connection.
    case acknowledge(through: Int, connection: Int)
    /// Disconnect in order, and do not connect again. DISCONNECT is sent when the broker has answered all earlier
    /// commands, or when the time `within` is over. The event `.disconnected` with `retry == nil` follows as the last
    /// one.
    case close(within: Duration)
}

/// An event of a connection: a change of the connection, a received message, or the broker's answer to a command.
/// Events are delivered in the order of their arrival. A retained message that arrived before a SUBACK is delivered
/// before it.
public enum TransportEvent: Hashable, Sendable {
    /// The broker accepted the connection. `connection` is its number in this run of the program, from 0. If
    /// `sessionPresent` is `false`, the broker knows no subscriptions of this client. `broker` is the index of the
    /// broker's address in the client's list of addresses, from 0.
    case connected(connection: Int, sessionPresent: Bool, broker: Int = 0)
    /// The connection was lost or could not be made. Commands that the broker has not answered before will get no
    /// answer.
    case disconnected(Disconnection)
    /// The broker delivered a message.
    case received(IncomingMessage)
    /// The broker answered the publish with this token. `refusal` is `nil` if the broker accepted the message, and
    /// otherwise the reason of the refusal.
    case published(TransportToken, refusal: TrackingError?)
    /// The broker answered the subscription with this token. `refusals` has one entry for each topic filter: `nil` if
    /// it was granted, otherwise the reason of the refusal.
    case subscribed(TransportToken, refusals: [TrackingError?])
}

/// The details of a lost connection or a failed attempt to connect: the reason, the duration, and the wait before the
/// next attempt.
public struct Disconnection: Hashable, Sendable {
    /// The reason why there is no connection; `nil` after the client itself closed or cancelled it, or closed it to
    /// connect again with new credentials (``isRenewal``).
    public var reason: TrackingError?
    /// The wait before the next attempt to connect; `nil` if no further attempt follows.
    public var retry: Duration?
    /// The duration of the lost connection; `nil` if an attempt to connect failed, so that there was no connection.
    public var lasted: Duration?

    /// Makes the details of a lost connection, or of a failed attempt to connect, to the broker.
    public init(reason: TrackingError?, retry: Duration?, lasted: Duration?) {
        self.reason = reason
        self.retry = retry
        self.lasted = lasted
    }

    /// `true` if the client itself closed its connection in order, to connect again at once with new credentials. The
    /// broker does not publish the client's will then.
    public var isRenewal: Bool { self.reason == nil && self.retry == .zero }

    /// The reason why an attempt to connect failed. `nil` if an existing connection was lost, and `nil` if the
    /// transport tries the next address of the broker at once.
    public var failure: TrackingError? { self.lasted == nil && self.retry != .zero ? self.reason : nil }
}

extension TrackingError: Hashable {
    /// Hashes the code, the message and the reason code of the error, the properties that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.code)
        hasher.combine(self.message)
        hasher.combine(self.reasonCode)
    }
}

/// The connection of a publisher, subscriber or recorder to the broker. It is the only interface between the tracking
/// code and MQTT. Programs use `MQTTTransport`; tests use `InMemoryBroker.Client`.
///
/// A transport has one client id and at most one connection at a time. The transport decides when to connect and how
/// long to wait. Its user decides which messages to publish, and subscribes again after each `.connected`.
public protocol MessageTransport: Sendable {
    /// The type of ``events``: an asynchronous sequence whose elements are lists of events.
    associatedtype Events: AsyncSequence<[TransportEvent], Never> & Sendable

    /// The events of the connection in order, delivered in batches. Only one task may read them. While that task does
    /// not read, the transport reads nothing from the broker.
    var events: Events { get }

    /// Passes commands to the connection in order, and returns at once. The broker's answers arrive later in
    /// ``events``.
    func send(_ commands: [TransportCommand])

    /// The executor on which the user of the transport should run its own tasks: the thread of the transport. Messages
    /// are then handled without a change of threads. A task on it must never block. `nil` means the default executor.
    var executor: (any TaskExecutor)? { get }

    /// Connects to the broker, and connects again after each loss. Returns when the transport was closed
    /// (`TransportCommand.close`) or the task was cancelled. Call it once.
    func run() async
}

extension MessageTransport {
    /// The default implementation: a transport offers no executor (`nil`). The tasks of the transport's user then run
    /// on Swift's default executor.
    public var executor: (any TaskExecutor)? { nil }
}
