import HTTPTypes
package import Hummingbird
import NIOCore
import Synchronization
import TrackingCore
import TrackingRuntime

/// Finds out who asks, and how often they do. What they may is for the routes to check.
///
/// Without a token or a session a request goes on with nobody as its caller; with a token that is worth nothing it ends here. A
/// session that is over is as none, so that the page can ask to sign in.
package struct AccessMiddleware: RouterMiddleware {
    private let store: AccessStore
    private let configuration: GatewayConfiguration
    private let clock = DeviceClock()
    private let limits: Limits

    /// What the requests of all connections have in common.
    private final class Limits: Sendable {
        let byGrant: Mutex<RateLimiter<Int64>>
        let failures: Mutex<RateLimiter<String>>

        init(_ configuration: GatewayConfiguration) {
            self.byGrant = Mutex(RateLimiter(configuration.rateLimit))
            self.failures = Mutex(RateLimiter(configuration.failureLimit))
        }
    }

    /// Makes the middleware of one gateway.
    package init(store: AccessStore, configuration: GatewayConfiguration) {
        self.store = store
        self.configuration = configuration
        self.limits = Limits(configuration)
    }

    /// See `MiddlewareProtocol`.
    package func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.maxUploadSize = self.configuration.maximumBodyBytes
        try self.checkSize(of: request)
        guard let credential = Credential(request) else { return try await next(request, context) }
        let moment = self.clock.moment
        switch credential {
        case .secret(let text):
            guard let caller = try await self.caller(text, moment.wall, self.store.caller(presenting:now:)) else {
                throw self.failure(of: self.address(of: request, context), at: moment.now)
            }
            context.caller = caller
        case .session(let text):
            try Self.checkOrigin(of: request)
            context.caller = try await self.caller(text, moment.wall, self.store.caller(ofSession:now:))
        }
        if let grant = context.caller?.grant,
            let wait = self.limits.byGrant.withLock({ $0.take(grant, now: moment.now) })
        {
            throw Problem.tooManyRequests(after: wait)
        }
        return try await next(request, context)
    }

    private func caller(
        _ text: String, _ now: UnixTime,
        _ find: (String, UnixTime) async throws(TrackingError) -> Caller?
    ) async throws(TrackingError) -> Caller? {
        // What is longer is none of ours, and would only take time to hash.
        try await find(text.utf8.count <= Credential.maximumBytes ? text : "", now)
    }

    /// One answer for every token that is worth nothing. A right token is never turned away for others that were wrong: there
    /// is nothing to guess in 256 random bits, and one phone with an old token must not silence those behind the same address.
    private func failure(of address: String, at now: MonotonicTime) -> Problem {
        let wait = self.limits.failures.withLock { $0.take(address, now: now) }
        return wait.map(Problem.tooManyRequests) ?? .unauthorized
    }

    /// Where a request comes from: what the proxy in front says last, where there is one that speaks TLS for us.
    private func address(of request: Request, _ context: GatewayRequestContext) -> String {
        if self.configuration.url?.hasPrefix("https:") == true,
            let last = request.headers[.forwardedFor]?.split(separator: ",").last
        {
            return String(last.drop { $0 == " " }.prefix(64))
        }
        return context.channel.remoteAddress?.ipAddress ?? ""
    }

    private func checkSize(of request: Request) throws(Problem) {
        guard let length = request.headers[.contentLength].flatMap({ Int($0) }) else { return }
        guard length <= self.configuration.maximumBodyBytes else {
            throw Problem(
                .contentTooLarge, "A body has at most \(self.configuration.maximumBodyBytes) bytes.",
                headers: [.connection: "close"])
        }
    }

    /// A page of another origin must not act with the cookie of one who is signed in here.
    private static func checkOrigin(of request: Request) throws(Problem) {
        guard request.method != .get, request.method != .head, let site = request.headers[.secFetchSite],
            site != "same-origin", site != "none"
        else { return }
        throw Problem(.forbidden, "A page of another origin cannot do this.")
    }
}

extension Problem {
    /// Asked too often.
    static func tooManyRequests(after wait: Duration) -> Problem {
        let seconds = max(1, Int(wait.inSeconds.rounded(.up)))
        return Problem(
            .tooManyRequests, "Too many requests: try again after \(seconds) s.",
            headers: [.retryAfter: String(seconds)])
    }
}

extension HTTPField.Name {
    static let secFetchSite = Self("Sec-Fetch-Site")!  // a valid name
    static let forwardedFor = Self("X-Forwarded-For")!  // a valid name
    static let forwardedProtocol = Self("X-Forwarded-Proto")!  // a valid name
}
