import Hummingbird
import NIOCore
import TrackingCore
import TrackingRules

/// The routes of fences and rules, as `godwit fence` and `godwit rule` define them.
extension APIRoutes {
    /// Returns the fences that the caller may read, as a FeatureCollection.
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

    /// Returns the rules that the caller may read.
    func rules(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let caller = try context.requireCaller()
        _ = try self.query(request)
        try caller.checkReadsRules()
        let rules = try await self.rules(for: caller).map { rule in
            JSONValue.object((rule.json.object ?? [:]).merging(["name": .text(rule.name)]) { $1 })
        }
        return request.tagged(ByteBuffer(bytes: JSONValue.object(["rules": .list(rules)]).json), "application/json")
    }

    /// Returns every rule to a caller that may read every trackable. Other callers get the rules that concern only
    /// trackables that they may read.
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
    /// - Throws: A problem if the caller uses a share link.
    fileprivate func checkReadsRules() throws(Problem) {
        guard self.span == nil else { throw Problem(.forbidden, "A share link shows the live position alone.") }
    }
}

extension Fence {
    /// The GeoJSON of the fence: a polygon unchanged, a circle as its centre with the property `radius`, in metres.
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
