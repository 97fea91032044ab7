import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes

extension Request {
    /// Its body; also of one that did not say its length. Who waits to be told to send it is told.
    ///
    /// - Throws: `Problem` where it is larger than `limit`.
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
    /// Nothing more of the body is read.
    static func bodyTooLarge(limit: Int) -> Problem {
        Problem(.contentTooLarge, "A body has at most \(limit) bytes.", headers: [.connection: "close"])
    }
}
