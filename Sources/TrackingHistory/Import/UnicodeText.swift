/// Converts the text of a file to UTF-8. Text that begins with a UTF-16 byte order mark is converted; other text is
/// returned unchanged. The bytes may arrive in pieces of any size.
struct UnicodeText: Sendable {
    private enum Encoding: Sendable {
        /// The encoding is not known yet, because fewer than two bytes were read. Can transition to: `other`, `utf16`.
        case unknown
        case utf16(isBigEndian: Bool)
        case other
    }

    private var encoding = Encoding.unknown
    /// The bytes of the file that were passed in but not converted to UTF-8 yet, such as the first half of a UTF-16
    /// character.
    private var rest: [UInt8] = []

    /// Adds bytes of the file, and returns the UTF-8 text of all characters that are complete.
    mutating func append(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        if case .other = self.encoding { return bytes }
        self.rest += bytes
        if case .unknown = self.encoding {
            guard self.rest.count >= 2 else { return [] }
            switch (self.rest[0], self.rest[1]) {
            case (0xFE, 0xFF): self.encoding = .utf16(isBigEndian: true)
            case (0xFF, 0xFE): self.encoding = .utf16(isBigEndian: false)
            default: self.encoding = .other
            }
        }
        guard case .utf16(let isBigEndian) = self.encoding else { return self.finish() }
        var units = stride(from: 0, to: self.rest.count - 1, by: 2).map { index in
            let (first, second) = (UInt16(self.rest[index]), UInt16(self.rest[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        // The first half of a surrogate pair waits for the second.
        if let last = units.last, UTF16.isLeadSurrogate(last) { units.removeLast() }
        self.rest.removeFirst(units.count * 2)
        return Array(String(decoding: units, as: UTF16.self).utf8)[...]
    }

    /// Ends the file, and returns unchanged the remaining bytes that could not be converted to UTF-8, such as half of a
    /// UTF-16 character.
    mutating func finish() -> ArraySlice<UInt8> {
        defer { self.rest = [] }
        return self.rest[...]
    }
}
