package import ServiceLifecycle

/// Runs what a bridge is made of, until one of them fails or all have ended.
package struct OwnTracksBridge: Service {
    private let parts: [any Service]

    /// Makes a bridge.
    package init(_ parts: [any Service]) { self.parts = parts }

    /// Runs until a graceful shutdown or cancellation.
    ///
    /// - Throws: What one of them throws; the others are cancelled.
    package func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in self.parts { group.addTask { try await part.run() } }
            try await group.waitForAll()
        }
    }
}
