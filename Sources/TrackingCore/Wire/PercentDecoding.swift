extension Substring {
    /// The text with each `%` and its two hexadecimal digits replaced by the byte that they denote (RFC 3986, 2.1).
    /// `nil` when a `%` lacks its digits or denotes the byte 0, or when the result is not UTF-8.
    package var percentDecoded: String? {
        var bytes: [UInt8] = []
        var rest = self.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy(\.isHexDigit),
                let value = UInt8(Substring(digits), radix: 16), value != 0
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    /// `true` when the byte is the ASCII code of a hexadecimal digit, in upper or lower case.
    package var isHexDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
