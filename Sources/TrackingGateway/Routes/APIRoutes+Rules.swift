import Hummingbird
import NIOCore
import TrackingCore
import TrackingRules

/// The API routes of the fences and rules that `godwit fence` and `godwit rule` define.
extension APIRoutes {
    /// Answers with the fences that the caller may read, as a GeoJSON FeatureCollection.
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

    /// Answers with the rules that the caller may read.
    func rules(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let caller = try context.requireCaller()
        _ = try self.query(request)
        try caller.checkReadsRules()
        let rules = try await self.rules(for: caller).map { rule in
            JSONValue.object((rule.json.object ?? [:]).merging(["name": .text(rule.name)]) { $1 })
        }
        return request.tagged(ByteBuffer(bytes: JSONValue.object(["rules": .list(rules)]).json), "application/json")
    }

    /// Returns the rules that a caller may read: all of them if it may read every trackable, otherwise those that apply
    /// only to trackables that it may read.
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
    /// Checks that the caller may read fences and rules, which a share link does not show.
    ///
    /// - Throws: `Problem` (403) if the caller uses a share link.
    fileprivate func checkReadsRules() throws(Problem) {
        guard self.span == nil else {
            throw Problem(.forbidden, "A share link shows only the live position, not fences and rules.")
        }
    }
}

extension Fence {
    /// The fence as a GeoJSON Feature: polygons unchanged, and a circle as its centre with the property `radius`, in
    /// metres.
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
