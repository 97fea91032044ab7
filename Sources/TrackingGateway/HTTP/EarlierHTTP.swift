import NIOCore
import NIOHTTP1

/// A channel handler for clients of HTTP/1.0 (RFC 9112, sections 6.1 and 9.3). It lets the server answer them without
/// chunked encoding, which they do not understand, and then close the connection.
///
/// It also normalises the header `Connection: close` of other requests, so that the server closes the connection after
/// the answer.
final class EarlierHTTP: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private var isEarlier = false

    /// Adds the handler directly after the HTTP decoder of a connection, where the HTTP version of a request is still
    /// known.
    static func add(to pipeline: ChannelPipeline.SynchronousOperations) {
        guard let decoder = try? pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self) else { return }
        try? pipeline.addHandler(EarlierHTTP(), position: .after(decoder))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = self.unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        self.isEarlier = head.version == .http1_0
        if self.isEarlier || !head.isKeepAlive { head.headers.replaceOrAdd(name: "connection", value: "close") }
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard self.isEarlier, case .head(var head) = self.unwrapOutboundIn(data) else {
            return context.write(data, promise: promise)
        }
        head.version = .http1_0
        head.headers.replaceOrAdd(name: "connection", value: "close")
        context.write(self.wrapOutboundOut(.head(head)), promise: promise)
    }
}
