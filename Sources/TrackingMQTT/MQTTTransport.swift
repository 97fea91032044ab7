public import TrackingCore

/// One client of an MQTT broker: connects, stays connected, and tells what happens in one ordered stream of batches.
///
///     let transport = try MQTTTransport(
///         configuration: MQTTConfiguration(endpoints: [MQTTEndpoint(host: "127.0.0.1")], client: ClientID("van-7")))
///     async let running: Void = transport.run()
///     for await batch in transport.events {
///         for event in batch { … }                       // .connected: subscribe; .received; .published …
///     }
///
/// It speaks MQTT 5, and 3.1.1 where the broker's answer calls for it. All connections of a process share the thread of one
/// ``MQTTEventLoop``. A payload above 128 KB or a topic MQTT does not allow is refused in its `.published`; so is, for a
/// while, a topic or filter upon which the broker closed the connection three times running. A received payload above
/// 128 KB is cut to one byte more than that, so that whoever decodes it refuses it. Payloads of one batch are slices of
/// one buffer: who keeps a message for long copies its payload.
public final class MQTTTransport: MessageTransport {
    private let connection: MQTTConnection
    private let loop: MQTTEventLoop
    private let outbox = Outbox()
    private let queue: EventQueue

    /// Makes a client; it connects when it is run.
    ///
    /// - Parameters:
    ///   - configuration: What it is told.
    ///   - loop: The loop whose thread drives it.
    /// - Throws: `invalidConfiguration`, or `inputUnreadable` for a certificate file, with the value's name.
    public convenience init(configuration: MQTTConfiguration, loop: MQTTEventLoop = .shared) throws(TrackingError) {
        try self.init(configuration: configuration, loop: loop, unheard: nil)
    }

    init(configuration: MQTTConfiguration, loop: MQTTEventLoop, unheard: UnheardPublishes?) throws(TrackingError) {
        try configuration.validate()
        self.loop = loop
        self.queue = EventQueue(limits: configuration.limits)
        self.connection = MQTTConnection(
            configuration: configuration, loop: loop, outbox: self.outbox, events: self.queue, unheard: unheard)
    }

    /// What happened, in order, in batches, for one task. While it is not read the broker is held back, at the limits of
    /// ``MQTTConfiguration/limits-swift.property``; other connections of the loop go on.
    public var events: MQTTEvents { MQTTEvents(queue: self.queue) }

    /// The thread of the loop, see ``MQTTEventLoop/executor``.
    public var executor: (any TaskExecutor)? { self.loop.executor }

    /// Asks for `commands`, in order. Returns at once. They are for the connection whose `.connected` was last read from
    /// ``events``, and ignored when that is gone.
    public func send(_ commands: [TransportCommand]) {
        self.outbox.append(Outbox.Entry(commands: commands, connection: self.queue.knownConnection))
    }

    /// Connects and stays connected until closed, or until the task is cancelled, which ends the connection at once: the broker
    /// publishes its will. Call it once.
    public func run() async {
        await withTaskCancellationHandler {
            await self.connection.run()
        } onCancel: {
            self.outbox.cancel()
        }
    }
}

/// The events of one ``MQTTTransport``, in batches. It ends after the `.disconnected` that is never retried.
public struct MQTTEvents: AsyncSequence, Sendable {
    /// One task's place in the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let queue: EventQueue

        /// The next batch, not empty; `nil` at the end or when the task is cancelled, which loses nothing.
        public mutating func next() async -> [TransportEvent]? { await self.queue.next() }

        /// The next batch, not empty; `nil` at the end or when the task is cancelled, which loses nothing.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> [TransportEvent]? {
            await self.queue.next()
        }
    }

    let queue: EventQueue

    /// Begins to read. One task reads at a time.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(queue: self.queue) }
}
