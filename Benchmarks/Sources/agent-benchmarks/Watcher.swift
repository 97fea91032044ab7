import BenchmarkSupport
import Synchronization
import TrackingCore
import TrackingMQTT

/// A connection to the broker that receives the messages of one trackable and counts its updates.
final class Watcher: Sendable {
    /// Yields once when the broker has granted the subscription.
    let subscriptions: AsyncStream<Void>
    /// Yields once when the publisher first reports that it is online, which takes an acknowledged update. The value is
    /// the time in seconds of the monotonic clock.
    let arrivals: AsyncStream<Double>
    private let subscribed: AsyncStream<Void>.Continuation
    private let online: AsyncStream<Double>.Continuation
    private let count = Atomic<Int>(0)
    private let transport: MQTTTransport
    private let location: String
    private let resolution: String

    init(_ name: String, port: Int) throws {
        let id = try TrackableID(name)
        self.location = TopicRoot.standard.path(.location(id))
        self.resolution = TopicRoot.standard.path(.resolution(id))
        self.transport = try MQTTTransport(
            configuration: MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: port)], client: try ClientID("watch-\(name)")))
        (self.subscriptions, self.subscribed) = AsyncStream.makeStream(of: Void.self)
        (self.arrivals, self.online) = AsyncStream.makeStream(of: Double.self)
    }

    /// The number of updates that arrived.
    var updates: Int { self.count.load(ordering: .relaxed) }

    /// Receives messages until the connection is closed.
    func run() async throws {
        async let running: Void = self.transport.run()
        for await batch in self.transport.events {
            for event in batch { try self.happened(event) }
        }
        await running
    }

    func close() { self.transport.send([.close(within: .seconds(1))]) }

    private func happened(_ event: TransportEvent) throws {
        switch event {
        case .connected: self.transport.send([.subscribe([self.location, self.resolution], 1)])
        case .subscribed: self.subscribed.yield()
        case .received(let message) where message.topic == self.location: self.count.add(1, ordering: .relaxed)
        case .received(let message) where !message.payload.isEmpty:
            if try MessageCodec.decodeResolution(message.payload).state == .online { self.online.yield(secondsNow()) }
        case .received, .published, .disconnected: break
        }
    }
}
