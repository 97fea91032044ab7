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
        let fences = try await self.fences(for: caller)
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
        let rules = try await self.rules(for: caller).map(\.described)
        return request.tagged(ByteBuffer(bytes: JSONValue.object(["rules": .list(rules)]).json), "application/json")
    }

    /// Answers with the fence that the request's path names, as a GeoJSON Feature.
    func fence(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let caller = try context.requireCaller()
        _ = try self.query(request)
        try caller.checkReadsRules()
        let name = try context.name("name", of: "fence")
        let readable = try await self.fences(for: caller)
        guard let fence = readable.first(where: { $0.name == name }) else {
            throw Problem(.notFound, "There is no fence of this name that the token may read.")
        }
        return request.tagged(ByteBuffer(bytes: fence.feature.json), "application/geo+json")
    }

    /// Answers with the rule that the request's path names.
    func rule(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let caller = try context.requireCaller()
        _ = try self.query(request)
        try caller.checkReadsRules()
        let name = try context.name("name", of: "rule")
        guard let rule = try await self.rules(for: caller).first(where: { $0.name == name }) else {
            throw Problem(.notFound, "There is no rule of this name that the token may read.")
        }
        return request.tagged(ByteBuffer(bytes: rule.described.json), "application/json")
    }

    /// Answers with the label of a trackable: its name, icon and groups.
    func label(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let id = try context.readableTrackable()
        try context.requireCaller().checkReadsRules()
        _ = try self.query(request)
        guard let label = try await self.names.labels(of: [id])[id], !label.isEmpty else {
            throw Problem(.notFound, "The trackable has no name, no icon and no groups.")
        }
        return request.tagged(ByteBuffer(bytes: label.json.json), "application/json")
    }

    /// Returns the fences that a caller may read: all of them if it may read every trackable, otherwise those of the
    /// rules that it may read.
    private func fences(for caller: Caller) async throws(TrackingError) -> [Fence] {
        let fences = try await self.names.fences()
        guard caller.reads != .all else { return fences }
        let used = Set(try await self.rules(for: caller).compactMap(\.fence))
        return fences.filter { used.contains($0.name) }
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
            throw Problem(
                .forbidden,
                "A share link does not give access to fences, rules and groups: it shows only the live position. Use a token."
            )
        }
    }
}

extension RuleDefinition {
    /// The rule as a JSON object of the HTTP API, including its name.
    var described: JSONValue {
        .object((self.json.object ?? [:]).merging(["name": .text(self.name)]) { $1 })
    }
}

extension GatewayRequestContext {
    /// Returns the percent-decoded name of an object, such as a fence, from the request's path.
    ///
    /// - Throws: `Problem` (400) if it is not percent-encoded UTF-8.
    func name(_ parameter: String, of what: String) throws(Problem) -> String {
        guard let text = self.parameters.get(parameter).flatMap({ $0[...].percentDecoded }) else {
            throw Problem(.badRequest, "The name of the \(what) in the path must be percent-encoded UTF-8.")
        }
        return text
    }
}
