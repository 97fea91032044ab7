import HTTPTypes
package import Hummingbird
import NIOCore

/// Authenticates the caller of a request. The routes check its permissions.
///
/// Without a token or a session a request goes on with nobody as its caller; with a token that is worth nothing it ends here. A
/// session that is over is as none, so that the page can ask to sign in.
package struct AccessMiddleware: RouterMiddleware {
    private let authenticator: Authenticator
    private let configuration: AccessConfiguration

    /// Makes the middleware of one gateway.
    package init(authenticator: Authenticator, configuration: AccessConfiguration) {
        self.authenticator = authenticator
        self.configuration = configuration
    }

    /// See `MiddlewareProtocol`.
    package func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        // Public files count towards no caller's limit.
        guard !self.configuration.isPublic(request.uri.path) else {
            return try await next(request, try self.limited(context, request))
        }
        switch Credential(request) {
        case .secret(let text): context.caller = try await self.authenticator.caller(presenting: text, request, context)
        case .session(let text):
            try Self.checkOrigin(of: request, url: self.configuration.url)
            context.caller = try await self.authenticator.caller(ofSession: text)
        case nil: break
        }
        return try await next(request, try self.limited(context, request))
    }

    /// - Throws: `Problem` where the body is larger than this caller's may be.
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

    /// A page of another origin must not act with the cookie of one who is signed in here, nor give one.
    ///
    /// Browsers send `Sec-Fetch-Site` over TLS and to this machine alone, so `Origin` counts as well; programs send neither.
    ///
    /// - Parameter url: The address of the gateway from outside; `nil` where that is not known.
    /// - Throws: `Problem`: 403.
    static func checkOrigin(of request: Request, url: String?) throws(Problem) {
        guard request.method != .get, request.method != .head else { return }
        let site = request.headers[.secFetchSite] ?? "none"
        let isOwn = request.headers[.origin].map { origin in
            PageOrigin(origin)?.isOwn(url: url, host: request.head.authority) ?? false
        }
        guard ["same-origin", "none"].contains(site), isOwn ?? true else {
            throw Problem(
                .forbidden,
                "A page of another origin cannot do this. Behind a proxy, pass on Host, or name the gateway's address with --url."
            )
        }
    }
}

extension HTTPField.Name {
    static let secFetchSite = Self("Sec-Fetch-Site")!  // a valid name
    static let forwardedFor = Self("X-Forwarded-For")!  // a valid name
    static let forwardedProtocol = Self("X-Forwarded-Proto")!  // a valid name
}
