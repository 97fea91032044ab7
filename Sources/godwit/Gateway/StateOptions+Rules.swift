import TrackingGateway

extension StateOptions {
    /// Opens the gateway's names, fences and rules, does something with them, and closes them. A gateway may run beside it.
    ///
    /// - Throws: `storeUnusable`, `storeFailed`, and what `body` throws.
    func useRules<Value>(_ body: (RuleStore) async throws -> Value) async throws -> Value {
        try await self.use { try await body(RuleStore($0)) }
    }
}
