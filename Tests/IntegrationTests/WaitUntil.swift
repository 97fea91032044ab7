import Testing

/// Repeats a check until it holds.
func waitUntil(
    within limit: Duration = .seconds(120), _ holds: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now.advanced(by: limit)
    while try await !holds() {
        try #require(ContinuousClock.now < deadline)
        try await Task.sleep(for: .milliseconds(50))
    }
}
