import NIOCore
import NIOHTTP1
import TrackingCore

/// Refuses a request whose `Host` is missing, there twice, or no host (RFC 9112, 3.2): the server answers 400 and closes.
///
/// HTTP/1.0 has no need of a `Host`.
final class RequestHost: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    /// `true` once a request was refused: nothing that follows it counts.
    private var hasRefused = false

    /// Adds the handler where the fields are as they came.
    static func add(to pipeline: ChannelPipeline.SynchronousOperations) {
        guard let decoder = try? pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self) else { return }
        try? pipeline.addHandler(RequestHost(), position: .after(decoder))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.hasRefused else { return }
        if case .head(let head) = self.unwrapInboundIn(data), !Self.isAcceptable(head) {
            self.hasRefused = true
            context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
            return
        }
        context.fireChannelRead(data)
    }

    /// `true` where a request names its host as its version of HTTP requires.
    static func isAcceptable(_ head: HTTPRequestHead) -> Bool {
        let hosts = head.headers["host"]
        guard let host = hosts.first else { return head.version == .http1_0 }
        return hosts.count == 1 && Self.isHost(host)
    }

    /// `true` for a name or an address with or without a port; an empty one stands for none.
    private static func isHost(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        var rest = bytes[...]
        if bytes.first == UInt8(ascii: "[") {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "]")), end > 1,
                bytes[1..<end].allSatisfy({ $0.isHexDigit || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
            else { return false }
            rest = bytes[(end + 1)...]
        } else {
            rest = rest.drop { $0.isInHostName }
        }
        guard let colon = rest.popFirst() else { return true }
        return colon == UInt8(ascii: ":") && rest.count <= 5
            && rest.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

extension UInt8 {
    /// `true` for what a registered name is made of (RFC 3986, 3.2.2).
    fileprivate var isInHostName: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: Array("-._~%!$&'()*+,;=".utf8).contains(self)
        }
    }
}
