package import ServiceLifecycle

/// The bridge between Godwit and OwnTracks on the broker. It runs its services, such as the receiver and the sender,
/// until one of them fails or all have ended.
package struct OwnTracksBridge: Service {
    private let parts: [any Service]

    /// Creates a bridge that runs these services, such as the receiver and the sender.
    package init(_ parts: [any Service]) { self.parts = parts }

    /// Runs the services of the bridge until a graceful shutdown or cancellation.
    ///
    /// - Throws: The error of the first service that fails; the other services are cancelled.
    package func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in self.parts { group.addTask { try await part.run() } }
            // `waitForAll()` would throw the error only after the other services have ended.
            while try await group.next() != nil {}
        }
    }
}
