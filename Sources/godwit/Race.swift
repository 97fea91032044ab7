/// Two operations of which only the first result counts.
enum Race {
    /// Runs two operations at the same time until one of them ends, and then cancels the other one.
    static func run(
        _ one: @escaping @Sendable () async throws -> Void, or other: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await one() }
            group.addTask { try await other() }
            try await group.next()
        }
    }
}
