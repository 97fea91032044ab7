import HTTPTypes
package import Hummingbird
import HummingbirdCore
import NIOCore
import TrackingCore
import TrackingRuntime
package import TrackingRules
package import TrackingStore

/// The HTTP routes with which administrators change fences, rules, labels, share links and journeys, send commands, and
/// issue credentials.
///
/// Each route makes the same decisions as the command of `godwit` with the same purpose, because both use the same
/// stores. Each change is written to the audit.
package struct AdminRoutes: Sendable {
    private let database: GatewayDatabase
    private let history: (any HistoryStore)?
    let live: LiveState
    let access: AccessStore
    let configuration: AccessConfiguration
    let commands: CommandDesk?
    let journeys: JourneyDesk?
    let credentialsOfApps: CredentialDesk?
    let clock = DeviceClock()

    /// Creates the routes of one gateway for administrators.
    ///
    /// - Parameters:
    ///   - database: The gateway's database.
    ///   - history: The history, which knows trackables; `nil` for none.
    ///   - live: The live state, which knows trackables.
    ///   - configuration: The address of the gateway, for share links and for the addresses of clients.
    ///   - commands: Sends commands to devices; `nil` if the gateway sends none.
    ///   - journeys: Sets journeys; `nil` if the gateway sets none.
    ///   - credentials: Issues the credentials of apps for the broker; `nil` if the gateway issues none.
    package init(
        database: GatewayDatabase, history: (any HistoryStore)?, live: LiveState, configuration: AccessConfiguration,
        commands: CommandDesk?, journeys: JourneyDesk? = nil, credentials: CredentialDesk? = nil
    ) {
        self.database = database
        self.history = history
        self.live = live
        self.access = AccessStore(database)
        self.configuration = configuration
        self.commands = commands
        self.journeys = journeys
        self.credentialsOfApps = credentials
    }

    /// Adds the routes for administrators to a router.
    package func add(to router: Router<GatewayRequestContext>) {
        let api = router.group("api/v1")
        api.put("fences/:name") { request, context in try await self.putFence(request, context) }
        api.delete("fences/:name") { request, context in try await self.deleteFence(request, context) }
        api.put("rules/:name") { request, context in try await self.putRule(request, context) }
        api.delete("rules/:name") { request, context in try await self.deleteRule(request, context) }
        api.put("trackables/:id/label") { request, context in try await self.putLabel(request, context) }
        api.delete("trackables/:id/label") { request, context in try await self.deleteLabel(request, context) }
        api.put("trackables/:id/groups/:group") { request, context in try await self.join(request, context) }
        api.delete("trackables/:id/groups/:group") { request, context in try await self.leave(request, context) }
        api.get("shares") { request, context in try await self.shares(request, context) }
        api.post("shares") { request, context in try await self.postShare(request, context) }
        api.delete("shares/:number") { request, context in try await self.deleteShare(request, context) }
        api.get("credentials") { request, context in try await self.credentials(request, context) }
        api.post("credentials") { request, context in try await self.postCredential(request, context) }
        api.delete("credentials/:id") { request, context in try await self.deleteCredential(request, context) }
        api.post("trackables/:id/commands") { request, context in try await self.postCommand(request, context) }
        api.put("trackables/:id/journey") { request, context in try await self.putJourney(request, context) }
        api.delete("trackables/:id/journey") { request, context in try await self.deleteJourney(request, context) }
    }

    // MARK: - Requests

    /// A request that presents the token of an administrator: its author, its query and its condition.
    struct Administrator {
        /// The administrator who makes the request, as the audit names the author of a change.
        let actor: AuditActor
        /// The query parameters of the administrator's request.
        let query: APIQuery
        /// The condition under which the request may change something: its headers `If-Match` and `If-None-Match`.
        let condition: WriteCondition
    }

    /// Checks that a request presents the token of an administrator, and returns the administrator, the query and the
    /// request's condition for the change, such as `If-Match`.
    ///
    /// - Parameter names: The parameters that the route accepts in its query.
    /// - Throws: `Problem` without the token of an administrator (401, 403), and for an unknown parameter (400).
    func administrator(
        _ request: Request, _ context: GatewayRequestContext, allowing names: [String] = []
    ) throws(Problem) -> Administrator {
        let caller = try context.requireCaller()
        try caller.checkIsAdmin()
        let address = context.address(of: request, isBehindProxy: self.configuration.isBehindProxy)
        return Administrator(
            actor: AuditActor(name: caller.name, token: caller.grant, address: address),
            query: try APIQuery(request, now: self.clock.moment.wall, allowing: names),
            condition: WriteCondition(request))
    }

    /// Returns the store of fences, rules and labels for the changes of an administrator.
    func rules(of administrator: Administrator) -> RuleStore { RuleStore(self.database, by: administrator.actor) }

    /// The audit of the gateway: the log of the changes that operators and administrators made.
    var audit: AuditLog { AuditLog(self.database) }

    /// Returns the JSON body of a request.
    ///
    /// - Parameters:
    ///   - limit: The largest number of bytes. A smaller limit of the caller's token or of the gateway applies too.
    ///   - members: The names of the members that the body may have; `nil` if the reader of the body checks them.
    /// - Throws: `Problem`: 413 for a larger body, 400 for a body that is not JSON or has an unknown member.
    func json(
        _ request: Request, _ context: GatewayRequestContext, upTo limit: Int, members: [String]? = nil
    ) async throws -> JSONValue {
        let body = try await request.body(upTo: min(limit, context.maxUploadSize), context)
        return try explained { () throws(TrackingError) in
            let json: JSONValue
            do throws(TrackingError) { json = try JSONValue(json: body.readableBytesView) } catch {
                throw TrackingError(error.code, "cannot read the body of the request: \(error.message)")
            }
            if let members { try json.checkMembers(members, of: "the body of the request") }
            return json
        }
    }

    /// Checks that the gateway knows a trackable, so that a request with a misspelled id gets an error.
    ///
    /// - Throws: `Problem` (404) if the gateway has neither a message nor a record of the trackable.
    func checkIsKnown(_ id: TrackableID) async throws {
        guard self.live.known(id) == nil else { return }
        if let history = self.history, history.isPresent, try await !history.summaries(of: [id]).isEmpty { return }
        throw Problem(
            .notFound, "The gateway has neither a message nor a record of this trackable. Check its id.")
    }

    // MARK: - Answers

    /// Returns the answer to a change: 200 or 201 with the present representation, 204 after a removal.
    ///
    /// - Parameters:
    ///   - what: The word for the changed object, such as `fence`.
    ///   - body: The bytes of the present representation, as `GET` returns them.
    /// - Throws: `Problem`: 404 if there is nothing to remove, 412 if the condition of the request is not met.
    func answer(
        _ outcome: RuleStore.Outcome, of what: String, _ body: [UInt8] = [], _ type: String = "application/json"
    ) throws(Problem) -> Response {
        switch outcome {
        case .created, .replaced:
            Response(
                status: outcome == .created ? .created : .ok,
                headers: [.contentType: type, .eTag: EntityTag.text(of: body), .cacheControl: "private, no-cache"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
        case .removed: Response(status: .noContent)
        case .absent: throw Problem(.notFound, "There is no \(what) of this name.")
        case .missing:
            throw Problem(
                .preconditionFailed, "The \(what) does not exist, and If-Match requires that it exists.")
        case .refused:
            throw Problem(
                .preconditionFailed,
                "The \(what) is not as If-Match or If-None-Match requires: another request has changed it. Read it again, and repeat the change with its present ETag."
            )
        }
    }
}

extension Caller {
    /// Checks that the caller uses the token of an administrator.
    ///
    /// - Throws: `Problem` (403) for any other caller.
    func checkIsAdmin() throws(Problem) {
        guard self.isAdmin else { throw Problem(.forbidden, "This request needs the token of an administrator.") }
    }
}
