import HTTPTypes
package import Hummingbird
import NIOCore

/// Authenticates the caller of an HTTP request, and limits the size of the request's body. It does not check the
/// caller's permissions; each route does that.
///
/// A request without a token or session, or for a public file, continues without a caller. A request with an invalid
/// token is answered with 401, or with 429 after too many of them. A request with an expired session continues without
/// a caller too, so that the page can offer to sign in.
package struct AccessMiddleware: RouterMiddleware {
    private let authenticator: Authenticator
    private let configuration: AccessConfiguration

    /// Creates the middleware that authenticates the requests of one gateway.
    package init(authenticator: Authenticator, configuration: AccessConfiguration) {
        self.authenticator = authenticator
        self.configuration = configuration
    }

    /// Authenticates the caller of a request, and passes the request on to the next handler.
    ///
    /// - Throws: `Problem` for an invalid token, a one-time token in a request that does not sign in, an exceeded request
    ///   limit, a body that is too large, or a page of another origin.
    package func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        // Requests for public files are not counted towards a caller's request limit.
        guard !self.configuration.isPublic(request.uri.path) else {
            return try await next(request, try self.limited(context, request))
        }
        switch Credential(request) {
        case .secret(let text):
            let caller = try await self.authenticator.caller(presenting: text, request, context)
            try Self.checkMayPresent(caller, request)
            context.caller = caller
        case .session(let text):
            try Self.checkOrigin(of: request, url: self.configuration.url, hasCookie: true)
            context.caller = try await self.authenticator.caller(ofSession: text)
        case nil: break
        }
        return try await next(request, try self.limited(context, request))
    }

    /// Checks that a caller with a one-time token uses it only to sign in.
    ///
    /// - Throws: `Problem` (403) for any other request.
    private static func checkMayPresent(_ caller: Caller, _ request: Request) throws(Problem) {
        guard caller.isOnce, request.method != .post || request.uri.path != SessionRoutes.path else { return }
        throw Problem(.forbidden, "This token can only sign in, once: POST \(SessionRoutes.path).")
    }

    /// Returns the request context with the largest number of body bytes that the caller's token allows, or otherwise
    /// the gateway's default.
    ///
    /// - Throws: `Problem` (413) if the request announces a larger body.
    private func limited(
        _ context: GatewayRequestContext, _ request: Request
    ) throws(Problem) -> GatewayRequestContext {
        var context = context
        context.maxUploadSize = context.caller?.limits.bodyBytes ?? self.configuration.maximumBodyBytes
        guard let length = request.headers[.contentLength].flatMap({ Int($0) }), length > context.maxUploadSize else {
            return context
        }
        throw .bodyTooLarge(limit: context.maxUploadSize)
    }

    /// Rejects requests that change something and come from a page of another origin. Such a page must not act with the
    /// session cookie of a signed-in user.
    ///
    /// Browsers send `Sec-Fetch-Site` only over TLS and to the same machine, so `Origin` is checked as well. Programs
    /// that are no browsers send neither, so a request without both is rejected only if it has the cookie.
    ///
    /// - Parameters:
    ///   - url: The public address of the gateway; `nil` if it is not known.
    ///   - hasCookie: `true` if the credential of the request is the session cookie.
    /// - Throws: `Problem` (403) for a page of another origin.
    static func checkOrigin(of request: Request, url: String?, hasCookie: Bool = false) throws(Problem) {
        guard request.method != .get, request.method != .head else { return }
        let site = request.headers[.secFetchSite]
        let isOwn = request.headers[.origin].map { origin in
            PageOrigin(origin)?.isOwn(url: url, host: request.head.authority) ?? false
        }
        guard ["same-origin", "none"].contains(site ?? "none"), isOwn ?? (site == "same-origin" || !hasCookie) else {
            throw Problem(
                .forbidden,
                "The gateway rejects changes that a web page of another site requests. With the session cookie, the request must have the header Origin of the gateway. If this is the gateway's own page behind a proxy, let the proxy pass on the headers Host and Origin, or start the gateway with --url."
            )
        }
    }
}

extension HTTPField.Name {
    static let secFetchSite = Self("Sec-Fetch-Site")!  // a valid name
    static let forwardedFor = Self("X-Forwarded-For")!  // a valid name
    static let forwardedProtocol = Self("X-Forwarded-Proto")!  // a valid name
}
