import HTTPTypes
package import Hummingbird
import TrackingCore

/// Changes the answer to the app Overland for iOS when its request is rejected before its records are read. The app
/// shows the `error` of an answer with status 200 and keeps its records. It neither reads nor shows an answer with
/// another status.
///
/// An invalid token is still answered with 401, as for every client.
package struct OverlandAnswers: RouterMiddleware {
    private let paths: OverlandPaths

    /// Creates the middleware for Overland's answers. It must be added before the middleware that rejects requests.
    ///
    /// - Parameter paths: The paths that accept Overland's requests.
    package init(paths: OverlandPaths) { self.paths = paths }

    private static let shown: Set<HTTPResponse.Status> = [
        .forbidden, .contentTooLarge, .unsupportedMediaType, .tooManyRequests,
    ]

    /// Passes a request on to the next handler. If a request of Overland is rejected with status 403, 413, 415 or 429,
    /// answers with status 200 and the reason instead.
    package func handle(
        _ request: Request, context: GatewayRequestContext,
        next: @concurrent (Request, GatewayRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            let problem = Problem(error)
            guard Self.shown.contains(problem.status), request.method == .post, self.paths.contains(request.uri.path),
                PhoneClient(userAgent: request.headers[.userAgent]) == .overland
            else { throw error }
            let reason = problem.detail ?? problem.status.reasonPhrase
            var response = Response(PhoneAnswer.notTaken(TrackingError(.refused, reason), by: .overland))
            response.headers.append(contentsOf: problem.headers)
            return response
        }
    }
}
