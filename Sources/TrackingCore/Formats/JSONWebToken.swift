/// Reads the expiry of a JSON Web Token (RFC 7519). The signature is not checked: only the broker can do that.
package enum JSONWebToken {
    /// The largest size of a token's payload in bytes, as base64 text. A larger payload is not read.
    package static let maximumBytes = 32_768

    /// Returns the time in a token's claim `exp`; `nil` if the text is no token in the compact form, or if it has no
    /// such claim.
    package static func expiry(of text: String) -> UnixTime? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, !parts[1].isEmpty, parts[1].count <= self.maximumBytes,
            let payload = self.decoded(parts[1]), let claims = try? JSONValue(json: payload)
        else { return nil }
        return claims["exp"]?.number.map { UnixTime($0) }
    }

    /// Decodes base64 in the alphabet for URLs, with or without padding (RFC 4648, section 5). Returns `nil` for any
    /// other text.
    package static func decoded(_ text: Substring.UTF8View) -> [UInt8]? {
        let padding = UInt8(ascii: "=")
        let end = text.lastIndex { $0 != padding }.map { text.index(after: $0) } ?? text.startIndex
        let digits = text[..<end]
        // One digit has 6 bits, too few for a byte.
        guard digits.count % 4 != 1, text.count - digits.count <= 2 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var (bits, count) = (0 as UInt32, 0)
        for character in digits {
            guard let digit = self.digit(character) else { return nil }
            bits = bits << 6 | digit
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        return bytes
    }

    private static func digit(_ character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
