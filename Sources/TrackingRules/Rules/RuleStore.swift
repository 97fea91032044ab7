import GRDB
package import TrackingCore

/// The labels, groups, fences and rules in the gateway's database. A running gateway applies changes of other processes
/// at once.
package struct RuleStore: Sendable {
    private let database: GatewayDatabase

    /// The largest number of fences, and also of rules, in the database.
    package static let maximumCount = 1000

    /// Creates access to the labels, groups, fences and rules in a gateway's database.
    package init(_ database: GatewayDatabase) { self.database = database }

    // MARK: - Names

    /// Returns the labels of the given trackables, or of all trackables that have one (`nil`).
    ///
    /// - Throws: `storeFailed`.
    package func labels(of ids: [TrackableID]? = nil) async throws(TrackingError) -> [TrackableID: TrackableLabel] {
        try await self.database.read { db in
            var labels: [TrackableID: TrackableLabel] = [:]
            let wanted = ids.map(Set.init)
            for row in try Row.fetchAll(db, sql: "SELECT trackable, name, icon FROM trackableLabel") {
                let id = try TrackableID(row[0])
                guard wanted?.contains(id) ?? true else { continue }
                var label = TrackableLabel(id)
                label.name = row[1]
                label.icon = row[2]
                labels[id] = label
            }
            for row in try Row.fetchAll(db, sql: "SELECT trackable, name FROM trackableGroup ORDER BY name") {
                let id = try TrackableID(row[0])
                guard wanted?.contains(id) ?? true else { continue }
                labels[id, default: TrackableLabel(id)].groups.append(row[1])
            }
            return labels
        }
    }

    /// Changes the label of a trackable.
    ///
    /// - Parameter assignments: The changes, such as `name=Van 7`; see ``TrackableLabel/set(_:)``.
    /// - Returns: The changed label.
    /// - Throws: `invalidConfiguration` for an invalid assignment; `storeFailed`.
    package func setLabel(
        of id: TrackableID, _ assignments: [String]
    ) async throws(TrackingError) -> TrackableLabel {
        var label = try await self.labels(of: [id])[id] ?? TrackableLabel(id)
        for assignment in assignments { try label.set(assignment) }
        let changed = label
        try await self.database.write { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO trackableLabel(trackable, name, icon) VALUES(?, ?, ?)",
                arguments: [id.rawValue, changed.name, changed.icon])
            try db.execute(sql: "DELETE FROM trackableGroup WHERE trackable = ?", arguments: [id.rawValue])
            for group in changed.groups {
                try db.execute(
                    sql: "INSERT INTO trackableGroup(name, trackable) VALUES(?, ?)", arguments: [group, id.rawValue])
            }
        }
        return label
    }

    /// Returns the trackables of each group, by the group's name.
    package func groups() async throws(TrackingError) -> [String: Set<TrackableID>] {
        try await self.database.read { db in try Self.groups(db) }
    }

    // MARK: - Fences

    /// Returns the stored fences, sorted by name. Invalid fences are omitted.
    package func fences() async throws(TrackingError) -> [Fence] {
        try await self.database.read { db in try Self.fences(db) }
    }

    /// Adds a fence, or replaces the fence of the same name.
    ///
    /// - Throws: `invalidConfiguration` when there are ``maximumCount`` other fences already, or the fence's name is
    ///   not plain text; `storeFailed`.
    package func add(_ fence: Fence) async throws(TrackingError) {
        try await self.put("fence", "shape", fence.name, fence.json) { db in
            guard try !Self.fences(db).contains(fence) else { return [] }
            return try Self.definitions(db).filter { $0.fence == fence.name }.map(\.name)
        }
    }

    /// Removes the fence of this name.
    ///
    /// - Returns: `true` if the fence existed.
    /// - Throws: `invalidConfiguration` when a rule uses the fence; `storeFailed`.
    package func removeFence(_ name: String) async throws(TrackingError) -> Bool {
        try await self.database.write { db in
            if let rule = try Self.definitions(db).first(where: { $0.fence == name }) {
                throw TrackingError(
                    .invalidConfiguration,
                    "cannot remove fence '\(name)': rule '\(rule.name)' uses it; remove the rule first")
            }
            try db.execute(sql: "DELETE FROM fence WHERE name = ?", arguments: [name])
            return db.changesCount > 0
        }
    }

    // MARK: - Rules

    /// Returns the definitions of the stored rules, sorted by name.
    package func definitions() async throws(TrackingError) -> [RuleDefinition] {
        try await self.database.read { db in try Self.definitions(db) }
    }

    /// Adds a rule, or replaces the rule of the same name.
    ///
    /// - Throws: `invalidConfiguration` when the rule's fence does not exist, a number is out of range, or there are
    ///   ``maximumCount`` other rules already; `storeFailed`.
    package func add(_ definition: RuleDefinition) async throws(TrackingError) {
        for group in definition.groups { try TrackableLabel.check(group, of: "group") }
        guard !definition.groups.contains("") else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot add rule '\(definition.name)': the name of a group is empty; leave the group out for all trackables"
            )
        }
        let fences = try await self.fences()
        _ = try definition.rule(
            fences: Dictionary(fences.map { ($0.name, $0) }, uniquingKeysWith: { $1 }), groups: [:])
        try await self.put("rule", "definition", definition.name, definition.json) { db in
            let former = try Self.definitions(db).first { $0.name == definition.name }
            return former?.condition == definition.condition ? [] : [definition.name]
        }
    }

    /// Removes the rule of this name, with its saved states.
    ///
    /// - Returns: `true` if the rule existed.
    package func removeRule(_ name: String) async throws(TrackingError) -> Bool {
        try await self.database.write { db in
            try db.execute(sql: "DELETE FROM ruleState WHERE rule = ?", arguments: [name])
            try db.execute(sql: "DELETE FROM rule WHERE name = ?", arguments: [name])
            return db.changesCount > 0
        }
    }

    /// Returns the rules that the gateway applies, with their fences and the members of their groups. Invalid rules are
    /// omitted.
    package func rules() async throws(TrackingError) -> [Rule] {
        try await self.database.read { db in
            let fences = Dictionary(try Self.fences(db).map { ($0.name, $0) }, uniquingKeysWith: { $1 })
            let groups = try Self.groups(db)
            return try Self.definitions(db).compactMap { try? $0.rule(fences: fences, groups: groups) }
        }
    }

    /// Returns the version number of the rules, which grows with each change of a rule, a fence or a group.
    package func version() async throws(TrackingError) -> Int64 {
        try await self.database.read { db in try Int64.fetchOne(db, sql: "SELECT value FROM ruleVersion") ?? 0 }
    }

    // MARK: - Rows

    /// Reads the fences from the database, sorted by name. Invalid fences are omitted.
    private static func fences(_ db: Database) throws -> [Fence] {
        try Row.fetchAll(db, sql: "SELECT name, shape FROM fence ORDER BY name").compactMap { row in
            let shape: String = row[1]
            return try? Fence(name: row[0], json: JSONValue(json: shape.utf8))
        }
    }

    private static func groups(_ db: Database) throws -> [String: Set<TrackableID>] {
        var groups: [String: Set<TrackableID>] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT name, trackable FROM trackableGroup") {
            groups[row[0], default: []].insert(try TrackableID(row[1]))
        }
        return groups
    }

    private static func definitions(_ db: Database) throws -> [RuleDefinition] {
        try Row.fetchAll(db, sql: "SELECT name, definition FROM rule ORDER BY name").map { row in
            let definition: String = row[1]
            return try RuleDefinition(name: row[0], json: JSONValue(json: definition.utf8))
        }
    }

    /// Writes a fence or a rule to its table.
    ///
    /// - Parameter anew: Returns the names of the rules whose saved states are removed. These rules are then evaluated
    ///   as if they were new.
    private func put(
        _ table: String, _ column: String, _ name: String, _ json: JSONValue,
        anew: @escaping @Sendable (Database) throws -> [String]
    ) async throws(TrackingError) {
        guard name.isPlainText else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot add the \(table): its name contains a control character or a character that changes the direction of text; remove this character"
            )
        }
        let text = json.json
        guard text.count <= WireLimits.maximumPayloadBytes else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot add the \(table) '\(name)': it has \(text.count) bytes as JSON, and the limit is \(WireLimits.maximumPayloadBytes) bytes; use fewer points or trackables"
            )
        }
        try await self.database.write { db in
            for rule in try anew(db) { try db.execute(sql: "DELETE FROM ruleState WHERE rule = ?", arguments: [rule]) }
            let others = try Int.fetchOne(
                db, sql: "SELECT count(*) FROM \(table) WHERE name <> ?", arguments: [name])
            guard (others ?? 0) < Self.maximumCount else {
                throw TrackingError(
                    .invalidConfiguration,
                    "cannot add the \(table) '\(name)': there are \(Self.maximumCount) already, which is the limit; remove one first"
                )
            }
            try db.execute(
                sql: "INSERT OR REPLACE INTO \(table)(name, \(column)) VALUES(?, ?)",
                arguments: [name, String(decoding: text, as: UTF8.self)])
        }
    }
}
