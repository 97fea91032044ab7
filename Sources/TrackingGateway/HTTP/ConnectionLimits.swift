import HummingbirdCore
import Logging
import NIOCore
import TrackingRuntime

/// The limits of an HTTP server's connections: their number, their number for each client address, and the time that
/// clients may take.
struct ConnectionLimits {
    /// The longest time that a client may take to send a request's header or body, or to receive a part of the answer.
    /// Each received KB of a body adds a second, up to ten times this time.
    var patience = Duration.seconds(30)
    /// The largest number of open connections. Further connections wait to be accepted.
    var maximum = ConnectionLimits.maximum(atMost: 20_000)
    /// `true` when all connections come from TLS proxies. The number of connections from one client address is then not
    /// limited.
    var isBehindProxy = false

    /// The divisor for the largest number of all connections. The quotient is the largest number of connections from
    /// one client address.
    private static let share = 4

    /// The largest number of connections from one client address; `nil` for no limit.
    var peerLimit: Int? { self.isBehindProxy ? nil : max(1, self.maximum / Self.share) }

    /// Returns the largest number of connections that this program's file descriptors allow: their number minus 200,
    /// but at least 16 and at most `maximum`.
    static func maximum(atMost maximum: Int) -> Int {
        DescriptorLimit.connections(within: DescriptorLimit.current, atMost: maximum)
    }

    /// The builder of an HTTP server that enforces the time limits and the limits of the request's header on each
    /// connection.
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

    /// Adds the ``ConnectionGate`` to a listening channel, so that the number of connections from each client address
    /// is limited.
    func guarding(_ channel: any Channel, logger: Logger) async {
        let limit = self.peerLimit
        let future = channel.eventLoop.submit {
            try channel.pipeline.syncOperations.addHandler(
                ConnectionGate(peerLimit: limit, logger: logger), position: .first)
        }
        do { try await future.get() } catch {
            logger.debug(
                "Limit of HTTP connections from one client address could not be set, because the HTTP server had already stopped",
                metadata: ["reason": "\(error)"])
        }
    }
}
