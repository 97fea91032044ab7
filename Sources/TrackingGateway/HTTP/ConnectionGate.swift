import SystemLibrary
import Logging
import NIOCore
import TrackingCore
import TrackingRuntime

/// The first channel handler of a listening socket. It closes a new connection at once if its client address has too
/// many connections. It accepts no connections for a second when the system has no file descriptor or memory for them.
///
/// Without this pause, the event loop would try to accept the waiting connection again and again.
final class ConnectionGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = any Channel
    typealias InboundOut = any Channel

    /// The time for which the gateway accepts no connections after the system had no file descriptor or memory for
    /// them.
    static let pause = TimeAmount.seconds(1)

    private var peers: PeerConnections
    private var warnings = WarningLimit<Warning>()
    private var isPaused = false
    private let clock = DeviceClock()
    private let logger: Logger

    private enum Warning: Hashable {
        case peerLimit, descriptors
    }

    /// Creates a connection gate for one listening socket.
    ///
    /// - Parameter peerLimit: The largest number of connections from one client address; `nil` for no limit.
    init(peerLimit: Int?, logger: Logger) {
        self.peers = PeerConnections(limit: peerLimit)
        self.logger = logger
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let child = self.unwrapInboundIn(data)
        guard let peer = child.remoteAddress?.ipAddress.map(PeerConnections.peer) else {
            return context.fireChannelRead(data)
        }
        guard self.peers.opened(by: peer) else {
            self.warn(
                .peerLimit,
                "HTTP server closed a new connection at once: its client address has as many connections as one address may have. Behind a proxy, start the gateway with --url",
                ["address": "\(peer)"])
            return child.close(promise: nil)
        }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        child.closeFuture.hop(to: context.eventLoop).whenComplete { _ in bound.value.peers.closed(by: peer) }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let reason = error as? IOError, Self.passes(reason.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        // No pause is necessary after a connection that the client gave up before it was accepted.
        guard reason.errnoCode != ECONNABORTED, !self.isPaused else { return }
        self.isPaused = true
        self.warn(
            .descriptors,
            "HTTP server accepts no new connections for a second: the system has no free file descriptor or memory for them. Raise LimitNOFILE of the service, or fs.file-max",
            ["reason": "\(SystemError.text(reason.errnoCode))"])
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        let bound = NIOLoopBound((self, context.channel), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.pause) {
            let (gate, channel) = bound.value
            gate.isPaused = false
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }

    /// Returns `true` for an error code of the operation that accepts connections if the listening socket can accept
    /// further ones afterwards.
    static func passes(_ code: CInt) -> Bool { [ECONNABORTED, EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) }

    private func warn(_ warning: Warning, _ message: Logger.Message, _ metadata: Logger.Metadata) {
        guard case .say(let suppressed) = self.warnings.happened(warning, now: self.clock.moment.now) else { return }
        self.logger.warning(message, metadata: metadata.merging(["not logged": "\(suppressed)"]) { $1 })
    }
}
