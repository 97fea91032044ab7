public import TrackingCore

/// The address at which a broker accepts connections.
public struct MQTTEndpoint: Hashable, Sendable, CustomStringConvertible {
    /// The host name or IP address of the broker. An IPv6 address has no brackets.
    public var host: String
    /// The TCP port of the broker, 1 to 65535.
    public var port: Int
    /// `true` for an encrypted connection (TLS). The broker's certificate must be issued for ``host``.
    public var isTLS: Bool

    /// Creates an endpoint.
    ///
    /// - Parameters:
    ///   - host: A host name or an address; an IPv6 address without brackets.
    ///   - port: 1 to 65535; `nil` for 1883, or 8883 with TLS.
    ///   - isTLS: `true` for an encrypted connection.
    public init(host: String, port: Int? = nil, isTLS: Bool = false) {
        self.host = host
        self.port = port ?? (isTLS ? 8883 : 1883)
        self.isTLS = isTLS
    }

    /// The endpoint as a URL, `mqtt://host:port` or `mqtts://host:port`. The URL never contains credentials.
    public var description: String {
        let host = self.host.contains(":") ? "[\(self.host)]" : self.host
        return "\(self.isTLS ? "mqtts" : "mqtt")://\(host):\(self.port)"
    }

    /// Parses a broker's URL, `mqtt[s]://[user[:password]@]host[:port]`; `mqtts` means TLS.
    ///
    /// User and password may be percent-encoded. An IPv6 address is in brackets. The default port is 1883, and 8883
    /// with `mqtts`.
    ///
    /// - Throws: `invalidConfiguration` with the reason; the message contains neither user nor password.
    public static func parse(
        _ url: String
    ) throws(TrackingError) -> (endpoint: MQTTEndpoint, credentials: MQTTCredentials?) {
        let isTLS: Bool
        var rest: Substring
        if url.hasPrefix("mqtt://") {
            (isTLS, rest) = (false, url.dropFirst(7))
        } else if url.hasPrefix("mqtts://") {
            (isTLS, rest) = (true, url.dropFirst(8))
        } else {
            throw self.error("it begins with neither mqtt:// nor mqtts://")
        }
        if rest.hasSuffix("/") { rest.removeLast() }
        var credentials: MQTTCredentials?
        if let at = rest.lastIndex(of: "@") {
            credentials = try self.credentials(rest[..<at])
            rest = rest[rest.index(after: at)...]
        }
        guard !rest.contains(where: { "/?#".contains($0) }) else {
            throw self.error("there is text after the host and port; in a password, write / as %2F")
        }
        let (host, port) = try self.hostAndPort(rest)
        return (MQTTEndpoint(host: host, port: port, isTLS: isTLS), credentials)
    }

    private static func credentials(_ text: Substring) throws(TrackingError) -> MQTTCredentials {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let user = parts[0].percentDecoded, let password = (parts.last ?? "").percentDecoded else {
            throw self.error("a % in the user or password is not followed by two hexadecimal digits of UTF-8 text")
        }
        guard !user.isEmpty else { throw self.error("the user before @ is empty") }
        return MQTTCredentials(user: user, password: parts.count == 2 ? password : nil)
    }

    private static func hostAndPort(_ text: Substring) throws(TrackingError) -> (String, Int?) {
        var host = text
        var port: Substring?
        if text.first == "[" {
            guard let end = text.lastIndex(of: "]") else {
                throw self.error("the [ of the IPv6 address has no closing ]")
            }
            host = text[text.index(after: text.startIndex)..<end]
            guard NumericAddress.isIPv6(String(host)) else { throw self.error("'\(host)' is not an IPv6 address") }
            let tail = text[text.index(after: end)...]
            guard tail.isEmpty || tail.first == ":" else {
                throw self.error("only : and a port may follow the ] of the IPv6 address")
            }
            port = tail.isEmpty ? nil : tail.dropFirst()
        } else if let colon = text.firstIndex(of: ":") {
            (host, port) = (text[..<colon], text[text.index(after: colon)...])
            guard port?.contains(":") == false else { throw self.error("an IPv6 address must be in brackets") }
        }
        guard !host.isEmpty else { throw self.error("the host is empty") }
        guard host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), host.utf8.count <= 255 else {
            throw self.error("the host has a space or control character, or more than 255 bytes")
        }
        guard let port else { return (String(host), nil) }
        guard port.allSatisfy(\.isNumber), let number = Int(port), (1...65535).contains(number) else {
            throw self.error("the port must be 1 to 65535, not '\(port)'")
        }
        return (String(host), number)
    }

    private static func error(_ what: String) -> TrackingError {
        TrackingError(
            .invalidConfiguration, "the broker's address must be mqtt[s]://[user[:password]@]host[:port]; \(what)")
    }
}
