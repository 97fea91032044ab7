import NIOCore
import NIOHTTP1

/// Answers who speaks HTTP/1.0 as they understand it (RFC 9112, 6.1 and 9.3): without chunks, whose frames would be content to
/// them, and by a connection that ends with the answer.
///
/// So it ends for whoever asks for that, however they write it.
final class EarlierHTTP: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private var isEarlier = false

    /// Puts it where versions are still told apart.
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
