public import TrackingCore

/// Where a broker listens.
public struct MQTTEndpoint: Hashable, Sendable {
    /// A name or an address, without brackets.
    public var host: String
    /// The port, 1…65,535.
    public var port: Int
    /// Whether TLS is spoken.
    public var isTLS: Bool

    /// Names an endpoint.
    public init(host: String, port: Int, isTLS: Bool = false) {
        self.host = host
        self.port = port
        self.isTLS = isTLS
    }

    /// Reads `mqtt[s]://[user[:password]@]host[:port]`; the port is 1883, with `mqtts` 8883, unless given.
    ///
    /// - Throws: `invalidConfiguration` that says what is wrong, without the credentials.
    public static func parse(_ url: String) throws(TrackingError) -> (MQTTEndpoint, MQTTCredentials?) {
        let example = "write mqtt[s]://[user[:password]@]host[:port]"
        let isTLS = url.hasPrefix("mqtts://")
        guard isTLS || url.hasPrefix("mqtt://") else {
            throw TrackingError(.invalidConfiguration, "the broker's address does not begin with mqtt:// or mqtts://; \(example)")
        }
        var rest = url.dropFirst(isTLS ? 8 : 7)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        var credentials: MQTTCredentials?
        if let at = rest.lastIndex(of: "@") {
            credentials = try self.credentials(rest[..<at])
            rest = rest[rest.index(after: at)...]
        }
        let (host, port) = try self.hostAndPort(rest, example)
        return (MQTTEndpoint(host: host, port: port ?? (isTLS ? 8883 : 1883), isTLS: isTLS), credentials)
    }

    private static func credentials(_ text: Substring) throws(TrackingError) -> MQTTCredentials {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let user = Self.decoded(parts[0]), !user.isEmpty, let password = parts.count > 1 ? Self.decoded(parts[1]) : ""
        else {
            throw TrackingError(
                .invalidConfiguration,
                "the user or password in the broker's address cannot be read; write special characters as %XX")
        }
        return MQTTCredentials(user: user, password: parts.count > 1 ? password : nil)
    }

    private static func hostAndPort(
        _ text: Substring, _ example: String
    ) throws(TrackingError) -> (String, Int?) {
        var host = text
        var port: Substring?
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            host = text[text.index(after: text.startIndex)..<end]
            let after = text[text.index(after: end)...]
            if !after.isEmpty { port = after.hasPrefix(":") ? after.dropFirst() : "?" }
        } else if let colon = text.lastIndex(of: ":") {
            host = text[..<colon]
            port = text[text.index(after: colon)...]
        }
        guard !host.isEmpty, host.utf8.count <= 253, !host.contains(where: { $0 == "/" || $0.isWhitespace }) else {
            throw TrackingError(.invalidConfiguration, "the broker's address has no usable host; \(example)")
        }
        guard let port else { return (String(host), nil) }
        guard let number = Int(port), (1...65_535).contains(number) else {
            throw TrackingError(.invalidConfiguration, "the port of the broker's address must be 1 to 65535; \(example)")
        }
        return (String(host), number)
    }

    /// Reads `%XX`; `nil` when it is not well formed.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// A user name and password. Its description shows neither.
public struct MQTTCredentials: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The user name.
    public var user: String
    /// The password.
    public var password: String?

    /// Keeps a user name and password.
    public init(user: String, password: String?) {
        self.user = user
        self.password = password
    }

    /// Says only that there are credentials.
    public var description: String { "(credentials)" }
    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
