package import HTTPTypes
package import Hummingbird
import NIOCore
import TrackingCore

/// The HTTP answer to a request that cannot be served: a problem detail in JSON (RFC 9457), and on the paths of
/// NextBillion.ai's interface an answer in its form.
package struct Problem: HTTPResponseError, Hashable, Sendable {
    /// The HTTP status of the answer, such as 401.
    package var status: HTTPResponse.Status
    /// The text for people in the answer, with cause and remedy; `nil` if the status explains itself.
    package var detail: String?
    /// The additional header fields of the HTTP answer, such as `Allow` or `Retry-After`.
    package var headers: HTTPFields

    /// Creates the HTTP answer to a request that cannot be served, from a status, a text for people and additional
    /// header fields.
    package init(_ status: HTTPResponse.Status, _ detail: String? = nil, headers: HTTPFields = [:]) {
        self.status = status
        self.detail = detail
        self.headers = headers
    }

    /// Returns the problem as the HTTP answer to a request.
    package func response(from request: Request, context: some RequestContext) -> Response {
        let isForNextBillion = NextBillionInterface.contains(request.uri.path)
        let content = isForNextBillion ? NextBillionInterface.failure(self.status.code, self.detail) : self.content
        var headers = self.headers
        headers[.contentType] = isForNextBillion ? "application/json" : "application/problem+json"
        if self.status == .serviceUnavailable, headers[.retryAfter] == nil {
            headers[.retryAfter] = Self.standardRetry
        }
        let body = ByteBuffer(bytes: content.json)
        return Response(status: self.status, headers: headers, body: ResponseBody(byteBuffer: body))
    }

    /// The problem detail of RFC 9457.
    private var content: JSONValue {
        var members: [String: JSONValue] = [
            "type": .text("about:blank"), "title": .text(self.status.reasonPhrase),
            "status": .number(Double(self.status.code)),
        ]
        members["detail"] = self.detail.map { .text($0) }
        return .object(members)
    }
}

extension Problem {
    /// The value of the header `Retry-After`, in seconds, in an answer with status 503 that has no other value: 5.
    static let standardRetry = "5"

    /// The answer (401) to a request without a valid token.
    package static let unauthorized = Problem(
        .unauthorized, "This request needs a valid token in the header: Authorization: Bearer TOKEN",
        headers: [.wwwAuthenticate: "Bearer realm=\"godwit\""])

    /// Creates the HTTP answer to a request whose handling threw an error. The answer to an internal error (500)
    /// contains no details.
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
                "The gateway's database cannot be used now: try again later.",
                headers: [.retryAfter: Self.standardRetry])
        case .engineUnavailable:
            self.init(
                .serviceUnavailable,
                "The routing engine does not answer now: try again later, or send the request without matched=true.",
                headers: [.retryAfter: Self.standardRetry])
        case .brokerUnreachable, .connectionLost, .spoolFailed:
            self.init(
                .serviceUnavailable, "The gateway cannot reach the MQTT broker or write its log now: try again later.",
                headers: [.retryAfter: Self.standardRetry])
        default: self.init(.internalServerError)
        }
    }
}
