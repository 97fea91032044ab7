import BenchmarkSupport
import Synchronization
import TrackingCore
import TrackingMQTT

/// A connection to the broker that publishes the fixes of trackables, and receives the positions on the road.
final class RoadsClient: Sendable {
    /// A position on the road that arrived.
    struct Arrival: Sendable {
        /// The trackable and the number of the fix.
        var id: TrackableID
        var seq: UInt64
        /// `false` for a position as the device sent it.
        var isOnRoad: Bool
        /// The time from the publish of the fix, in seconds.
        var seconds: Double
    }

    private struct Key: Hashable {
        var id: TrackableID
        var seq: UInt64
    }

    let arrivals: AsyncStream<Arrival>
    private let continuation: AsyncStream<Arrival>.Continuation
    private let transport: MQTTTransport
    private let sent = Mutex<[Key: Double]>([:])

    init(port: Int) throws {
        self.transport = try MQTTTransport(
            configuration: MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: port)], client: try ClientID("roads-client")))
        (self.arrivals, self.continuation) = AsyncStream.makeStream(of: Arrival.self)
    }

    /// Receives messages until the connection is closed. Calls `isReady` once, when the subscription is granted.
    func run(_ isReady: @Sendable () -> Void) async throws {
        async let running: Void = self.transport.run()
        for await batch in self.transport.events {
            for event in batch {
                switch event {
                case .connected: self.transport.send([.subscribe(["tracking/+/enhanced"], 1)])
                case .subscribed: isReady()
                case .received(let message): try self.received(message)
                case .published, .disconnected: break
                }
            }
        }
        await running
    }

    func close() { self.transport.send([.close(within: .seconds(1))]) }

    /// Ends the stream of arrivals.
    func finishArrivals() { self.continuation.finish() }

    /// Publishes a fix of a trackable.
    ///
    /// - Parameter payload: The update with the fix.
    func publish(_ payload: [UInt8], of id: TrackableID, seq: UInt64) {
        self.sent.withLock { $0[Key(id: id, seq: seq)] = secondsNow() }
        let message = OutgoingMessage(topic: TopicRoot.standard.path(.location(id)), payload: payload, isRetained: true)
        self.transport.send([.publish(message, 2)])
    }

    private func received(_ message: IncomingMessage) throws {
        let now = secondsNow()
        guard !message.payload.isEmpty, !message.isRetained,
            case .enhanced(let id) = TopicRoot.standard.topic(message.topic)
        else { return }
        let update = try LocationCodec.decode(message.payload)
        guard let seq = update.location.seq,
            let sent = self.sent.withLock({ $0.removeValue(forKey: Key(id: id, seq: seq)) })
        else { return }
        self.continuation.yield(
            Arrival(
                id: id, seq: seq, isOnRoad: update.enhancement?.confidence != .offRoad, seconds: now - sent))
    }
}
