package import Hummingbird
import HTTPTypes
import HummingbirdCore
import NIOCore
package import TrackingCore
package import TrackingRules
import TrackingRuntime
package import TrackingStore

/// The HTTP routes below `/api/v1`, with which other programs read recorded data and the live state.
package struct APIRoutes: Sendable {
    let history: (any HistoryStore)?
    let live: LiveState
    let names: RuleStore
    let access: AccessStore
    let roads: (any RoadEngine)?
    let clock = DeviceClock()

    /// Creates the API routes of one gateway, with which other programs read recorded data and the live state.
    ///
    /// - Parameters:
    ///   - history: The history; `nil` if there is none.
    ///   - live: The live state of the trackables.
    ///   - names: The labels of trackables, and the fences and rules.
    ///   - access: The store of permissions, which are checked again during long answers.
    ///   - roads: The routing engine that matches recorded points with roads; `nil` if there is none.
    package init(
        history: (any HistoryStore)?, live: LiveState, names: RuleStore, access: AccessStore,
        roads: (any RoadEngine)? = nil
    ) {
        self.history = history
        self.live = live
        self.names = names
        self.access = access
        self.roads = roads
    }

    /// Adds the routes of the API to a router.
    package func add(to router: Router<GatewayRequestContext>) {
        let api = router.group("api/v1")
        api.get("openapi.json") { request, _ in
            _ = try self.query(request)
            return Self.description
        }
        api.get("trackables") { request, context in try await self.trackables(request, context) }
        api.get("trackables/:id") { request, context in try await self.trackable(request, context) }
        api.get("trackables/:id/position") { request, context in try await self.position(request, context) }
        api.get("trackables/:id/journey") { request, context in try self.journey(request, context) }
        api.get("trackables/:id/estimate") { request, context in try self.estimate(request, context) }
        api.get("journeys") { request, context in try await self.journeys(request, context) }
        api.get("positions") { request, context in try await self.positions(request, context) }
        api.get("fences") { request, context in try await self.fences(request, context) }
        api.get("fences/:name") { request, context in try await self.fence(request, context) }
        api.get("rules") { request, context in try await self.rules(request, context) }
        api.get("rules/:name") { request, context in try await self.rule(request, context) }
        api.get("trackables/:id/label") { request, context in try await self.label(request, context) }
        api.get("trackables/:id/history") { request, context in try await self.points(request, context) }
        api.get("trackables/:id/trips") { request, context in try await self.trips(request, context) }
        api.get("trackables/:id/events") { request, context in try await self.events(request, context) }
    }

    /// The answer with the OpenAPI description of the API. Tests compare the API with it.
    private static var description: Response {
        Response(
            status: .ok, headers: [.contentType: "application/json", .cacheControl: "max-age=300"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: PageFile.content("openapi.json"))))
    }

    /// Returns the query parameters of a request.
    ///
    /// - Parameter names: The parameters that the route accepts in addition to `token`.
    /// - Throws: `Problem` (400) that names a parameter that is unknown or not percent-encoded UTF-8.
    func query(_ request: Request, _ names: String...) throws(Problem) -> APIQuery {
        try APIQuery(request, now: self.clock.moment.wall, allowing: names)
    }

    /// Returns the history of the gateway.
    ///
    /// - Throws: `Problem` (404) if there is no history, or nothing was recorded yet.
    func requireHistory() throws(Problem) -> any HistoryStore {
        guard let history = self.history else {
            throw Problem(.notFound, "This gateway has no history: its operator configured none.")
        }
        guard history.isPresent else {
            throw Problem(.notFound, "This gateway has no history yet: nothing was recorded.")
        }
        return history
    }

    /// Checks, while a long answer is written, that a caller's token, share link or session is still valid, and that
    /// the caller may still read all trackables that it could read before. If the database cannot be read, the answer
    /// continues.
    ///
    /// - Throws: `Problem` (401) if the caller has lost its access or a part of it.
    func checkStillHolds(_ caller: Caller) async throws(Problem) {
        guard (try? await self.access.stillHolds(caller, now: self.clock.moment.wall)) == false else { return }
        throw .unauthorized
    }

    // MARK: - Trackables

    /// Answers with a page of the known trackables that the caller may read, sorted by id: all of them, or those in the
    /// query.
    private func trackables(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let caller = try context.requireCaller()
        let query = try self.query(request, "trackables", "trackable", "limit", "after")
        let wanted = try query.trackables()
        for id in wanted ?? [] { try caller.checkReads(id) }
        let limit = try query.whole("limit", in: 1...1000) ?? 1000
        var found = try await self.summaries(wanted, for: caller, after: try query.after(), limit: limit + 1)
        let hasMore = found.count > limit
        found = Array(found.prefix(limit))
        let labels = try await self.names.labels(of: found.map(\.id))
        var members: [String: JSONValue] = [
            "trackables": .list(
                found.map { .object(Self.members(of: $0, self.live.known($0.id), called: labels[$0.id], for: caller)) })
        ]
        if hasMore { members["next"] = found.last.map { .text($0.id.rawValue) } }
        return .json(.object(members))
    }

    /// Returns the trackables that the caller may read and that the history or the live state knows, each once, sorted
    /// by id: at most `limit` of those after an id, and only those of `wanted` if that is not `nil`.
    private func summaries(
        _ wanted: Set<TrackableID>?, for caller: Caller, after: TrackableID?, limit: Int
    ) async throws(TrackingError) -> [TrackableSummary] {
        func isNext(_ id: TrackableID) -> Bool {
            caller.reads.contains(id) && after.map { $0 < id } ?? true && wanted?.contains(id) ?? true
        }
        let known = self.live.present().filter(isNext)
        var found = known.map { TrackableSummary(id: $0) }
        if caller.span == nil { found += try await self.stored(wanted, for: caller, after: after, limit: limit) }
        // The stored summary has more content, so it replaces the live summary.
        let each = Dictionary(found.map { ($0.id, $0) }) { $1 }
        return Array(each.values.sorted { $0.id < $1.id }.prefix(limit))
    }

    private func stored(
        _ wanted: Set<TrackableID>?, for caller: Caller, after: TrackableID?, limit: Int
    ) async throws(TrackingError) -> [TrackableSummary] {
        guard let history = self.history else { return [] }
        guard let ids = wanted ?? caller.reads.named else {
            return try await history.trackables(after: after, limit: limit)
        }
        let next = ids.filter { id in after.map { $0 < id } ?? true }
        return Array(try await history.summaries(of: Array(next)).prefix(limit))
    }

    private static func members(
        of summary: TrackableSummary, _ known: LiveState.Known?, called label: TrackableLabel?, for caller: Caller
    ) -> [String: JSONValue] {
        var members = label?.json.object ?? ["id": .text(summary.id.rawValue)]
        if caller.span != nil {
            members["groups"] = nil
        } else {
            members["metadata"] = known?.metadata.map { .text($0) }
        }
        members["streams"] = .number(Double(summary.streams))
        members["first"] = summary.first.map { .number($0.seconds) }
        members["last"] = summary.last.map { .number($0.seconds) }
        return members
    }

    /// Answers with the state of one trackable: its label and metadata, a summary of its history, its last position, and its live
    /// state such as presence, trip and resolution in force. A share link gets only a part of them.
    private func trackable(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let id = try context.readableTrackable()
        _ = try self.query(request)
        let caller = try context.requireCaller()
        let known = self.live.known(id)
        let summary = caller.span == nil ? try await self.history?.summaries(of: [id]).first : nil
        guard known != nil || summary != nil else {
            throw Problem(.notFound, "The gateway has neither a message nor a record of this trackable.")
        }
        let label = try await self.names.labels(of: [id])[id]
        let members = Self.members(of: summary ?? TrackableSummary(id: id), known, called: label, for: caller)
        // The received JSON text is copied unchanged, because positions and trips may have members that are unknown
        // here.
        var written: [String: [UInt8]] = [:]
        // A share link omits the other members, because they may contain times before it began.
        for (name, json) in known?.members ?? [:] where caller.span == nil || ["state", "resolution"].contains(name) {
            let isShared = caller.span != nil && name == "resolution"
            let progress = known?.progress ?? JourneyProgress()
            let part = { (try? JSONValue(json: json))?.sharedResolution(progress, stop: caller.stop).json }
            written[name] = isShared ? part() : json
        }
        if let place = try await self.lastPositions([id], for: caller).first { written["position"] = place.feature }
        return .json(members, written: written)
    }
}
