import HTTPTypes
package import Hummingbird
import TrackingCore
package import TrackingRules
import TrackingRuntime

/// The HTTP route `GET /map/link`. The page of a share link reads from it the state of the link and the trackable that
/// the link shows.
package struct ShareRoutes: Sendable {
    private let authenticator: Authenticator
    private let names: RuleStore
    private let clock = DeviceClock()

    /// Creates the route for the page of share links.
    ///
    /// - Parameters:
    ///   - authenticator: The check of the link's secret.
    ///   - names: The names of the trackables.
    package init(authenticator: Authenticator, names: RuleStore) {
        self.authenticator = authenticator
        self.names = names
    }

    /// Adds the route `GET /map/link` to a router.
    package func add(to router: Router<GatewayRequestContext>) {
        router.get("map/link") { request, context in try await self.link(request, context) }
    }

    /// Answers with the state of the share link whose secret the request presents.
    ///
    /// The holder of an expired or revoked link learns the time of its end, and nothing about the trackable.
    private func link(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        guard case .secret(let text) = Credential(request) else { throw Problem.unauthorized }
        let grant = try await self.authenticator.shareLink(presenting: text, request, context)
        let state = grant.state(at: self.clock.moment.wall)
        var members: [String: JSONValue] = ["state": .text(state.rawValue)]
        members["ends"] = (grant.revoked ?? grant.ends).map { .number($0.seconds) }
        guard state == .valid, case .only(let ids) = grant.reads, let id = ids.first else {
            return Response.json(.object(members))
        }
        let label = try await self.names.labels(of: [id])[id]
        members["trackable"] = .text(id.rawValue)
        members["name"] = label?.json["name"]
        members["icon"] = label?.json["icon"]
        return Response.json(.object(members))
    }
}
