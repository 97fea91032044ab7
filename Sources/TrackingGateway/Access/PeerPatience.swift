import NIOCore
import NIOHTTPTypes

/// Ends the connection of a peer that does not send its request in time, or does not take the answer.
///
/// That nothing of a request comes, the header included, is for the server's idle timeout. This one is for what trickles in.
final class PeerPatience: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    private let limit: TimeAmount
    private var pace: RequestPace?
    private var arrival: Scheduled<Void>?
    private var departure: Scheduled<Void>?

    /// - Parameter limit: How long a request may take to arrive (see ``RequestPace``), and how long none of a waiting answer may
    ///   leave.
    init(_ limit: TimeAmount) { self.limit = limit }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head:
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

    func channelInactive(context: ChannelHandlerContext) {
        self.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.cancel() }

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

/// How long a request may take to arrive: a time that every one has, and a second more for each KB of it that came, up to ten
/// times the first. So what is slow but moves comes through, and what trickles does not.
struct RequestPace {
    /// What every request has.
    let limit: TimeAmount
    /// When its header was there.
    let begun: NIODeadline
    /// How much of its body came.
    var bytes = 0

    /// When it must be complete.
    var deadline: NIODeadline {
        let more = TimeAmount.milliseconds(Int64(self.bytes) * 1000 / 1024)
        return self.begun + min(self.limit + more, .nanoseconds(self.limit.nanoseconds * 10))
    }
}
