import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes

extension Request {
    /// Returns the body of the request, also of a request that does not announce its length. A client that waits for
    /// `100 Continue` before it sends the body gets that answer.
    ///
    /// - Throws: `Problem` (413) if the body has more than `limit` bytes.
    func body(upTo limit: Int, _ context: GatewayRequestContext) async throws -> ByteBuffer {
        if self.headers[.expect]?.lowercased() == "100-continue" {
            try await context.channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)))
        }
        do {
            return try await self.body.collect(upTo: limit)
        } catch is NIOTooManyBytesError {
            throw Problem.bodyTooLarge(limit: limit)
        }
    }
}

extension Problem {
    /// Returns the answer (413) to a request whose body is too large. The connection is then closed, and nothing more
    /// of the body is read.
    ///
    /// - Parameter limit: The largest allowed number of bytes.
    static func bodyTooLarge(limit: Int) -> Problem {
        Problem(
            .contentTooLarge,
            "The request's body is too large: at most \(limit) bytes are allowed. Send less in one request.",
            headers: [.connection: "close"])
    }
}
