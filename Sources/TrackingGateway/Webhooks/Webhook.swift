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

    /// Makes a webhook.
    ///
    /// - Throws: `invalidConfiguration` when the address is no web address, or the secret has fewer than 16 bytes.
    package init(url: String, secret: String) throws(TrackingError) {
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), url.utf8.count <= 2048 else {
            throw TrackingError(.invalidConfiguration, "a webhook's address begins with https:// or http://")
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
        let parts = self.url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return "\(parts[0])//\(parts[2].split(separator: "@").last.map(String.init) ?? "")"
    }

    /// The body of a delivery.
    package static func body(_ entries: [Outbox.Entry]) -> [UInt8] {
        let messages = entries.map { entry in
            let members: [String: JSONValue] = [
                "id": .number(Double(entry.place)), "trackable": .text(entry.trackable.rawValue),
                "kind": .text(entry.kind.rawValue), "time": .number(entry.time.seconds),
            ]
            // The payload as it is: it is JSON already.
            let head = String(decoding: JSONValue.object(members).json.dropLast(), as: UTF8.self)
            return "\(head),\"payload\":\(entry.payload)}"
        }
        return Array("{\"messages\":[\(messages.joined(separator: ","))]}".utf8)
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
