import NIOCore
import NIOHTTP1
import TrackingCore

/// Rejects an HTTP request whose header `Host` is missing, repeated or invalid (RFC 9112, section 3.2): the server
/// answers 400 and closes the connection. A request of HTTP/1.0 may omit `Host`.
final class RequestHost: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    /// `true` once the handler has rejected a request of the connection because of its header `Host`. Later requests of
    /// the connection are ignored.
    private var hasRefused = false

    /// Adds the handler directly after the HTTP decoder of a connection, where the header fields are unchanged.
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

    /// Returns `true` if the header `Host` of a request is valid. It must occur once. A request of HTTP/1.0 may omit
    /// it.
    static func isAcceptable(_ head: HTTPRequestHead) -> Bool {
        let hosts = head.headers["host"]
        guard let host = hosts.first else { return head.version == .http1_0 }
        return hosts.count == 1 && Self.isHost(host)
    }

    /// Returns `true` for a valid value of the header `Host`: a host name or an IP address, with or without a port. An
    /// empty text is valid too.
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
    /// `true` for an ASCII character that a host name may contain (RFC 3986, section 3.2.2).
    fileprivate var isInHostName: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: Array("-._~%!$&'()*+,;=".utf8).contains(self)
        }
    }
}
