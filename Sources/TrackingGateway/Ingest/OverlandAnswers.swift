import HTTPTypes
package import Hummingbird
import TrackingCore

/// Reports to Overland for iOS why its request was rejected before its batch was read. The app shows the `error` of an
/// answer with status 200 and keeps its records. It neither reads nor shows answers with another status.
///
/// A wrong token is still answered with 401, the same answer for every wrong token.
package struct OverlandAnswers: RouterMiddleware {
    private let paths: OverlandPaths

    /// Makes the middleware. Add it before the middleware that rejects requests.
    package init(paths: OverlandPaths) { self.paths = paths }

    private static let shown: Set<HTTPResponse.Status> = [
        .forbidden, .contentTooLarge, .unsupportedMediaType, .tooManyRequests,
    ]

    /// See `MiddlewareProtocol`.
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
