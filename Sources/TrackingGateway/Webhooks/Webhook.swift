import Crypto
package import TrackingCore

/// Somebody who is told by HTTP.
package struct Webhook: Hashable, Sendable, CustomStringConvertible {
    /// Where: `http://` or `https://`.
    package let url: String
    /// What deliveries are signed with; never shown.
    private let secret: [UInt8]

    /// The most messages of one delivery.
    package static let maximumMessages = 100
    /// The most bytes of a delivery of more than one message: less than servers and proxies take as they come, which is 1 MB
    /// of nginx.
    package static let maximumBytes = 262_144

    /// Makes a webhook.
    ///
    /// - Throws: `invalidConfiguration` when the address is no web address, or the secret has fewer than 16 bytes.
    package init(url: String, secret: String) throws(TrackingError) {
        let isAddress = url.wholeMatch(of: #/https?:\/\/[^\/?#\s][^\s]*/#) != nil
        guard isAddress, url.utf8.count <= 2048 else {
            throw TrackingError(
                .invalidConfiguration, "a webhook's address is https:// or http://, a host, and no blanks")
        }
        guard secret.utf8.count >= 16 else {
            throw TrackingError(.invalidConfiguration, "the secret that signs webhooks has 16 bytes at least")
        }
        self.url = url
        self.secret = Array(secret.utf8)
    }

    /// Its name among the outbox's readers: the same as long as its address is.
    package var reader: String { "webhook:" + Self.hex(SHA256.hash(data: Array(self.url.utf8)).prefix(12)) }

    /// The address without what may be secret in it: user, password, path and query.
    package var description: String {
        let parts = self.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        let authority = parts[2].prefix { !"/?#\\".contains($0) }
        return "\(parts[0])//\(authority.split(separator: "@").last.map(String.init) ?? "")"
    }

    /// The body of a delivery of the first of these messages: of as many as ``maximumBytes`` let, of one at least.
    ///
    /// - Returns: The body, and of how many it is.
    package static func body(_ entries: some Sequence<Outbox.Entry>) -> (bytes: [UInt8], count: Int) {
        var body = Array("{\"messages\":[".utf8)
        var count = 0
        for entry in entries {
            let message = Self.message(entry)
            guard count == 0 || body.count + message.count + 3 <= Self.maximumBytes else { break }
            if count > 0 { body.append(UInt8(ascii: ",")) }
            body += message
            count += 1
        }
        return (body + Array("]}".utf8), count)
    }

    private static func message(_ entry: Outbox.Entry) -> [UInt8] {
        var members: [String: JSONValue] = [
            "id": .number(Double(entry.id)), "trackable": .text(entry.trackable.rawValue),
            "kind": .text(entry.kind.rawValue), "time": .number(entry.time.seconds),
        ]
        if entry.kind == .event, (try? MessageCodec.decodeEvent(entry.payload.utf8))?.isLate(at: entry.time) == true {
            members["late"] = .flag(true)
        }
        // The payload as it is: it is JSON already.
        return JSONValue.object(members).json.dropLast() + Array(",\"payload\":\(entry.payload)}".utf8)
    }

    /// What signs a body: `t=UNIXTIME,v1=HEX`, the HMAC-SHA256 (RFC 2104) of `UNIXTIME.BODY`, so that an old delivery cannot be
    /// told again as a new one.
    package func signature(of body: [UInt8], at time: UnixTime) -> String {
        let seconds = String(Int64(time.seconds))
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("\(seconds).".utf8) + body, using: SymmetricKey(data: self.secret))
        return "t=\(seconds),v1=\(Self.hex(code))"
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
