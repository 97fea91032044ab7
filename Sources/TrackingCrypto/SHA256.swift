private import CSodium

/// The SHA-256 hash function (FIPS 180-4) and its message authentication code.
package enum SHA256 {
    /// The number of bytes in a digest and in an authentication code: 32.
    package static let digestBytes = 32

    /// Returns the digest of the concatenated parts.
    ///
    /// - Parameter parts: The bytes to hash, in order. Their boundaries do not change the digest.
    /// - Returns: The 32 bytes of the digest.
    package static func digest(of parts: [UInt8]...) -> [UInt8] {
        var state = crypto_hash_sha256_state()
        crypto_hash_sha256_init(&state)
        for part in parts { crypto_hash_sha256_update(&state, part, UInt64(part.count)) }
        var digest = [UInt8](repeating: 0, count: Self.digestBytes)
        crypto_hash_sha256_final(&state, &digest)
        return digest
    }

    /// Returns the message authentication code HMAC-SHA-256 (RFC 2104) of a message.
    ///
    /// - Parameters:
    ///   - message: The bytes to authenticate.
    ///   - key: The secret key, of any length.
    /// - Returns: The 32 bytes of the code.
    package static func authenticationCode(for message: [UInt8], key: [UInt8]) -> [UInt8] {
        var state = crypto_auth_hmacsha256_state()
        crypto_auth_hmacsha256_init(&state, key, key.count)
        crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
        var code = [UInt8](repeating: 0, count: Self.digestBytes)
        crypto_auth_hmacsha256_final(&state, &code)
        return code
    }
}
