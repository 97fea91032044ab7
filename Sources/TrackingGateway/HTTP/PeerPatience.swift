import NIOCore
import NIOHTTPTypes

/// Ends the connection of a peer that does not send its request in time, or does not take the answer.
///
/// That nothing of a request comes, the header included, is for the server's idle timeout. This one is for what trickles in.
///
/// An answer without an end is told, too, when the peer is gone (``watch(_:whenGone:)``): it reads nothing that would tell it.
final class PeerPatience: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    private let limit: TimeAmount
    private var pace: RequestPace?
    private var arrival: Scheduled<Void>?
    private var departure: Scheduled<Void>?
    /// Called when the peer is gone, while the answer to its last request lasts.
    private var whenGone: (@Sendable () -> Void)?
    private var isGone = false

    /// - Parameter limit: How long a request may take to arrive (see ``RequestPace``), and how long none of a waiting answer may
    ///   leave.
    init(_ limit: TimeAmount) { self.limit = limit }

    /// Has it told when a connection's peer sends nothing any more, at once where it is gone; not after its next request.
    static func watch(_ channel: any Channel, whenGone: @escaping @Sendable () -> Void) {
        channel.eventLoop.execute {
            guard channel.isActive else { return whenGone() }
            guard let patience = try? channel.pipeline.syncOperations.handler(type: Self.self) else { return }
            if patience.isGone { whenGone() } else { patience.whenGone = whenGone }
        }
    }

    /// Most requests are a header: a connection keeps what it has read into, so it begins with little and grows with what comes.
    func handlerAdded(context: ChannelHandlerContext) {
        let allocator = AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 512, maximum: 65_536)
        try? context.channel.syncOptions?.setOption(.recvAllocator, value: allocator)
        EarlierHTTP.add(to: context.pipeline.syncOperations)
        RequestHost.add(to: context.pipeline.syncOperations)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head:
            self.whenGone = nil
            self.pace = RequestPace(limit: self.limit, begun: .now())
            self.expectMore(context.channel)
        case .body(let bytes):
            self.pace?.bytes += bytes.readableBytes
            self.expectMore(context.channel)
        case .end:
            self.arrival?.cancel()
            self.pace = nil
        }
        context.fireChannelRead(data)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.departure?.cancel()
        if !context.channel.isWritable { self.departure = self.closing(context.channel, at: .now() + self.limit) }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent { self.leave() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.cancel()
        self.leave()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.cancel()
        self.leave()
    }

    private func leave() {
        self.isGone = true
        self.whenGone.take()?()
    }

    private func cancel() {
        self.arrival?.cancel()
        self.departure?.cancel()
    }

    private func expectMore(_ channel: any Channel) {
        guard let pace = self.pace else { return }
        self.arrival?.cancel()
        self.arrival = self.closing(channel, at: pace.deadline)
    }

    private func closing(_ channel: any Channel, at deadline: NIODeadline) -> Scheduled<Void> {
        channel.eventLoop.scheduleTask(deadline: deadline) { channel.close(promise: nil) }
    }
}

/// The longest time for a request to arrive. Each KB received adds a second, up to ten times the basic time. So a slow
/// request succeeds, and a trickling one fails.
struct RequestPace {
    /// The basic time of every request.
    let limit: TimeAmount
    /// The time at which the header was complete.
    let begun: NIODeadline
    /// The number of body bytes received so far.
    var bytes = 0

    /// The time by which the request must be complete.
    var deadline: NIODeadline {
        let more = TimeAmount.milliseconds(Int64(self.bytes) * 1000 / 1024)
        return self.begun + min(self.limit + more, .nanoseconds(self.limit.nanoseconds * 10))
    }
}
