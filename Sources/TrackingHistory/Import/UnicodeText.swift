/// Brings text in UTF-16, which a byte order mark tells, into UTF-8, whatever pieces it comes in. What has no such mark stays as
/// it is.
struct UnicodeText: Sendable {
    private enum Encoding: Sendable {
        /// Fewer than two bytes came. Can transition to: `other`, `utf16`.
        case unknown
        case utf16(isBigEndian: Bool)
        case other
    }

    private var encoding = Encoding.unknown
    /// What is half of something.
    private var rest: [UInt8] = []

    /// Takes in the next bytes, and gives what they complete.
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
        // The first of two that are one character waits for the other.
        if let last = units.last, UTF16.isLeadSurrogate(last) { units.removeLast() }
        self.rest.removeFirst(units.count * 2)
        return Array(String(decoding: units, as: UTF16.self).utf8)[...]
    }

    /// The file ends here: gives what was half of something as it is.
    mutating func finish() -> ArraySlice<UInt8> {
        defer { self.rest = [] }
        return self.rest[...]
    }
}
