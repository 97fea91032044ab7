import Crypto

/// 256 random bits that say who asks: a token, the secret of a share link, or that of a session. It is shown once, and what
/// is kept of it is ``SecretHash``.
package struct AccessSecret: Sendable {
    /// The purpose of a secret.
    package enum Kind: String, Sendable {
        /// Made by `godwit token create`.
        case token = "gw_"
        /// Made by `godwit share`.
        case share = "gs_"
        /// Made by signing in, kept in a cookie.
        case session = "gc_"
    }

    /// The secret as people and programs hand it on: never logged, never stored.
    package let text: String

    /// Makes a new one.
    package init(_ kind: Kind, using generator: inout some RandomNumberGenerator) {
        let bytes = (0..<4).flatMap { _ in
            withUnsafeBytes(of: generator.next() as UInt64) { Array($0) }
        }
        self.text = kind.rawValue + Base64URL.text(bytes)
    }
}

/// SHA-256 of a secret. There is nothing to guess in 256 random bits, so nothing slower is needed.
struct SecretHash: Sendable {
    /// The 32 bytes.
    let bytes: [UInt8]

    /// Hashes a presented text, which need not be a secret.
    init(of presented: String) { self.bytes = Array(SHA256.hash(data: Array(presented.utf8))) }

    /// The lookup key: the first 8 bytes of the hash.
    var lookup: Int64 { self.bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) } }

    /// Returns `true` if the stored hash is equal. The comparison takes constant time, even without a stored hash.
    func matches(_ kept: [UInt8]?) -> Bool {
        let other = kept ?? Self.nothing
        guard other.count == self.bytes.count else { return false }
        return zip(self.bytes, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// The value to compare with when no hash is stored.
    private static let nothing = [UInt8](repeating: 0, count: 32)
}

/// Base64 with the alphabet for URLs, without padding (RFC 4648, 5).
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
