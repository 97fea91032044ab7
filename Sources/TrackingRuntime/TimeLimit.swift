/// Runs an operation for at most the given time, and then cancels it.
///
/// - Returns: The result of the operation; `nil` if the time was over first.
/// - Throws: The errors of the operation.
package func withTimeLimit<Value: Sendable>(
    _ limit: Duration, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value? {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        return try await group.next() ?? nil
    }
}
