public import TrackingCore

/// The positions on a topic of a broker, such as those of another trackable or of a tracker without this software.
///
/// The messages are location updates (`docs/reference/protocol.md`). The topic's own publisher decides how often they
/// arrive, so the source ignores the resolution that is wanted of it.
///
///     let source = TopicSource(name: "tracker", topic: "tracking/van-8") { () throws(TrackingError) in
///         try MQTTTransport(configuration: connection)
///     }
public struct TopicSource<Transport: MessageTransport>: LocationSource {
    /// The properties of the source that are known before it runs: its name, its kind, its class of accuracy, whether
    /// it ends by itself, and whether it is a live receiver that measures the current position.
    public let facts: SourceFacts
    private let topic: String
    private let connect: @Sendable () throws(TrackingError) -> Transport

    /// Creates a source of the positions on a topic.
    ///
    /// - Parameters:
    ///   - name: The name of the source in logs and events, without a credential.
    ///   - topic: The complete topic, without wildcards. It must not be a topic of a trackable that this program
    ///     publishes.
    ///   - accuracy: The class of accuracy of the positions.
    ///   - connect: Makes a new connection to the broker, with a client id of its own. It is called for each run of the
    ///     source.
    public init(
        name: String, topic: String, accuracy: Resolution.Accuracy = .high,
        connect: @escaping @Sendable () throws(TrackingError) -> Transport
    ) {
        self.facts = SourceFacts(name: name, kind: .gps, isFinite: false, isLive: true, accuracy: accuracy)
        self.topic = topic
        self.connect = connect
    }

    /// Does nothing: the publisher of the topic decides how often positions arrive.
    public func use(_ resolution: Resolution) async {}

    /// Delivers the positions of the topic until cancelled.
    ///
    /// - Throws: `inputUnreadable` when the broker cannot be reached, rejects the subscription, or closes the
    ///   connection. Callers may call it again.
    public func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
        let transport = try self.connect()
        let outcome = await withTaskGroup(of: Result<Void, TrackingError>.self) { group in
            group.addTask {
                await transport.run()
                return .success(())
            }
            group.addTask { await self.read(transport, deliver) }
            defer { group.cancelAll() }
            for await outcome in group {
                if case .failure = outcome { return outcome }
            }
            return .success(())
        }
        try outcome.get()
    }

    /// Subscribes to the topic and delivers its positions until the connection ends.
    private func read(
        _ transport: Transport, _ deliver: @escaping SourceEvent.Delivery
    ) async -> Result<Void, TrackingError> {
        var fixes = TopicFixes()
        var token: TransportToken = 0
        for await events in transport.events {
            for event in events {
                switch event {
                case .connected:
                    token += 1
                    transport.send([.subscribe([self.topic], token)])
                case .subscribed(_, let refusals):
                    if let refusal = refusals.compactMap({ $0 }).first { return .failure(self.error(refusal)) }
                case .received(let message):
                    for event in self.sourceEvents(message, &fixes) { await deliver(event) }
                case .disconnected(let lost):
                    let reason = lost.lasted == nil ? lost.failure : lost.reason
                    if let reason { return .failure(self.error(reason)) }
                case .published: break
                }
            }
        }
        return .success(())
    }

    private func sourceEvents(_ message: IncomingMessage, _ fixes: inout TopicFixes) -> [SourceEvent] {
        do throws(TrackingError) {
            return try fixes.received(message).map { .fix($0) }
        } catch {
            return [.badInput("\(self.facts.name): the message is no location update: \(error.message)")]
        }
    }

    private func error(_ reason: TrackingError) -> TrackingError {
        TrackingError(.inputUnreadable, "no positions from \(self.facts.name): \(reason.message)")
    }
}
