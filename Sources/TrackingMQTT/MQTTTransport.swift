public import TrackingCore

/// One client of an MQTT broker: connects, stays connected, and delivers its events in one ordered stream of batches.
///
///     let transport = try MQTTTransport(
///         configuration: MQTTConfiguration(endpoints: [MQTTEndpoint(host: "127.0.0.1")], client: ClientID("van-7")))
///     async let running: Void = transport.run()
///     for await batch in transport.events {
///         for event in batch { … }                       // .connected: subscribe; .received; .published …
///     }
///
/// The transport uses MQTT 5, and 3.1.1 if the broker does not support 5. All connections of a process share the thread
/// of one ``MQTTEventLoop`` by default.
///
/// - A publish with a payload above 128 KB, or with a topic that MQTT forbids, is not sent. The event `.published`
///   contains the refusal.
/// - If the broker closes the connection three times in a row after the same topic or filter, the transport refuses
///   that topic or filter for a while.
/// - A received payload above 128 KB is cut to 128 KB and one byte, so that its decoder rejects it.
/// - The payloads of one batch are slices of one buffer. Copy a payload that you keep for long.
public final class MQTTTransport: MessageTransport {
    private let connection: MQTTConnection
    private let loop: MQTTEventLoop
    private let outbox = Outbox()
    private let queue: EventQueue

    /// Creates an MQTT client without a connection. ``run()`` connects it.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - loop: The loop whose thread drives the client.
    /// - Throws: `invalidConfiguration` with the name of the value; `inputUnreadable` for a certificate file.
    public convenience init(configuration: MQTTConfiguration, loop: MQTTEventLoop = .shared) throws(TrackingError) {
        try self.init(configuration: configuration, loop: loop, unmatched: nil)
    }

    init(configuration: MQTTConfiguration, loop: MQTTEventLoop, unmatched: UnmatchedPublishes?) throws(TrackingError) {
        try configuration.validate()
        self.loop = loop
        self.queue = EventQueue(limits: configuration.limits)
        self.connection = MQTTConnection(
            configuration: configuration, loop: loop, outbox: self.outbox, events: self.queue, unmatched: unmatched)
    }

    /// The transport's events, in order and in batches. Only one task may read them. While too many events are unread
    /// (``MQTTConfiguration/limits-swift.property``), the transport reads almost nothing from the broker. Other
    /// connections of the same event loop continue to read.
    public var events: MQTTEvents { MQTTEvents(queue: self.queue) }

    /// An executor that runs tasks on the thread of the connection's event loop; see ``MQTTEventLoop/executor``.
    public var executor: (any TaskExecutor)? { self.loop.executor }

    /// Sends commands to the connection, in order, and returns at once. The commands are meant for the connection whose
    /// events were last read from ``events``. If that connection is lost, its commands are ignored, except the requests
    /// to close and to connect at once.
    public func send(_ commands: [TransportCommand]) {
        self.outbox.append(Outbox.Entry(commands: commands, connection: self.queue.knownConnection))
    }

    /// Connects, and reconnects after each loss, until the transport is closed or the task is cancelled. A cancellation
    /// ends the connection without a DISCONNECT, so the broker publishes the client's will, unless the transport was
    /// asked to close before. Call this function once.
    public func run() async {
        await withTaskCancellationHandler {
            await self.connection.run()
        } onCancel: {
            self.outbox.cancel()
        }
    }
}

/// The events of one ``MQTTTransport``, in batches. The sequence ends after the last event: a `.disconnected` that
/// announces no further attempt to connect.
public struct MQTTEvents: AsyncSequence, Sendable {
    /// An iterator over the batches of events. Each batch is returned by one iterator only.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let queue: EventQueue

        /// Returns the next batch of events; a batch is never empty. Waits until there is one. Returns `nil` at the end
        /// of the events, or when the task is cancelled; a cancellation loses no event.
        public mutating func next() async -> [TransportEvent]? { await self.queue.next() }

        /// Returns the next batch of events; a batch is never empty. Waits until there is one. Returns `nil` at the end
        /// of the events, or when the task is cancelled; a cancellation loses no event.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> [TransportEvent]? {
            await self.queue.next()
        }
    }

    let queue: EventQueue

    /// Creates an iterator over the transport's batches of events. Only one task may read events at a time.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(queue: self.queue) }
}
