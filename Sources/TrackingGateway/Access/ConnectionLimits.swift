import HummingbirdCore
import NIOCore

/// What a connection may ask of us: how much, and how slowly.
struct ConnectionLimits {
    /// How long a peer may take: to send a header, to send a request, to take some of an answer.
    var patience = Duration.seconds(30)

    /// A server that keeps to them.
    var server: HTTPServerBuilder {
        let patience = TimeAmount(self.patience)
        let configuration = HTTP1Channel.Configuration(
            additionalChannelHandlers: [PeerPatience(patience)], idleTimeout: patience,
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 16_384, maxHeaderListSize: 32_768, maxHeaderFieldCount: 100))
        return HTTPServerBuilder { respond in
            HTTP1Channel(responder: OpenAnswer.taking(respond), configuration: configuration)
        }
    }
}
