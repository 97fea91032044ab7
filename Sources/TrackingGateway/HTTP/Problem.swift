package import HTTPTypes
package import Hummingbird
import NIOCore
import TrackingCore

/// A problem detail (RFC 9457) for a request that cannot be served.
package struct Problem: HTTPResponseError, Hashable, Sendable {
    /// The status.
    package var status: HTTPResponse.Status
    /// The cause and the remedy; `nil` if the status explains itself.
    package var detail: String?
    /// Additional header fields of the answer.
    package var headers: HTTPFields

    /// Makes a problem.
    package init(_ status: HTTPResponse.Status, _ detail: String? = nil, headers: HTTPFields = [:]) {
        self.status = status
        self.detail = detail
        self.headers = headers
    }

    /// The answer.
    package func response(from request: Request, context: some RequestContext) -> Response {
        var members: [String: JSONValue] = [
            "type": .text("about:blank"), "title": .text(self.status.reasonPhrase),
            "status": .number(Double(self.status.code)),
        ]
        members["detail"] = self.detail.map { .text($0) }
        var headers = self.headers
        headers[.contentType] = "application/problem+json"
        if self.status == .serviceUnavailable, headers[.retryAfter] == nil {
            headers[.retryAfter] = Self.standardRetry
        }
        let body = ByteBuffer(bytes: JSONValue.object(members).json)
        return Response(status: self.status, headers: headers, body: ResponseBody(byteBuffer: body))
    }
}

extension Problem {
    /// The `Retry-After` of an answer 503, in seconds.
    static let standardRetry = "5"

    /// The answer to a request without a valid token.
    package static let unauthorized = Problem(
        .unauthorized, "This needs a valid token: Authorization: Bearer …",
        headers: [.wwwAuthenticate: "Bearer realm=\"godwit\""])

    /// Makes the problem for an error. Internal errors reveal no details to the caller.
    init(_ error: any Error) {
        switch error {
        case let error as Problem: self = error
        case let error as HTTPError: self.init(error.status, error.body, headers: error.headers)
        case let error as TrackingError: self.init(error)
        default: self.init(.internalServerError)
        }
    }

    private init(_ error: TrackingError) {
        switch error.code {
        case .invalidName, .invalidPayload, .invalidConfiguration: self.init(.badRequest, error.message)
        case .payloadTooLarge: self.init(.contentTooLarge, error.message)
        case .storeFailed, .storeBusy, .storeForbidden, .storeUnusable:
            self.init(
                .serviceUnavailable,
                "What is asked for is kept in a database that cannot be used now: try again later.",
                headers: [.retryAfter: Self.standardRetry])
        case .brokerUnreachable, .connectionLost, .spoolFailed:
            self.init(
                .serviceUnavailable, "The broker cannot be used now: try again later.",
                headers: [.retryAfter: Self.standardRetry])
        default: self.init(.internalServerError)
        }
    }
}
