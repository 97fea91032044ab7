import Hummingbird
import NIOCore
import TrackingCore

/// Fences and rules, as `godwit fence` and `godwit rule` made them.
extension APIRoutes {
    /// The fences that the caller may know: a FeatureCollection.
    func fences(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let caller = try context.requireCaller()
        _ = try self.query(request)
        try caller.checkReadsRules()
        var fences = try await self.names.fences()
        if caller.reads != .all {
            let spokenOf = Set(try await self.rules(for: caller).compactMap(\.fence))
            fences.removeAll { !spokenOf.contains($0.name) }
        }
        let collection: [String: JSONValue] = [
            "type": .text("FeatureCollection"), "features": .list(fences.map(\.feature)),
        ]
        return request.tagged(ByteBuffer(bytes: JSONValue.object(collection).json), "application/geo+json")
    }

    /// The rules that the caller may know.
    func rules(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let caller = try context.requireCaller()
        _ = try self.query(request)
        try caller.checkReadsRules()
        let rules = try await self.rules(for: caller).map { rule in
            JSONValue.object((rule.json.object ?? [:]).merging(["name": .text(rule.name)]) { $1 })
        }
        return request.tagged(ByteBuffer(bytes: JSONValue.object(["rules": .list(rules)]).json), "application/json")
    }

    /// Whoever reads every trackable knows all of them, others those that are about what they may read, and nothing else.
    private func rules(for caller: Caller) async throws(TrackingError) -> [RuleDefinition] {
        let rules = try await self.names.definitions()
        guard caller.reads != .all else { return rules }
        let groups = try await self.names.groups()
        return rules.filter { rule in
            let members = rule.members(in: groups)
            return members?.isEmpty == false && members?.allSatisfy(caller.reads.contains) == true
        }
    }
}

extension Caller {
    /// - Throws: A problem where they came by a share link.
    fileprivate func checkReadsRules() throws(Problem) {
        guard self.span == nil else { throw Problem(.forbidden, "A share link shows the live position alone.") }
    }
}

extension Fence {
    /// As GeoJSON: polygons as they are, a circle as its centre with the property `radius`, in metres.
    fileprivate var feature: JSONValue {
        var properties: [String: JSONValue] = ["name": .text(self.name)]
        var geometry = self.json
        if case .circle(_, let radius) = self.shape, let center = self.json["center"] {
            properties["radius"] = .number(radius.value)
            geometry = .object(["type": .text("Point"), "coordinates": center])
        }
        return .object([
            "type": .text("Feature"), "id": .text(self.name), "geometry": geometry, "properties": .object(properties),
        ])
    }
}
