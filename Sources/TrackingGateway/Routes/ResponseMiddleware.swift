package import CoreMetrics
import HTTPTypes
package import Hummingbird
import Logging
import NIOHTTP1
import Synchronization
import TrackingCore
import TrackingRuntime

/// The outermost middleware of the gateway. It turns errors into problem details, adds security headers to every answer
/// and CORS headers for configured origins, and counts requests.
package struct ResponseMiddleware: RouterMiddleware {
    private let origins: Set<String>
    private let metrics: any MetricsFactory
    private let warnings = Warnings()

    /// The limit of the rate of warnings about requests that failed because of the gateway. It is shared by the
    /// requests of all connections.
    private final class Warnings: Sendable {
        let limit = Mutex(WarningLimit<String>())
        let clock = DeviceClock()
    }

    /// Creates the outermost middleware of the gateway, which completes and counts answers.
    ///
    /// - Parameters:
    ///   - origins: The origins of other web sites whose pages may read the answers; empty to disable CORS.
    ///   - metrics: The backend of the metrics that count requests.
    package init(origins: [String], metrics: any MetricsFactory) {
        self.origins = Set(origins)
        self.metrics = metrics
    }

    /// Passes a request on to the next handler, and completes and counts the answer.
    package func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        let start = DeviceClock.now
        let response = try await self.protected(request, context, next)
        self.count(request, context, response, start.duration(to: DeviceClock.now))
        return response
    }

    /// Counts a request and records its duration, by the pattern of its route. The metrics never contain the values in
    /// the request's path.
    private func count(
        _ request: Request, _ context: GatewayRequestContext, _ response: Response, _ time: Duration
    ) {
        let route = context.endpointPath ?? "other"
        let method = Self.methods.contains(request.method) ? request.method.rawValue : "other"
        Counter(
            label: "godwit_http_requests_total",
            dimensions: [("route", route), ("method", method), ("status", "\(response.status.code)")],
            factory: self.metrics
        ).increment()
        Timer(label: "godwit_http_request_seconds", dimensions: [("route", route)], factory: self.metrics)
            .recordNanoseconds(Int64(time.inSeconds * 1e9))
    }

    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]

    private func protected(
        _ request: Request, _ context: GatewayRequestContext,
        _ next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        let origin = request.headers[.origin].flatMap { self.origins.contains($0) ? $0 : nil }
        var response: Response
        if let origin, request.method == .options, request.headers[.accessControlRequestMethod] != nil {
            response = Self.preflight
            response.headers[.accessControlAllowOrigin] = origin
        } else {
            response = try await self.answer(request, context, next)
        }
        for field in Self.protection where response.headers[field.name] == nil { response.headers.append(field) }
        if !self.origins.isEmpty { response.headers[.vary] = "Origin" }
        if let origin {
            response.headers[.accessControlAllowOrigin] = origin
            response.headers[.accessControlExposeHeaders] = "ETag, Link, Retry-After"
        }
        return response
    }

    private func answer(
        _ request: Request, _ context: GatewayRequestContext,
        _ next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPParserError {
            throw error  // The server answers, and closes.
        } catch {
            let problem = Problem(error)
            if problem.status.kind == .serverError { self.warn(error, context) }
            let response = problem.response(from: request, context: context)
            return request.method == .head ? response.createHeadResponse() : response
        }
    }

    private func warn(_ error: any Error, _ context: GatewayRequestContext) {
        let route = context.endpointPath ?? "other"
        let now = self.warnings.clock.moment.now
        guard case .say(let suppressed) = self.warnings.limit.withLock({ $0.happened(route, now: now) }) else { return }
        context.logger.warning(
            "Gateway could not answer an HTTP request because of an error: the client received an error status of 500 or higher",
            metadata: ["route": "\(route)", "reason": "\(error)", "not logged": "\(suppressed)"])
    }

    private static let preflight = Response(
        status: .noContent,
        headers: [
            .accessControlAllowMethods: "GET, HEAD, POST, PUT, PATCH, DELETE",
            .accessControlAllowHeaders: "Authorization, Content-Type, If-Match, If-None-Match, Last-Event-ID",
            .accessControlMaxAge: "600",
        ])

    /// The security headers of each answer that does not set them itself: no content of other origins, no framing, no
    /// guessed media types, no referrer, and no storing in caches.
    private static let protection: HTTPFields = [
        .contentSecurityPolicy:
            "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
            + "frame-ancestors 'none'",
        .xContentTypeOptions: "nosniff", .referrerPolicy: "no-referrer", .xFrameOptions: "DENY",
        .cacheControl: "no-store",
    ]
}

extension HTTPField.Name {
    static let referrerPolicy = Self("Referrer-Policy")!  // a valid name
    static let xFrameOptions = Self("X-Frame-Options")!  // a valid name
}
