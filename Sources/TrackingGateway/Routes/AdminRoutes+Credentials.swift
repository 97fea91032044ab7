import HTTPTypes
import Hummingbird
import TrackingCore
import TrackingHistory
import TrackingRules
import TrackingRuntime

/// The HTTP routes with which administrators issue, list and revoke the credentials of apps for the broker.
extension AdminRoutes {
    /// The largest number of bytes in the body of a request for a credential.
    private static let maximumBytes = 16_384

    /// Answers with the newest credentials, without their passwords, the newest first.
    func credentials(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        _ = try self.administrator(request, context)
        let now = self.clock.moment.wall
        let list = try await self.credentialDesk().store.newest()
        return .json(.object(["credentials": .list(list.map { .object($0.members(at: now)) })]))
    }

    /// Issues a credential, and answers with it. The gateway cannot show the password again.
    func postCredential(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        let desk = try self.credentialDesk()
        let wanted = try self.credentialRequest(
            try await self.json(request, context, upTo: Self.maximumBytes, members: ["read", "for"]))
        guard try context.requireCaller().reads.includes(.only(Set(wanted.reads))) else {
            throw Problem(.forbidden, "This token may not read all of these trackables, so it cannot let an app do so.")
        }
        let issued = try await self.atBroker { () async throws(TrackingError) in
            try await desk.issue(wanted, now: self.clock.moment.wall, by: administrator.actor)
        }
        var response = Response.json(issued.json, status: .created)
        response.headers[.cacheControl] = "no-store"
        return response
    }

    /// Revokes the credential with the id in the request's path, and ends its connections. Answers 404 if there is no
    /// such credential, or if it is not valid any more.
    func deleteCredential(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let administrator = try self.administrator(request, context)
        let desk = try self.credentialDesk()
        let id = context.parameters.get("id") ?? ""
        let isRevoked = try await self.atBroker { () async throws(TrackingError) in
            try await desk.revoke(id, now: self.clock.moment.wall, by: administrator.actor)
        }
        guard isRevoked else {
            throw Problem(
                .notFound, "There is no valid credential with this id: it does not exist, has expired, or was revoked.")
        }
        return Response(status: .noContent)
    }

    private func credentialDesk() throws(Problem) -> CredentialDesk {
        guard let desk = self.credentialsOfApps else {
            throw Problem(
                .forbidden,
                "This gateway issues no credentials: its operator must start godwit serve with --credential-issuer.")
        }
        return desk
    }

    /// Reads the body of a request for a credential: `{"read": ["order-17"], "for": 3600}`. The lifetime is in seconds,
    /// or a text such as `1h`.
    ///
    /// - Throws: `Problem` (400) that describes the required form.
    private func credentialRequest(_ json: JSONValue) throws(Problem) -> CredentialRequest {
        guard let list = json["read"]?.list, case let ids = list.compactMap(\.text), ids.count == list.count,
            let time = json["for"], time.text != nil || time.count != nil
        else {
            throw Problem(
                .badRequest,
                "The body must be a JSON object with the list 'read' (ids of trackables) and 'for' (the lifetime in whole seconds, or a text as 1h), such as {\"read\":[\"order-17\"],\"for\":3600}."
            )
        }
        return try explained { () throws(TrackingError) in
            let span = try time.text.map { (text) throws(TrackingError) in try HistoryTime.span(text) }
            return try CredentialRequest(reads: ids, for: span ?? .seconds(time.count ?? 0))
        }
    }

    /// Returns the result of an action at the broker.
    ///
    /// - Throws: `Problem`: 429 for too many credentials, 502 if the broker rejects the action, 503 if it cannot be
    ///   reached; the errors of the gateway's database.
    private func atBroker<Value>(_ body: () async throws(TrackingError) -> Value) async throws -> Value {
        do throws(TrackingError) { return try await body() } catch {
            switch error.code {
            case .overloaded: throw Problem(.tooManyRequests, "\(error.message).", headers: [.retryAfter: "60"])
            case .notAuthorized, .badCredentials: throw Problem(.badGateway, "\(error.message).")
            case .storeFailed, .storeUnusable, .payloadTooLarge: throw error
            default: throw Problem(.serviceUnavailable, "The broker could not be changed: \(error.message).")
            }
        }
    }
}
