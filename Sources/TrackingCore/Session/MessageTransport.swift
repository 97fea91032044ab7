/// One message on its way to the broker. QoS is always 1.
public struct OutgoingMessage: Hashable, Sendable {
    /// The full topic, root included.
    public var topic: String
    /// The bytes; empty and retained clears the topic.
    public var payload: [UInt8]
    /// Whether the broker keeps it for those who come later.
    public var isRetained: Bool
    /// What MQTT 5 carries beside the payload; dropped on MQTT 3.1.1.
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

/// What MQTT 5 carries beside a payload. Nothing depends on it for correctness: MQTT 3.1.1 has none of it.
public struct MessageProperties: Hashable, Sendable {
    /// The media type of the payload.
    public var contentType: String?
    /// How long the broker may keep the message for a subscriber, in whole seconds.
    public var expiry: Duration?
    /// Where an answer is expected.
    public var responseTopic: String?
    /// What an answer repeats.
    public var correlationData: [UInt8]?

    /// Makes properties of which none is set.
    public init() {}
}

/// One message from the broker.
public struct IncomingMessage: Hashable, Sendable {
    /// The full topic, root included.
    public var topic: String
    /// The bytes; often a slice of a larger buffer.
    public var payload: ArraySlice<UInt8>
    /// Whether this is the broker's kept copy, sent because we subscribed.
    public var isRetained: Bool
    /// What MQTT 5 carried beside the payload.
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

/// Names one command, so that its outcome can be told; unique within a connection's life.
public typealias TransportToken = UInt64

/// What a role asks of its connection. Asking never blocks; what came of it arrives as a ``TransportEvent``.
public enum TransportCommand: Hashable, Sendable {
    /// Publish at QoS 1. Answered by `.published`. Ignored while not connected: the caller hears `.disconnected` first.
    case publish(OutgoingMessage, TransportToken)
    /// Subscribe at QoS 1. Answered by `.subscribed` with one outcome a filter, in order.
    case subscribe([String], TransportToken)
    /// Unsubscribe. Not answered.
    case unsubscribe([String])
    /// Try to connect now, where the next try is waited for. Ignored otherwise; not answered by itself.
    case tryNow
    /// Let the broker know that the first `through` messages received on this connection are safe; for connections that
    /// withhold acknowledgements, others ignore it. It is not answered.
    ///
    /// - Parameter connection: The connection that they are counted on; ignored when that is gone.
    case acknowledge(through: Int, connection: Int)
    /// Say goodbye in order (no will is sent) once everything sent before is acknowledged or `within` has passed, and do
    /// not connect again. Answered by `.disconnected` with `retry == nil`, after which the event stream ends.
    case close(within: Duration)
}

/// What a connection tells, in the order in which it happened: messages and outcomes in one line, so that a retained
/// message that came before a SUBACK is seen before it.
public enum TransportEvent: Hashable, Sendable {
    /// The broker accepted the connection; nothing is subscribed on it unless `sessionPresent`.
    /// `connection` counts from 0 within the session.
    case connected(connection: Int, sessionPresent: Bool)
    /// The connection is gone or could not be made. Everything outstanding is void, tokens included.
    case disconnected(Disconnection)
    /// A message arrived.
    case received(IncomingMessage)
    /// The broker answered a publish: `nil` when it took responsibility, or why it refused.
    case published(TransportToken, refusal: TrackingError?)
    /// The broker answered a subscription: for each filter `nil` when granted, or why it was refused.
    case subscribed(TransportToken, refusals: [TrackingError?])
}

/// Why there is no connection, and what comes next.
public struct Disconnection: Hashable, Sendable {
    /// Why; `nil` after an orderly close.
    public var reason: TrackingError?
    /// When it is tried again; `nil` means never.
    public var retry: Duration?
    /// How long the connection had stood; `nil` when it was never made.
    public var lasted: Duration?

    /// Makes a disconnection.
    public init(reason: TrackingError?, retry: Duration?, lasted: Duration?) {
        self.reason = reason
        self.retry = retry
        self.lasted = lasted
    }

    /// Why no connection can be made; `nil` where one stood, and while another of the broker's addresses is tried at once.
    public var failure: TrackingError? { self.lasted == nil && self.retry != .zero ? self.reason : nil }
}

extension TrackingError: Hashable {
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.code)
        hasher.combine(self.message)
        hasher.combine(self.reasonCode)
    }
}

/// The one seam between tracking and MQTT. Real: `MQTTTransport`. Test: `InMemoryBroker.Client`.
///
/// One transport is one client id and at most one connection at a time. When to connect, wait and try again is its own
/// business; what to say on a connection is the caller's, who therefore subscribes anew on each `.connected`.
public protocol MessageTransport: Sendable {
    /// The type of ``events``.
    associatedtype Events: AsyncSequence<[TransportEvent], Never> & Sendable

    /// What happened, in order, in batches. Consume it from one task. While it is not consumed the broker is held back.
    var events: Events { get }

    /// Asks for `commands`, in order. Returns at once.
    func send(_ commands: [TransportCommand])

    /// Where a role's own tasks run best: on the thread that reads and writes, so that no message changes threads between
    /// being received, decided upon and answered. What runs there must never block. `nil` is wherever tasks run by default.
    var executor: (any TaskExecutor)? { get }

    /// Connects and stays connected until closed (see `TransportCommand.close`) or cancelled. Call it once.
    func run() async
}

extension MessageTransport {
    /// Wherever tasks run by default.
    public var executor: (any TaskExecutor)? { nil }
}
