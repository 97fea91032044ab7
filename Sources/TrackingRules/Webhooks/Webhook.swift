package import TrackingCore
import TrackingCrypto

/// An HTTP server that receives messages of the gateway as signed POST requests.
package struct Webhook: Hashable, Sendable, CustomStringConvertible {
    /// The address of the webhook: `http://` or `https://`, with a host.
    package let url: String
    /// The secret key with which deliveries are signed; never shown.
    private let secret: [UInt8]

    /// The largest number of messages in one delivery to a webhook.
    package static let maximumMessages = 100
    /// The largest number of bytes in a delivery of several messages: 256 KiB, below the usual limits of servers and
    /// proxies (nginx: 1 MB). A single larger message is delivered alone.
    package static let maximumBytes = 262_144

    /// Creates a webhook.
    ///
    /// - Parameters:
    ///   - url: The address, at most 2,048 bytes.
    ///   - secret: The secret key for the signatures.
    /// - Throws: `invalidConfiguration` when the address is not an HTTP URL or is too long, or the secret has fewer
    ///   than 16 bytes.
    package init(url: String, secret: String) throws(TrackingError) {
        let isAddress = url.wholeMatch(of: #/https?:\/\/[^\/?#\s][^\s]*/#) != nil
        guard isAddress, url.utf8.count <= 2048 else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot use the address of a webhook: it must be an http:// or https:// URL with a host and without spaces"
            )
        }
        guard secret.utf8.count >= 16 else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot sign webhooks with a secret of \(secret.utf8.count) bytes: use at least 16 bytes")
        }
        self.url = url
        self.secret = Array(secret.utf8)
    }

    /// The name under which this webhook reads the outbox, derived from the webhook's address.
    package var reader: String { "webhook:" + Self.hex(SHA256.digest(of: Array(self.url.utf8)).prefix(12)) }

    /// The address of the webhook without user, password, path and query, which may be secret.
    package var description: String {
        let parts = self.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        let authority = parts[2].prefix { !"/?#\\".contains($0) }
        return "\(parts[0])//\(authority.split(separator: "@").last.map(String.init) ?? "")"
    }

    /// Returns the JSON body of a delivery with the first of the given messages: as many as fit into ``maximumBytes``,
    /// at least one.
    ///
    /// - Returns: The body, and the number of its messages.
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
        // The payload is JSON text already, so it is inserted unchanged.
        return JSONValue.object(members).json.dropLast() + Array(",\"payload\":\(entry.payload)}".utf8)
    }

    /// Returns the signature of a delivery: `t=UNIXTIME,v1=HEX`, with the HMAC-SHA256 (RFC 2104) of `UNIXTIME.BODY`.
    /// With the time a receiver can reject an old delivery that an attacker sends again.
    ///
    /// - Parameters:
    ///   - body: The bytes of the delivery.
    ///   - time: The time of the delivery.
    package func signature(of body: [UInt8], at time: UnixTime) -> String {
        let seconds = String(Int64(time.seconds))
        let code = SHA256.authenticationCode(for: Array("\(seconds).".utf8) + body, key: self.secret)
        return "t=\(seconds),v1=\(Self.hex(code))"
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
