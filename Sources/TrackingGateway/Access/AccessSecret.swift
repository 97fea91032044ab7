import TrackingCrypto

/// 256 random bits that authenticate a caller: a token, the secret of a share link, or the secret of a session. The
/// secret is shown once. The gateway stores only its ``SecretHash``.
package struct AccessSecret: Sendable {
    /// The kind of an access secret. Its raw value is the first part of the secret's text.
    package enum Kind: String, Sendable {
        /// A token, created by `godwit token create`.
        case token = "gw_"
        /// The secret of a share link, created by `godwit share` or through the HTTP API.
        case share = "gs_"
        /// The secret of a session, created when a user signs in to the page, and stored in a cookie.
        case session = "gc_"
    }

    /// The secret as text, which people and programs present. The text is never logged or stored by the gateway.
    package let text: String

    /// Creates a new random secret of the given kind: a token, or the secret of a share link or session.
    package init(_ kind: Kind, using generator: inout some RandomNumberGenerator) {
        let bytes = (0..<4).flatMap { _ in
            withUnsafeBytes(of: generator.next() as UInt64) { Array($0) }
        }
        self.text = kind.rawValue + Base64URL.text(bytes)
    }
}

/// The SHA-256 hash of an access secret. A fast hash is sufficient, because 256 random bits cannot be guessed.
struct SecretHash: Sendable {
    /// The 32 bytes of the SHA-256 hash of an access secret.
    let bytes: [UInt8]

    /// Hashes a text that a caller presents as its secret. The text may be anything.
    init(of presented: String) { self.bytes = SHA256.digest(of: Array(presented.utf8)) }

    /// The key by which a grant or session is found in the database: the first 8 bytes of the secret's hash.
    var lookup: Int64 { self.bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) } }

    /// Returns `true` if the stored hash is equal to this hash. The comparison always takes the same time, even when
    /// there is no stored hash (`nil`).
    func matches(_ kept: [UInt8]?) -> Bool {
        let other = kept ?? Self.nothing
        guard other.count == self.bytes.count else { return false }
        return zip(self.bytes, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// A replacement for a missing stored hash: 32 zero bytes. A comparison with these bytes takes the same time as a
    /// comparison with a stored hash.
    private static let nothing = [UInt8](repeating: 0, count: 32)
}

/// Encodes bytes as Base64 with the alphabet for URLs, without padding (RFC 4648, section 5).
enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let value = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0...group.count { text.append(self.alphabet[value >> (18 - 6 * place) & 63]) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
