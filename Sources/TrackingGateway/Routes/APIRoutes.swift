package import Hummingbird
import HTTPTypes
import HummingbirdCore
import NIOCore
import TrackingCore
import TrackingRuntime
package import TrackingStore

/// `/api/v1`: what was recorded and what is known now, for other programs.
package struct APIRoutes: Sendable {
    let history: (any HistoryStore)?
    let live: LiveState
    let names: RuleStore
    let access: AccessStore
    let clock = DeviceClock()

    /// Makes the routes.
    ///
    /// - Parameters:
    ///   - history: `nil` where there is none.
    ///   - live: What is known now.
    ///   - names: What trackables are called.
    ///   - access: Who may, still.
    package init(history: (any HistoryStore)?, live: LiveState, names: RuleStore, access: AccessStore) {
        self.history = history
        self.live = live
        self.names = names
        self.access = access
    }

    /// Adds them.
    package func add(to router: Router<GatewayRequestContext>) {
        let api = router.group("api/v1")
        api.get("openapi.json") { request, _ in
            _ = try self.query(request)
            return Self.description
        }
        api.get("trackables") { request, context in try await self.trackables(request, context) }
        api.get("trackables/:id") { request, context in try await self.trackable(request, context) }
        api.get("trackables/:id/position") { request, context in try await self.position(request, context) }
        api.get("positions") { request, context in try await self.positions(request, context) }
        api.get("fences") { request, context in try await self.fences(request, context) }
        api.get("rules") { request, context in try await self.rules(request, context) }
        api.get("trackables/:id/history") { request, context in try await self.points(request, context) }
        api.get("trackables/:id/trips") { request, context in try await self.trips(request, context) }
        api.get("trackables/:id/events") { request, context in try await self.events(request, context) }
    }

    /// The description of the API, which tests hold it to.
    private static var description: Response {
        Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "max-age=300"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: PackageResources.openapi_json)))
    }

    /// The parameters of a request.
    ///
    /// - Parameter names: The parameters that the request takes, beside `token`.
    /// - Throws: `Problem` that names a parameter that is unknown or not percent-encoded UTF-8.
    func query(_ request: Request, _ names: String...) throws(Problem) -> APIQuery {
        try APIQuery(request, now: self.clock.moment.wall, allowing: names)
    }

    /// The history.
    ///
    /// - Throws: A problem where there is none.
    func requireHistory() throws(Problem) -> any HistoryStore {
        guard let history = self.history else { throw Problem(.notFound, "This gateway has no history.") }
        guard history.isPresent else {
            throw Problem(.notFound, "This gateway has no history yet: nothing was recorded.")
        }
        return history
    }

    /// What lets a caller read holds while the answer is written. Where the database cannot be read, it goes on.
    ///
    /// - Throws: A problem where it does not any more: revoked, or expired.
    func checkStillHolds(_ caller: Caller) async throws(Problem) {
        guard (try? await self.access.stillHolds(caller, now: self.clock.moment.wall)) == false else { return }
        throw .unauthorized
    }

    // MARK: - Trackables

    /// A page of what the caller may read and something is known of, by id.
    private func trackables(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let caller = try context.requireCaller()
        let query = try self.query(request, "limit", "after")
        let limit = try query.whole("limit", in: 1...1000) ?? 1000
        var found = try await self.summaries(for: caller, after: try query.after(), limit: limit + 1)
        let hasMore = found.count > limit
        found = Array(found.prefix(limit))
        let labels = try await self.names.labels(of: found.map(\.id))
        var members: [String: JSONValue] = [
            "trackables": .list(found.map { .object(Self.members(of: $0, called: labels[$0.id], for: caller)) })
        ]
        if hasMore { members["next"] = found.last.map { .text($0.id.rawValue) } }
        return .json(.object(members))
    }

    /// Those of the history and those that are known now, each once.
    private func summaries(
        for caller: Caller, after: TrackableID?, limit: Int
    ) async throws(TrackingError) -> [TrackableSummary] {
        func isNext(_ id: TrackableID) -> Bool {
            caller.reads.contains(id) && after.map { $0 < id } ?? true
        }
        let heard = self.live.present().filter(isNext)
        var found = heard.map { TrackableSummary(id: $0) }
        if caller.span == nil { found += try await self.stored(for: caller, after: after, limit: limit) }
        // What is stored comes last, and says more.
        let each = Dictionary(found.map { ($0.id, $0) }) { $1 }
        return Array(each.values.sorted { $0.id < $1.id }.prefix(limit))
    }

    private func stored(
        for caller: Caller, after: TrackableID?, limit: Int
    ) async throws(TrackingError) -> [TrackableSummary] {
        guard let history = self.history else { return [] }
        guard case .only(let ids) = caller.reads else {
            return try await history.trackables(after: after, limit: limit)
        }
        let next = ids.filter { id in after.map { $0 < id } ?? true }
        return Array(try await history.summaries(of: Array(next)).prefix(limit))
    }

    private static func members(
        of summary: TrackableSummary, called label: TrackableLabel?, for caller: Caller
    ) -> [String: JSONValue] {
        var members = label?.json.object ?? ["id": .text(summary.id.rawValue)]
        if caller.span != nil { members["groups"] = nil }
        members["streams"] = .number(Double(summary.streams))
        members["first"] = summary.first.map { .number($0.seconds) }
        members["last"] = summary.last.map { .number($0.seconds) }
        return members
    }

    /// Everything that is known of one: what is stored in few words, where it is, its state, the resolution in force.
    private func trackable(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let id = try context.readableTrackable()
        _ = try self.query(request)
        let caller = try context.requireCaller()
        let known = self.live.known(id)
        let summary = caller.span == nil ? try await self.history?.summaries(of: [id]).first : nil
        guard known != nil || summary != nil else { throw Problem(.notFound, "Nothing is known of this trackable.") }
        let label = try await self.names.labels(of: [id])[id]
        let members = Self.members(of: summary ?? TrackableSummary(id: id), called: label, for: caller)
        // As they were written: a position's or a trip's place may have an extra.
        var written: [String: [UInt8]] = [:]
        // The others tell of times that may be before a share link began.
        for (name, json) in known?.members ?? [:] where caller.span == nil || ["state", "resolution"].contains(name) {
            let isShared = caller.span != nil && name == "resolution"
            written[name] = isShared ? (try? JSONValue(json: json))?.sharedResolution.json : json
        }
        if let place = try await self.lastPositions([id], for: caller).first { written["position"] = place.feature }
        return .json(members, written: written)
    }
}
