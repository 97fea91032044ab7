private import CSodium

/// The key with which a phone encrypts its OwnTracks messages: that of libsodium's `crypto_secretbox`, made from a
/// passphrase that is padded with zeros to 32 bytes.
///
/// The printed form does not contain the key.
package struct OwnTracksSecret: Sendable, CustomStringConvertible, CustomReflectable {
    private let key: [UInt8]

    /// The largest number of bytes in a passphrase.
    package static let maximumBytes = 32

    /// Creates the key from a passphrase; `nil` if the passphrase is empty or has more than 32 bytes of UTF-8, which is
    /// also the app's limit.
    package init?(passphrase: some StringProtocol) {
        guard (1...Self.maximumBytes).contains(passphrase.utf8.count), sodium_init() >= 0 else { return nil }
        self.key = Array(passphrase.utf8) + [UInt8](repeating: 0, count: Self.maximumBytes - passphrase.utf8.count)
    }

    /// Decrypts a message, given as base64 text; `nil` if it was encrypted with another key, or is damaged.
    func open(base64: String) -> [UInt8]? {
        guard let sealed = Self.decoded(base64) else { return nil }
        let nonceBytes = Int(crypto_secretbox_NONCEBYTES)
        let overhead = Int(crypto_secretbox_MACBYTES)
        guard sealed.count >= nonceBytes + overhead else { return nil }
        let box = Array(sealed[nonceBytes...])
        var plain = [UInt8](repeating: 0, count: box.count - overhead)
        guard crypto_secretbox_open_easy(&plain, box, UInt64(box.count), sealed, self.key) == 0 else { return nil }
        return plain
    }

    /// Encrypts a message for the OwnTracks apps. Returns a random nonce and the encrypted message as base64 text.
    func seal(_ plain: [UInt8]) -> String {
        var nonce = [UInt8](repeating: 0, count: Int(crypto_secretbox_NONCEBYTES))
        randombytes_buf(&nonce, nonce.count)
        var box = [UInt8](repeating: 0, count: plain.count + Int(crypto_secretbox_MACBYTES))
        let status = crypto_secretbox_easy(&box, plain, UInt64(plain.count), nonce, self.key)
        precondition(status == 0, "crypto_secretbox_easy fails for no message below its limit of 2^64 bytes")
        let sealed = nonce + box
        let variant = sodium_base64_VARIANT_ORIGINAL
        var text = [CChar](repeating: 0, count: sodium_base64_encoded_len(sealed.count, variant))
        sodium_bin2base64(&text, text.count, sealed, sealed.count, variant)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func decoded(_ base64: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: base64.utf8.count)
        var count = 0
        let ignored = "\r\n "
        guard
            sodium_base642bin(
                &bytes, bytes.count, base64, base64.utf8.count, ignored, &count, nil,
                sodium_base64_VARIANT_ORIGINAL) == 0
        else { return nil }
        return Array(bytes.prefix(count))
    }

    /// A fixed text in place of the key, which is never printed.
    package var description: String { "a key" }
    /// A mirror without children. A mirror is the view of a value that `dump` and debuggers show, so they do not show
    /// the key.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
