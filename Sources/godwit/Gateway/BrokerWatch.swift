import ServiceLifecycle
import TrackingCore
import TrackingSubscriber

/// Ends a gateway that runs with `--fail-fast` when its connection for the live positions cannot be made.
struct BrokerWatch: Service {
    /// The events of the gateway's subscriber.
    let events: AsyncStream<SubscriberEvent>

    /// Waits until a graceful shutdown or cancellation.
    ///
    /// - Throws: The reason for which an attempt to connect failed at all addresses of the broker, at the start or after
    ///   a lost connection.
    func run() async throws {
        try await cancelWhenGracefulShutdown {
            for await case .connection(let lost?) in self.events {
                if let reason = lost.failure { throw reason }
            }
        }
        // The events also end when the subscriber fails. The gateway then ends with the subscriber's error.
        try? await gracefulShutdown()
    }
}
