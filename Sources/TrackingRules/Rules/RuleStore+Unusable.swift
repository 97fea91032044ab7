package import TrackingCore
import TrackingStore

/// A stored rule that the gateway does not apply.
package struct UnusableRule: Hashable, Sendable {
    /// The name of the rule.
    package let name: String
    /// The reason for which the gateway does not apply the rule, for people.
    package let reason: String

    /// Creates the description of a stored rule that the gateway does not apply.
    package init(name: String, reason: String) {
        self.name = name
        self.reason = reason
    }
}

/// The rules that the gateway cannot apply: their definition cannot be decoded, their fence does not exist, or a number
/// is out of range. They do not affect other rules.
extension RuleStore {
    /// Returns the stored rules that the gateway does not apply, each with the reason, sorted by name.
    ///
    /// - Throws: `storeFailed`, `storeUnusable`.
    package func unusableRules() async throws(TrackingError) -> [UnusableRule] {
        try await self.database.read { db in
            try Self.resolvedRules(db).compactMap { name, rule in
                guard case .failure(let error) = rule else { return nil }
                return UnusableRule(name: name, reason: error.message)
            }
        }
    }

    /// Reads all rules from the database, sorted by name: each with its fence and the members of its groups, or with
    /// the reason for which it cannot be applied.
    static func resolvedRules(_ db: GatewayTransaction) throws -> [(name: String, rule: Result<Rule, TrackingError>)] {
        let fences = Dictionary(try self.fences(db).map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        let groups = try self.groups(db)
        return try self.decodedDefinitions(db).map { name, definition in
            let rule = Result { () throws(TrackingError) in
                try definition.get().rule(fences: fences, groups: groups)
            }
            return (name, rule)
        }
    }

    /// Reads the definitions of all rules from the database, sorted by name: each decoded, or with the reason for which
    /// it cannot be decoded.
    static func decodedDefinitions(
        _ db: GatewayTransaction
    ) throws -> [(name: String, definition: Result<RuleDefinition, TrackingError>)] {
        try GatewayRow.fetchAll(db, sql: "SELECT name, definition FROM rule ORDER BY name").map { row in
            let (name, text): (String, String) = (row[0], row[1])
            let definition = Result { () throws(TrackingError) in
                try RuleDefinition(name: name, json: JSONValue(json: text.utf8))
            }
            return (name, definition)
        }
    }
}
