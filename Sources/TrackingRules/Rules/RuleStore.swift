package import TrackingCore
import TrackingStore

/// The labels, groups, fences and rules in the gateway's database. A running gateway applies changes of other processes
/// at once.
package struct RuleStore: Sendable {
    let database: GatewayDatabase
    /// The person or program that makes the changes, for the audit.
    private let actor: AuditActor

    /// The largest number of fences, and also of rules, in the database.
    package static let maximumCount = 1000

    /// Creates access to the labels, groups, fences and rules in a gateway's database.
    ///
    /// - Parameter actor: The person or program that makes the changes, for the audit.
    package init(_ database: GatewayDatabase, by actor: AuditActor = .commandLine) {
        self.database = database
        self.actor = actor
    }

    /// The outcome of a change of a label, a fence or a rule.
    package enum Outcome: Hashable, Sendable {
        /// The change stored a new label, fence or rule.
        case created
        /// The change replaced an existing label, fence or rule.
        case replaced
        /// The change removed the existing label, fence or rule from the database.
        case removed
        /// There is no label, fence or rule to remove.
        case absent
        /// The existing label, fence or rule does not meet the condition of the change, so that nothing was changed.
        case refused
        /// There is no label, fence or rule, but the condition of the change requires one. Nothing was changed.
        case missing
    }

    /// A function that decides if a label, fence or rule may be changed. It receives the stored value before the
    /// change, or `nil` if there is none, and returns `true` to allow the change.
    package typealias Condition<Value> = @Sendable (Value?) -> Bool

    // MARK: - Names

    /// Returns the labels of those of the given trackables that have one; with `nil`, the labels of all trackables.
    ///
    /// - Throws: `storeFailed`, `storeUnusable`.
    package func labels(of ids: [TrackableID]? = nil) async throws(TrackingError) -> [TrackableID: TrackableLabel] {
        try await self.database.read { db in
            var labels: [TrackableID: TrackableLabel] = [:]
            let wanted = ids.map(Set.init)
            for row in try GatewayRow.fetchAll(db, sql: "SELECT trackable, name, icon FROM trackableLabel") {
                let id = try TrackableID(row[0])
                guard wanted?.contains(id) ?? true else { continue }
                var label = TrackableLabel(id)
                label.name = row[1]
                label.icon = row[2]
                labels[id] = label
            }
            for row in try GatewayRow.fetchAll(db, sql: "SELECT trackable, name FROM trackableGroup ORDER BY name") {
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
    /// - Throws: `invalidConfiguration` for an invalid assignment; `storeFailed`, `storeUnusable`.
    package func setLabel(
        of id: TrackableID, _ assignments: [String]
    ) async throws(TrackingError) -> TrackableLabel {
        try await self.changeLabel(of: id) { label throws(TrackingError) in
            for assignment in assignments { try label.set(assignment) }
        }.label
    }

    /// Changes the label of a trackable, if the label before the change meets a condition.
    ///
    /// - Parameters:
    ///   - condition: Decides, by the label before the change, if the change is made. A label without name, icon and
    ///     groups is passed as `nil`.
    ///   - change: Changes the label. A label that is then empty is removed.
    /// - Returns: The label after the change, and the outcome.
    /// - Throws: The errors of `change`; `storeFailed`, `storeUnusable`.
    package func changeLabel(
        of id: TrackableID, if condition: @escaping Condition<TrackableLabel> = { _ in true },
        _ change: @escaping @Sendable (inout TrackableLabel) throws(TrackingError) -> Void
    ) async throws(TrackingError) -> (label: TrackableLabel, outcome: Outcome) {
        let actor = self.actor
        return try await self.database.write { db in
            let former = try Self.label(of: id, db)
            var label = former
            guard condition(former.isEmpty ? nil : former) else {
                return (former, former.isEmpty ? .missing : .refused)
            }
            try change(&label)
            guard !former.isEmpty || !label.isEmpty else { return (label, .absent) }
            try Self.store(label, in: db)
            try AuditLog.add(.setLabel, id.rawValue, by: actor, to: db)
            return (label, label.isEmpty ? .removed : former.isEmpty ? .created : .replaced)
        }
    }

    private static func label(of id: TrackableID, _ db: GatewayTransaction) throws -> TrackableLabel {
        var label = TrackableLabel(id)
        let row = try GatewayRow.fetchOne(
            db, sql: "SELECT name, icon FROM trackableLabel WHERE trackable = ?", arguments: [id.rawValue])
        label.name = row?["name"]
        label.icon = row?["icon"]
        label.groups = try String.fetchAll(
            db, sql: "SELECT name FROM trackableGroup WHERE trackable = ? ORDER BY name", arguments: [id.rawValue])
        return label
    }

    private static func store(_ label: TrackableLabel, in db: GatewayTransaction) throws {
        let id = label.trackable.rawValue
        try db.execute(sql: "DELETE FROM trackableLabel WHERE trackable = ?", arguments: [id])
        try db.execute(sql: "DELETE FROM trackableGroup WHERE trackable = ?", arguments: [id])
        guard !label.isEmpty else { return }
        try db.execute(
            sql: "INSERT INTO trackableLabel(trackable, name, icon) VALUES(?, ?, ?)",
            arguments: [id, label.name, label.icon])
        for group in label.groups {
            try db.execute(
                sql: "INSERT INTO trackableGroup(name, trackable) VALUES(?, ?)", arguments: [group, id])
        }
    }

    /// Returns the trackables of each group, by the name of the group.
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
    /// - Parameter condition: Decides, by the stored fence of the same name, if the fence is added.
    /// - Throws: `invalidConfiguration` when there are ``maximumCount`` other fences already, the fence's name is not
    ///   plain text, or the fence is too large to store; `storeFailed`, `storeUnusable`.
    @discardableResult
    package func add(
        _ fence: Fence, if condition: @escaping Condition<Fence> = { _ in true }
    ) async throws(TrackingError) -> Outcome {
        try await self.put(.fence, fence.name, fence.json) { db in
            let former = try Self.fence(fence.name, db)
            guard condition(former) else { return .not(former == nil ? .missing : .refused) }
            guard former != fence else { return .anew([]) }
            return .anew(try Self.definitions(db).filter { $0.fence == fence.name }.map(\.name))
        }
    }

    /// Removes the fence of this name.
    ///
    /// - Returns: `true` if the fence existed.
    /// - Throws: `invalidConfiguration` when a rule uses the fence; `storeFailed`, `storeUnusable`.
    package func removeFence(_ name: String) async throws(TrackingError) -> Bool {
        try await self.removeFence(name) { _ in true } == .removed
    }

    /// Removes the fence of this name, if the stored fence (`nil` if there is none) meets a condition.
    ///
    /// - Throws: `invalidConfiguration` when a rule uses the fence; `storeFailed`, `storeUnusable`.
    package func removeFence(
        _ name: String, if condition: @escaping Condition<Fence>
    ) async throws(TrackingError) -> Outcome {
        let actor = self.actor
        return try await self.database.write { db in
            let former = try Self.fence(name, db)
            guard condition(former) else { return former == nil ? .missing : .refused }
            if let rule = try Self.definitions(db).first(where: { $0.fence == name }) {
                throw TrackingError(
                    .invalidConfiguration,
                    "cannot remove fence '\(name)': rule '\(rule.name)' uses it; remove the rule first")
            }
            return try Self.delete(name, from: .fence, by: actor, db)
        }
    }

    // MARK: - Rules

    /// Returns the definitions of the stored rules, sorted by name. Unreadable definitions are omitted; see
    /// ``unusableRules()``.
    package func definitions() async throws(TrackingError) -> [RuleDefinition] {
        try await self.database.read { db in try Self.definitions(db) }
    }

    /// Adds a rule, or replaces the rule of the same name.
    ///
    /// - Parameter condition: A closure that receives the stored rule of the same name, or `nil`, and returns `true` to
    ///   allow the change.
    /// - Throws: `invalidConfiguration` when the rule's fence does not exist, a name or a number is invalid, the rule
    ///   is too large to store, or there are ``maximumCount`` other rules already; `storeFailed`, `storeUnusable`.
    @discardableResult
    package func add(
        _ definition: RuleDefinition, if condition: @escaping Condition<RuleDefinition> = { _ in true }
    ) async throws(TrackingError) -> Outcome {
        for group in definition.groups { try TrackableLabel.check(group, of: "group") }
        guard !definition.groups.contains("") else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot add rule '\(definition.name)': the name of its group is empty; name a group, or leave the group out so that the rule applies to all trackables"
            )
        }
        return try await self.put(.rule, definition.name, definition.json) { db in
            let former = try Self.definition(definition.name, db)
            guard condition(former) else { return .not(former == nil ? .missing : .refused) }
            let fence = try definition.fence.flatMap { try Self.fence($0, db) }
            _ = try definition.rule(fences: fence.map { [$0.name: $0] } ?? [:], groups: [:])
            return .anew(former?.condition == definition.condition ? [] : [definition.name])
        }
    }

    /// Removes the rule of this name, with its saved states.
    ///
    /// - Returns: `true` if the rule existed.
    package func removeRule(_ name: String) async throws(TrackingError) -> Bool {
        try await self.removeRule(name) { _ in true } == .removed
    }

    /// Removes the rule of this name, with its saved states, if the stored rule (`nil` if there is none) meets a
    /// condition.
    ///
    /// - Throws: `storeFailed`, `storeUnusable`.
    package func removeRule(
        _ name: String, if condition: @escaping Condition<RuleDefinition>
    ) async throws(TrackingError) -> Outcome {
        let actor = self.actor
        return try await self.database.write { db in
            let former = try Self.definition(name, db)
            guard condition(former) else { return former == nil ? .missing : .refused }
            try db.execute(sql: "DELETE FROM ruleState WHERE rule = ?", arguments: [name])
            return try Self.delete(name, from: .rule, by: actor, db)
        }
    }

    /// Returns the rules that the gateway applies, with their fences and the members of their groups. Rules without an
    /// existing fence, with a number out of range or with an unreadable definition are omitted; see
    /// ``unusableRules()``.
    package func rules() async throws(TrackingError) -> [Rule] {
        try await self.database.read { db in try Self.resolvedRules(db).compactMap { try? $0.rule.get() } }
    }

    /// Returns the version number of the rules, which grows with each change of a rule, a fence or a group.
    package func version() async throws(TrackingError) -> Int64 {
        try await self.database.read { db in try Int64.fetchOne(db, sql: "SELECT value FROM ruleVersion") ?? 0 }
    }

    // MARK: - Rows

    /// The database tables of fences and rules.
    private enum Table: String {
        case fence, rule

        /// The column with the JSON of the fence or the rule.
        var column: String { self == .fence ? "shape" : "definition" }
        /// The action that the audit records when a fence or a rule is stored in the table.
        var setting: AuditLog.Action { self == .fence ? .setFence : .setRule }
        /// The action that the audit records when a fence or a rule is removed from the table.
        var removing: AuditLog.Action { self == .fence ? .removeFence : .removeRule }
    }

    /// The decision about a change that writes a fence or a rule.
    private enum Writing {
        /// The change is made. The saved states of the rules with these names are deleted, so that these rules are
        /// evaluated as if they were new.
        case anew([String])
        /// The condition of the change is not met, so that nothing is written. The change has this outcome.
        case not(Outcome)
    }

    /// Reads the fences from the database, sorted by name. Invalid fences are omitted.
    static func fences(_ db: GatewayTransaction) throws -> [Fence] {
        try GatewayRow.fetchAll(db, sql: "SELECT name, shape FROM fence ORDER BY name").compactMap { row in
            let shape: String = row[1]
            return try? Fence(name: row[0], json: JSONValue(json: shape.utf8))
        }
    }

    /// Reads one fence; `nil` if it does not exist or is invalid.
    private static func fence(_ name: String, _ db: GatewayTransaction) throws -> Fence? {
        let shape = try String.fetchOne(db, sql: "SELECT shape FROM fence WHERE name = ?", arguments: [name])
        return shape.flatMap { try? Fence(name: name, json: JSONValue(json: $0.utf8)) }
    }

    static func groups(_ db: GatewayTransaction) throws -> [String: Set<TrackableID>] {
        var groups: [String: Set<TrackableID>] = [:]
        for row in try GatewayRow.fetchAll(db, sql: "SELECT name, trackable FROM trackableGroup") {
            groups[row[0], default: []].insert(try TrackableID(row[1]))
        }
        return groups
    }

    /// Reads the definitions of the rules from the database, sorted by name. Unreadable definitions are omitted.
    private static func definitions(_ db: GatewayTransaction) throws -> [RuleDefinition] {
        try self.decodedDefinitions(db).compactMap { try? $0.definition.get() }
    }

    /// Reads the definition of one rule; `nil` if the rule does not exist or its definition is unreadable.
    private static func definition(_ name: String, _ db: GatewayTransaction) throws -> RuleDefinition? {
        let text = try String.fetchOne(db, sql: "SELECT definition FROM rule WHERE name = ?", arguments: [name])
        return text.flatMap { try? RuleDefinition(name: name, json: JSONValue(json: $0.utf8)) }
    }

    /// Writes a fence or a rule to its table.
    ///
    /// - Parameter decide: A closure that decides if the fence or the rule is written.
    private func put(
        _ table: Table, _ name: String, _ json: JSONValue,
        decide: @escaping @Sendable (GatewayTransaction) throws -> Writing
    ) async throws(TrackingError) -> Outcome {
        guard name.isPlainText else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot add the \(table.rawValue): its name contains a control character or a character that changes the direction of text; remove this character"
            )
        }
        let text = json.json
        guard text.count <= WireLimits.maximumPayloadBytes else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot add the \(table.rawValue) '\(name)': it has \(text.count) bytes as JSON, and the limit is \(WireLimits.maximumPayloadBytes) bytes; use fewer points or trackables"
            )
        }
        let actor = self.actor
        return try await self.database.write { db in
            let rules: [String]
            switch try decide(db) {
            case .not(let outcome): return outcome
            case .anew(let names): rules = names
            }
            for rule in rules { try db.execute(sql: "DELETE FROM ruleState WHERE rule = ?", arguments: [rule]) }
            let isNew = try Self.checkRoom(for: name, in: table, db)
            try db.execute(
                sql: """
                    INSERT INTO \(table.rawValue)(name, \(table.column)) VALUES(?, ?)
                    ON CONFLICT (name) DO UPDATE SET \(table.column) = excluded.\(table.column)
                    """,
                arguments: [name, String(decoding: text, as: UTF8.self)])
            try AuditLog.add(table.setting, name, by: actor, to: db)
            return isNew ? .created : .replaced
        }
    }

    /// Checks that the table has room for one more fence or rule.
    ///
    /// - Returns: `true` if the table has no object of this name.
    /// - Throws: `invalidConfiguration` when there are ``maximumCount`` others already.
    private static func checkRoom(for name: String, in table: Table, _ db: GatewayTransaction) throws -> Bool {
        let others = try Int.fetchOne(
            db, sql: "SELECT count(*) FROM \(table.rawValue) WHERE name <> ?", arguments: [name])
        guard (others ?? 0) < Self.maximumCount else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot add the \(table.rawValue) '\(name)': there are \(Self.maximumCount) already, which is the limit; remove one first"
            )
        }
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM \(table.rawValue) WHERE name = ?)"
        return try Bool.fetchOne(db, sql: sql, arguments: [name]) ?? true
    }

    private static func delete(
        _ name: String, from table: Table, by actor: AuditActor, _ db: GatewayTransaction
    ) throws -> Outcome {
        try db.execute(sql: "DELETE FROM \(table.rawValue) WHERE name = ?", arguments: [name])
        guard db.changesCount > 0 else { return .absent }
        try AuditLog.add(table.removing, name, by: actor, to: db)
        return .removed
    }
}
