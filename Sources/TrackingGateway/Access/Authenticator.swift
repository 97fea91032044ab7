import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import TrackingCore
import TrackingRuntime

/// Finds the caller of a request by the token, share link secret or session secret that the request presents, and
/// limits how many requests the caller may send. A token that is unknown, malformed, expired or revoked gets the same
/// answer, in the same time.
package final class Authenticator: Sendable {
    private let store: AccessStore
    private let isBehindProxy: Bool
    private let clock = DeviceClock()
    private let byGrant: Mutex<RateLimiter<Int64>>
    private let failures: Mutex<RateLimiter<String>>

    /// Creates the authenticator of a gateway, which looks up secrets in `store`.
    package init(store: AccessStore, configuration: AccessConfiguration) {
        self.store = store
        self.isBehindProxy = configuration.isBehindProxy
        self.byGrant = Mutex(RateLimiter(configuration.rateLimit))
        self.failures = Mutex(RateLimiter(configuration.failureLimit))
    }

    /// Returns the caller with a token or the secret of a share link.
    ///
    /// A valid token is accepted even while other clients at the same address present invalid tokens too often. One
    /// phone with an old token must not block the phones that share its address, and 256 random bits cannot be guessed.
    ///
    /// - Parameter text: The secret that the request presents.
    /// - Throws: `Problem`: 401 for an invalid secret, or 429 for too many requests; `storeFailed`.
    func caller(
        presenting text: String, _ request: Request, _ context: GatewayRequestContext
    ) async throws -> Caller {
        let moment = self.clock.moment
        guard let caller = try await self.store.caller(presenting: Self.bounded(text), now: moment.wall) else {
            let address = context.address(of: request, isBehindProxy: self.isBehindProxy)
            let wait = self.failures.withLock { $0.take(address, now: moment.now) }
            throw wait.map(Problem.tooManyRequests) ?? .unauthorized
        }
        try self.count(caller, now: moment.now)
        return caller
    }

    /// Returns the grant of a share link, also of one that has expired or was revoked.
    ///
    /// A request with an expired or revoked link counts towards the limit of requests with an invalid secret.
    ///
    /// - Parameter text: The secret of the link.
    /// - Throws: `Problem`: 401 for a text that is no share link of this gateway, or 429 for too many requests;
    ///   `storeFailed`.
    func shareLink(
        presenting text: String, _ request: Request, _ context: GatewayRequestContext
    ) async throws -> AccessGrant {
        let moment = self.clock.moment
        let grant = try await self.store.shareLink(presenting: Self.bounded(text))
        if let grant, let caller = grant.caller(at: moment.wall) {
            try self.count(caller, now: moment.now)
            return grant
        }
        let address = context.address(of: request, isBehindProxy: self.isBehindProxy)
        if let wait = self.failures.withLock({ $0.take(address, now: moment.now) }) {
            throw Problem.tooManyRequests(after: wait)
        }
        guard let grant else { throw Problem.unauthorized }
        return grant
    }

    /// Returns the caller with a session's secret; `nil` if the session has ended or never existed.
    ///
    /// - Throws: `Problem` (429) for too many requests; `storeFailed`.
    func caller(ofSession text: String) async throws -> Caller? {
        let moment = self.clock.moment
        guard let caller = try await self.store.caller(ofSession: Self.bounded(text), now: moment.wall) else {
            return nil
        }
        try self.count(caller, now: moment.now)
        return caller
    }

    /// Returns the text that a caller presents as its secret, or an empty text in place of an overlong one. An overlong
    /// text is never a valid secret, so the time to hash it is saved.
    private static func bounded(_ text: String) -> String {
        text.utf8.count <= Credential.maximumBytes ? text : ""
    }

    private func count(_ caller: Caller, now: MonotonicTime) throws(Problem) {
        let limit = caller.limits.requestsPerSecond.map(RateLimit.init(perSecond:))
        guard let grant = caller.grant, let wait = self.byGrant.withLock({ $0.take(grant, limit, now: now) }) else {
            return
        }
        throw Problem.tooManyRequests(after: wait)
    }
}

extension GatewayRequestContext {
    /// Returns the address of the client that sent an HTTP request. Behind a TLS proxy it is the last address that the
    /// proxy reports in `X-Forwarded-For`.
    func address(of request: Request, isBehindProxy: Bool) -> String {
        if isBehindProxy, let last = request.headers[.forwardedFor]?.split(separator: ",").last {
            return String(last.drop { $0 == " " }.prefix(64))
        }
        return self.channel.remoteAddress?.ipAddress ?? ""
    }
}

extension Problem {
    /// Returns the answer (429) to a caller that exceeded its request limit.
    ///
    /// - Parameter wait: The time after which the caller may send the next request.
    static func tooManyRequests(after wait: Duration) -> Problem {
        let seconds = max(1, Int(wait.inSeconds.rounded(.up)))
        return Problem(
            .tooManyRequests,
            "Too many requests with this token, or too many without a valid token from this address: try again after \(seconds) s.",
            headers: [.retryAfter: String(seconds)])
    }
}
