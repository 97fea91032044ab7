package import Hummingbird
import HummingbirdCore
import HTTPTypes
import NIOCore
import TrackingCore
import TrackingRuntime

/// The HTTP routes for signing in to the map page and signing out. A user signs in with a token or the secret of a
/// share link, and gets a session cookie.
package struct SessionRoutes: Sendable {
    /// The path of the routes.
    static let path = "/session"

    private let authenticator: Authenticator
    private let store: AccessStore
    private let configuration: AccessConfiguration
    private let broker: BrokerPort?
    private let clock = DeviceClock()

    /// Creates the session routes of one gateway.
    ///
    /// - Parameters:
    ///   - authenticator: The check of tokens and share links.
    ///   - store: The store of the sessions.
    ///   - configuration: The settings of authentication and sessions.
    ///   - broker: The port of the broker, which the page prints in commands; `nil` if it is not known.
    package init(
        authenticator: Authenticator, store: AccessStore, configuration: AccessConfiguration, broker: BrokerPort? = nil
    ) {
        self.broker = broker
        self.authenticator = authenticator
        self.store = store
        self.configuration = configuration
    }

    /// Adds the routes `POST /session` (sign in), `GET /session` (the caller's permissions) and `DELETE /session` (sign
    /// out).
    package func add(to router: Router<GatewayRequestContext>) {
        router.post("session") { request, context in try await self.signIn(request, context) }
        router.get("session") { _, context in self.who(try context.requireCaller()) }
        router.delete("session") { request, _ in try await self.signOut(request) }
    }

    /// Signs a user in. The token is in the body, as `{"token": "…"}` or as a form with a field `token`; without a body
    /// it is the credential of the request itself.
    private func signIn(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        try AccessMiddleware.checkOrigin(of: request, url: self.configuration.url)
        var caller = context.caller
        let body = try await request.body(upTo: 4096, context)
        if body.readableBytes > 0 {
            guard let token = try Self.token(in: String(buffer: body), request.headers[.contentType] ?? "") else {
                throw Problem(
                    .badRequest,
                    "Cannot sign in: the body must be JSON, {\"token\": \"…\"}, or a form with the field 'token'.")
            }
            caller = try await self.authenticator.caller(presenting: token, request, context)
        }
        guard let caller, caller.grant != nil else { throw Problem.unauthorized }
        let session = try await self.session(of: caller)
        var response = self.who(caller)
        response.headers[.setCookie] = self.cookie(
            session.secret.text, seconds: Int(session.time.inSeconds), isSecure: self.isSecure(request))
        return response
    }

    /// Begins a session.
    ///
    /// - Throws: `Problem` (401) if a one-time token was used already; the errors of the gateway's database.
    private func session(of caller: Caller) async throws -> (secret: AccessSecret, time: Duration) {
        do throws(TrackingError) {
            return try await self.store.beginSession(caller, now: self.clock.moment.wall)
        } catch {
            guard error.code == .notAuthorized else { throw error }
            throw Problem.unauthorized
        }
    }

    private static func token(in body: String, _ type: String) throws -> String? {
        if type.hasPrefix("application/x-www-form-urlencoded") {
            return URI("/?\(body)").queryParameters["token"].map { String($0) }
        }
        let json = try? JSONValue(json: body.utf8)
        try json?.checkMembers(["token"], of: "the body of the request")
        return json?["token"]?.text
    }

    private func signOut(_ request: Request) async throws -> Response {
        try AccessMiddleware.checkOrigin(of: request, url: self.configuration.url)
        if case .session(let text) = Credential(request) { try await self.store.endSession(text) }
        let cookie = self.cookie("", seconds: 0, isSecure: self.isSecure(request))
        return Response(status: .noContent, headers: [.setCookie: cookie])
    }

    private func cookie(_ value: String, seconds: Int, isSecure: Bool) -> String {
        "\(Credential.cookie)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"
    }

    private func isSecure(_ request: Request) -> Bool {
        self.configuration.url?.hasPrefix("https:") == true || request.headers[.forwardedProtocol] == "https"
    }

    /// Returns the caller's name and permissions as the JSON answer for the page, and the port of the broker unless the
    /// caller has a share link.
    private func who(_ caller: Caller) -> Response {
        var members: [String: JSONValue] = [
            "name": .text(caller.name), "admin": .flag(caller.isAdmin), "reads": caller.reads.value,
            "publishes": caller.publishes.value,
        ]
        if let span = caller.span {
            members["from"] = .number(span.lowerBound.seconds)
            members["to"] = .number(span.upperBound.seconds)
        } else {
            members["broker"] = self.broker?.value
        }
        return Response.json(.object(members))
    }
}
