/// A message to publish, always at QoS 1.
public struct OutgoingMessage: Hashable, Sendable {
    /// The full topic, with the root.
    public var topic: String
    /// The payload; an empty retained payload clears the topic.
    public var payload: [UInt8]
    /// `true` for a message that the broker retains for later subscribers.
    public var isRetained: Bool
    /// The MQTT 5 properties of the message; dropped on MQTT 3.1.1.
    public var properties: MessageProperties

    /// Makes a message.
    public init(
        topic: String, payload: [UInt8], isRetained: Bool, properties: MessageProperties = MessageProperties()
    ) {
        self.topic = topic
        self.payload = payload
        self.isRetained = isRetained
        self.properties = properties
    }
}

/// The MQTT 5 properties of a message. Correctness never depends on them, because MQTT 3.1.1 has none.
public struct MessageProperties: Hashable, Sendable {
    /// The media type of the payload.
    public var contentType: String?
    /// The time for which the broker may hold the message for a subscriber, in whole seconds.
    public var expiry: Duration?
    /// The topic to which the receiver publishes its answer.
    public var responseTopic: String?
    /// The data that an answer repeats.
    public var correlationData: [UInt8]?

    /// Creates empty properties.
    public init() {}
}

/// A message received from the broker.
public struct IncomingMessage: Hashable, Sendable {
    /// The full topic, with the root.
    public var topic: String
    /// The payload, often a slice of a larger buffer.
    public var payload: ArraySlice<UInt8>
    /// `true` for the broker's retained copy, sent in response to a subscription.
    public var isRetained: Bool
    /// The MQTT 5 properties of the message.
    public var properties: MessageProperties

    /// Makes a message.
    public init(
        topic: String, payload: ArraySlice<UInt8>, isRetained: Bool, properties: MessageProperties = MessageProperties()
    ) {
        self.topic = topic
        self.payload = payload
        self.isRetained = isRetained
        self.properties = properties
    }
}

/// The number of a command, which identifies its outcome; unique within a transport's life.
public typealias TransportToken = UInt64

/// A command of a role to its connection. Sending never blocks; the outcome arrives as a ``TransportEvent``.
public enum TransportCommand: Hashable, Sendable {
    /// Publish at QoS 1. Answered by `.published`. Ignored while not connected: the role receives `.disconnected`
    /// before.
    case publish(OutgoingMessage, TransportToken)
    /// Subscribe at QoS 1. Answered by `.subscribed` with one outcome for each filter, in order.
    case subscribe([String], TransportToken)
    /// Unsubscribe from these topic filters. The transport reports no outcome.
    case unsubscribe([String])
    /// Connect now, if the transport waits before its next attempt. Otherwise the command is ignored. The outcome is
    /// the next `.connected` or `.disconnected`.
    case tryNow
    /// Acknowledge to the broker the first `through` messages that were received on connection number `connection`,
    /// because they are stored safely. The command applies only to connections that withhold acknowledgements, and only
    /// to the current connection; otherwise it is ignored. There is no answer.
    case acknowledge(through: Int, connection: Int)
    /// Disconnect in order and do not connect again. The DISCONNECT, which prevents the will, is sent when the broker
    /// has acknowledged all earlier commands or after `within`. Answered by `.disconnected` with `retry == nil`, after
    /// which the event stream ends.
    case close(within: Duration)
}

/// An event of a connection. Messages and outcomes share one stream in the order of their arrival, so that a retained
/// message that came before a SUBACK is delivered before it.
public enum TransportEvent: Hashable, Sendable {
    /// The broker accepted the connection. If `sessionPresent` is `false`, the connection has no subscriptions.
    /// `connection` is the number of the connection within the session, from 0.
    case connected(connection: Int, sessionPresent: Bool)
    /// The connection was lost or could not be made. Commands without an outcome will get none, and their tokens are
    /// void.
    case disconnected(Disconnection)
    /// A message arrived.
    case received(IncomingMessage)
    /// The broker answered a publish: `nil` if it accepted the message, otherwise the reason of the refusal.
    case published(TransportToken, refusal: TrackingError?)
    /// The broker answered a subscription: for each filter `nil` if it was granted, otherwise the reason of the
    /// refusal.
    case subscribed(TransportToken, refusals: [TrackingError?])
}

/// The loss or absence of a connection, and the next attempt.
public struct Disconnection: Hashable, Sendable {
    /// The reason; `nil` after an orderly close.
    public var reason: TrackingError?
    /// The wait before the next attempt; `nil` for no further attempt.
    public var retry: Duration?
    /// The duration of the connection; `nil` if it was never made.
    public var lasted: Duration?

    /// Makes a disconnection.
    public init(reason: TrackingError?, retry: Duration?, lasted: Duration?) {
        self.reason = reason
        self.retry = retry
        self.lasted = lasted
    }

    /// The reason why no connection could be made. `nil` if there was a connection, or while the transport tries
    /// another of the broker's addresses at once.
    public var failure: TrackingError? { self.lasted == nil && self.retry != .zero ? self.reason : nil }
}

extension TrackingError: Hashable {
    /// Hashes the properties that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.code)
        hasher.combine(self.message)
        hasher.combine(self.reasonCode)
    }
}

/// The connection of a role to the broker: the only interface between tracking and MQTT. Programs use `MQTTTransport`,
/// tests use `InMemoryBroker.Client`.
///
/// A transport has one client id and at most one connection at a time. The transport decides when to connect, to wait
/// and to try again. The role decides which messages to publish, and subscribes again after each `.connected`.
public protocol MessageTransport: Sendable {
    /// The type of ``events``.
    associatedtype Events: AsyncSequence<[TransportEvent], Never> & Sendable

    /// The events of the connection, in order and in batches, to be read by one task. While the task does not read, the
    /// transport reads nothing from the broker.
    var events: Events { get }

    /// Sends commands in order and returns at once.
    func send(_ commands: [TransportCommand])

    /// The executor that the role's own tasks should prefer: the thread of the transport. With it, a message is
    /// received, handled and answered without a change of threads. A task there must never block. `nil` means the
    /// default executor.
    var executor: (any TaskExecutor)? { get }

    /// Connects, and connects again after each loss, until the transport is closed (see `TransportCommand.close`) or
    /// the task is cancelled. Call it once.
    func run() async
}

extension MessageTransport {
    /// The default executor.
    public var executor: (any TaskExecutor)? { nil }
}
