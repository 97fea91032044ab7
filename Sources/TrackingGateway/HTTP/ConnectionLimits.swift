import HummingbirdCore
import Logging
import NIOCore
import TrackingRuntime

/// The limits of a server's connections: their number, and what each may ask of the server.
struct ConnectionLimits {
    /// The longest time a peer may take to send a header, to send a request, or to read part of an answer.
    var patience = Duration.seconds(30)
    /// The most connections at once. Those that are more wait to be accepted.
    var maximum = ConnectionLimits.maximum(atMost: 20_000)
    /// `true` where the peers are proxies, which bring the connections of others: one address may have all of them.
    var isBehindProxy = false

    /// The part of all connections that one address may have.
    private static let share = 4

    /// The most connections of one address; `nil` for no limit.
    var peerLimit: Int? { self.isBehindProxy ? nil : max(1, self.maximum / Self.share) }

    /// Returns the most connections that this program has descriptors for.
    static func maximum(atMost maximum: Int) -> Int {
        DescriptorLimit.connections(within: DescriptorLimit.current, atMost: maximum)
    }

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

    /// Limits the connections of a listening channel by their addresses.
    func guarding(_ channel: any Channel, logger: Logger) async {
        let limit = self.peerLimit
        let future = channel.eventLoop.submit {
            try channel.pipeline.syncOperations.addHandler(
                ConnectionGate(peerLimit: limit, logger: logger), position: .first)
        }
        do { try await future.get() } catch {
            logger.debug("The listening socket was closed at once", metadata: ["reason": "\(error)"])
        }
    }
}
