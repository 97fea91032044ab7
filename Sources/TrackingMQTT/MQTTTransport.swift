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
/// The transport uses MQTT 5, and 3.1.1 where the broker's answer requires that. All connections of a process share the
/// thread of one ``MQTTEventLoop``.
///
/// The transport refuses a publish with a payload above 128 KB or a topic that MQTT forbids; the refusal is in
/// `.published`. After the broker closed the connection three times in a row in response to a topic or filter, the
/// transport refuses that one for a while, too. A received payload above 128 KB is cut to 128 KB and one byte, so that
/// its decoder rejects it. The payloads of one batch are slices of one buffer: copy the payload of a message that you
/// keep for long.
public final class MQTTTransport: MessageTransport {
    private let connection: MQTTConnection
    private let loop: MQTTEventLoop
    private let outbox = Outbox()
    private let queue: EventQueue

    /// Creates a client. ``run()`` connects it.
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

    /// The events, in order, in batches, for one task. The transport stops reading from the broker at the limits of
    /// ``MQTTConfiguration/limits-swift.property`` while the events are not read. Other connections of the loop
    /// continue.
    public var events: MQTTEvents { MQTTEvents(queue: self.queue) }

    /// The thread of the loop; see ``MQTTEventLoop/executor``.
    public var executor: (any TaskExecutor)? { self.loop.executor }

    /// Sends commands in order and returns at once. They are for the connection whose `.connected` was last read from
    /// ``events``, and are ignored when that connection is gone.
    public func send(_ commands: [TransportCommand]) {
        self.outbox.append(Outbox.Entry(commands: commands, connection: self.queue.knownConnection))
    }

    /// Connects and stays connected until closed or until the task is cancelled. A cancellation ends the connection at
    /// once, and the broker publishes its will. Call it once.
    public func run() async {
        await withTaskCancellationHandler {
            await self.connection.run()
        } onCancel: {
            self.outbox.cancel()
        }
    }
}

/// The events of one ``MQTTTransport``, in batches. The sequence ends after the `.disconnected` without a retry.
public struct MQTTEvents: AsyncSequence, Sendable {
    /// The position of one task in the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let queue: EventQueue

        /// Returns the next batch, which is not empty; `nil` at the end or when the task is cancelled, which loses no
        /// event.
        public mutating func next() async -> [TransportEvent]? { await self.queue.next() }

        /// Returns the next batch, which is not empty; `nil` at the end or when the task is cancelled, which loses no
        /// event.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> [TransportEvent]? {
            await self.queue.next()
        }
    }

    let queue: EventQueue

    /// Creates an iterator. One task reads at a time.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(queue: self.queue) }
}
