import NIOCore
import NIOHTTPTypes

/// A channel handler that closes the connection of a client that sends its request too slowly, or does not receive the
/// answer.
///
/// A client that sends nothing at all is left to the server's idle timeout. This handler limits requests that arrive in
/// small pieces.
///
/// The handler also notifies a live stream when its client is gone (``watch(_:whenGone:)``), because the stream itself
/// reads nothing from the connection.
final class PeerPatience: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    private let limit: TimeAmount
    private var pace: RequestPace?
    private var arrival: Scheduled<Void>?
    private var departure: Scheduled<Void>?
    /// The function to call when the client closes its side of the connection; `nil` for none.
    private var whenGone: (@Sendable () -> Void)?
    private var isGone = false

    /// Creates the handler for one HTTP connection.
    ///
    /// - Parameter limit: The basic time for a request to arrive (see ``RequestPace``). It is also the longest time for
    ///   which the client may accept no bytes of an answer.
    init(_ limit: TimeAmount) { self.limit = limit }

    /// Registers a function that is called once the client of a connection has closed its side. If the client is gone
    /// already, the function is called at once. The client's next request removes the function.
    static func watch(_ channel: any Channel, whenGone: @escaping @Sendable () -> Void) {
        channel.eventLoop.execute {
            guard channel.isActive else { return whenGone() }
            guard let patience = try? channel.pipeline.syncOperations.handler(type: Self.self) else { return }
            if patience.isGone { whenGone() } else { patience.whenGone = whenGone }
        }
    }

    /// Prepares a new connection. Sets a receive buffer that begins small and grows with the data, because most
    /// requests are only a header. Adds the handlers ``EarlierHTTP`` and ``RequestHost``.
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

/// The time limit for a request to arrive. Each received KB of the body adds a second to the basic time, up to ten
/// times the basic time. A large request over a slow connection therefore succeeds, and one that arrives byte by byte
/// fails.
struct RequestPace {
    /// The time within which a request without a body must arrive. Each received KiB of a body adds one second, up to
    /// ten times this time in all.
    let limit: TimeAmount
    /// The time at which the header of the request had arrived completely.
    let begun: NIODeadline
    /// The number of bytes of the request's body that have been received.
    var bytes = 0

    /// The time by which the whole request must have arrived, given the bytes that were received so far.
    var deadline: NIODeadline {
        let more = TimeAmount.milliseconds(Int64(self.bytes) * 1000 / 1024)
        return self.begun + min(self.limit + more, .nanoseconds(self.limit.nanoseconds * 10))
    }
}
