import Hummingbird
import HummingbirdCore
import TrackingCore
import TrackingRules

/// The HTTP routes with which administrators change fences, rules and labels.
extension AdminRoutes {
    /// Adds or replaces a fence. The request's body has the form in which `GET` returns a fence, or is any GeoJSON that
    /// `godwit fence add` reads.
    func putFence(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        let name = try context.name("name", of: "fence")
        let json = try await self.json(request, context, upTo: WireLimits.maximumPayloadBytes)
        let fence = try explained { () throws(TrackingError) in try Fence(name: name, json: json) }
        let condition = administrator.condition
        let outcome = try await self.rules(of: administrator).add(fence) { condition.allows($0?.feature.json) }
        return try self.answer(outcome, of: "fence", fence.feature.json, "application/geo+json")
    }

    /// Removes the fence that the request's path names. Answers 409 if a rule uses the fence, and 404 if there is none.
    func deleteFence(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        let name = try context.name("name", of: "fence")
        let condition = administrator.condition
        let rules = self.rules(of: administrator)
        do {
            return try self.answer(
                try await rules.removeFence(name) { condition.allows($0?.feature.json) }, of: "fence")
        } catch let error as TrackingError where error.code == .invalidConfiguration {
            throw Problem(.conflict, error.message)
        }
    }

    /// Adds or replaces a rule. The request's body has the form in which `GET` returns a rule. The rule's name is that
    /// in the request's path.
    func putRule(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        let name = try context.name("name", of: "rule")
        let json = try await self.json(request, context, upTo: WireLimits.maximumPayloadBytes)
        let rule = try explained { () throws(TrackingError) in try RuleDefinition(name: name, json: json) }
        let condition = administrator.condition
        let outcome = try await self.rules(of: administrator).add(rule) { condition.allows($0?.described.json) }
        return try self.answer(outcome, of: "rule", rule.described.json)
    }

    /// Removes the rule that the request's path names. Answers 404 if there is none.
    func deleteRule(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        let name = try context.name("name", of: "rule")
        let condition = administrator.condition
        let outcome = try await self.rules(of: administrator).removeRule(name) {
            condition.allows($0?.described.json)
        }
        return try self.answer(outcome, of: "rule")
    }

    // MARK: - Labels

    /// The largest number of bytes of a label as JSON: 32 groups of 128 bytes that may be escaped, and the rest.
    private static let labelBytes = 32_768

    /// Replaces the name, the icon and the groups of a known trackable by those in the request's body, and answers with
    /// them.
    func putLabel(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        let json = try await self.json(request, context, upTo: Self.labelBytes)
        return try await self.changeLabel(administrator, context) { label throws(TrackingError) in
            try label.set(json: json)
        }
    }

    /// Removes the name, the icon and the groups of a trackable. Answers 404 if it has none of them.
    func deleteLabel(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        let id = try context.readableTrackable()
        let condition = administrator.condition
        let changed = try await self.rules(of: administrator).changeLabel(
            of: id, if: { condition.allows($0?.json.json) }
        ) { $0 = TrackableLabel(id) }
        guard changed.outcome != .absent else {
            throw Problem(.notFound, "The trackable has no name, no icon and no groups.")
        }
        return try self.answer(changed.outcome, of: "label")
    }

    /// Adds a known trackable to a group, and answers with the trackable's label.
    func join(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let group = try context.name("group", of: "group")
        return try await self.changeLabel(try self.administrator(request, context), context) {
            label throws(TrackingError) in
            try label.add(group: group)
        }
    }

    /// Removes a trackable from a group. Answers 404 if it is not in the group.
    func leave(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        let id = try context.readableTrackable()
        let group = try context.name("group", of: "group")
        let rules = self.rules(of: administrator)
        guard try await rules.labels(of: [id])[id]?.groups.contains(group) == true else {
            throw Problem(.notFound, "The trackable is not in this group.")
        }
        let condition = administrator.condition
        let changed = try await rules.changeLabel(of: id, if: { condition.allows($0?.json.json) }) { label in
            label.groups.removeAll { $0 == group }
        }
        return try self.answer(changed.outcome == .replaced ? .removed : changed.outcome, of: "group")
    }

    /// Changes the label (name, icon and groups) of a known trackable, and answers with the changed label.
    private func changeLabel(
        _ administrator: Administrator, _ context: GatewayRequestContext,
        _ change: @escaping @Sendable (inout TrackableLabel) throws(TrackingError) -> Void
    ) async throws -> Response {
        let id = try context.readableTrackable()
        try await self.checkIsKnown(id)
        let condition = administrator.condition
        let changed = try await self.rules(of: administrator).changeLabel(
            of: id, if: { condition.allows($0?.json.json) }, change)
        // A label that was empty before and after the change is stored nowhere.
        let isEmpty = changed.outcome == .absent || changed.outcome == .removed
        return try self.answer(isEmpty ? .replaced : changed.outcome, of: "label", changed.label.json.json)
    }
}
