import ServiceLifecycle
import TrackingCore

extension MessageTransport {
    /// Runs the connection beside what listens to it, until that ends, or a graceful shutdown or cancellation.
    ///
    /// - Throws: What `listen` throws.
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
