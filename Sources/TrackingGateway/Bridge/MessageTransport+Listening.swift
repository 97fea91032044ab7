import ServiceLifecycle
import TrackingCore

extension MessageTransport {
    /// Runs the connection to the broker, and at the same time the closure `listen`, which reads the events of this
    /// connection. Both end when the closure returns, on a graceful shutdown, or on cancellation.
    ///
    /// - Throws: The error of `listen`.
    func run(beside listen: @escaping @Sendable () async throws -> Void) async throws {
        try await cancelWhenGracefulShutdown {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await self.run() }
                defer { group.cancelAll() }
                try await listen()
            }
        }
    }
}
