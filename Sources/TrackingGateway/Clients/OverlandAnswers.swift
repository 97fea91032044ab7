import HTTPTypes
package import Hummingbird
import TrackingCore

/// Tells Overland for iOS why it was turned away before its batch was looked at. The app shows the `error` of an answer with
/// status 200, and keeps what it sent; of any other status it shows and reads nothing.
///
/// Nobody known stays 401: whoever sets up a phone looks for that, and it is the one answer for every wrong token.
package struct OverlandAnswers: RouterMiddleware {
    private let paths: OverlandPaths

    /// Makes the middleware; it stands in front of what turns requests away.
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
