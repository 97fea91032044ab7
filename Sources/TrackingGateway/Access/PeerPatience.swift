import NIOCore
import NIOHTTPTypes

/// Ends the connection of a peer that does not send its request in time, or does not take the answer.
///
/// That nothing of a request comes, the header included, is for the server's idle timeout. This one is for what trickles in.
final class PeerPatience: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    private let limit: TimeAmount
    private var arrival: Scheduled<Void>?
    private var departure: Scheduled<Void>?

    /// - Parameter limit: How long a request may take to arrive, and how long none of a waiting answer may leave.
    init(_ limit: TimeAmount) { self.limit = limit }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head:
            self.arrival?.cancel()
            self.arrival = self.closing(context.channel)
        case .body: break
        case .end: self.arrival?.cancel()
        }
        context.fireChannelRead(data)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.departure?.cancel()
        if !context.channel.isWritable { self.departure = self.closing(context.channel) }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.cancel() }

    private func cancel() {
        self.arrival?.cancel()
        self.departure?.cancel()
    }

    private func closing(_ channel: any Channel) -> Scheduled<Void> {
        channel.eventLoop.scheduleTask(in: self.limit) { channel.close(promise: nil) }
    }
}
