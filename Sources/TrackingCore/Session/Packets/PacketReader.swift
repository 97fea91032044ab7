/// Reads the fields of one MQTT packet, of which only the first bytes may have arrived.
struct PacketReader {
    /// The reason for which reading the packet stopped.
    enum Stop: Error, Hashable {
        /// Reading stopped because bytes of the field have not arrived yet.
        case incomplete
        /// Reading stopped because the packet violates the MQTT specification. The text describes the violation.
        case malformed(String)
    }

    /// The bytes of the MQTT packet that have arrived so far, from its first byte on.
    private let bytes: UnsafeRawBufferPointer
    /// The position after the last byte that may be read: the end of the packet, or of the section in it that is being
    /// read.
    private(set) var end: Int
    private(set) var position = 0

    /// Makes a reader for a packet of `size` bytes, of which `bytes` have arrived.
    init(_ bytes: UnsafeRawBufferPointer, size: Int) {
        self.bytes = bytes
        self.end = size
    }

    /// The number of bytes of the packet from the reader's current position to ``end``.
    var remaining: Int { self.end - self.position }

    mutating func byte(_ field: StaticString) throws(Stop) -> UInt8 {
        let range = try self.take(1, field)
        return self.bytes[range.lowerBound]
    }

    mutating func twoBytes(_ field: StaticString) throws(Stop) -> Int {
        let range = try self.take(2, field)
        return Int(self.bytes[range.lowerBound]) << 8 | Int(self.bytes[range.lowerBound + 1])
    }

    mutating func fourBytes(_ field: StaticString) throws(Stop) -> Int {
        let high = try self.twoBytes(field)
        return try high << 16 | self.twoBytes(field)
    }

    /// Reads an MQTT variable byte integer: one to four bytes, without unneeded bytes.
    mutating func variableInteger(_ field: StaticString) throws(Stop) -> Int {
        var value = 0
        for shift in stride(from: 0, through: 21, by: 7) {
            let byte = try self.byte(field)
            value |= Int(byte & 0x7F) << shift
            guard byte & 0x80 == 0 else { continue }
            guard byte != 0 || shift == 0 else {
                throw .malformed("\(field) is encoded in more bytes than its value needs")
            }
            return value
        }
        throw .malformed("\(field) has more than four bytes")
    }

    mutating func packetIdentifier() throws(Stop) {
        guard try self.twoBytes("the packet identifier") != 0 else {
            throw .malformed("the packet identifier must not be 0")
        }
    }

    mutating func binary(_ field: StaticString) throws(Stop) {
        _ = try self.take(self.twoBytes(field), field)
    }

    /// Reads and checks an MQTT string: a two-byte length and then UTF-8.
    ///
    /// - Parameter isTopic: A Boolean value that indicates whether the string is a topic name, which has at least one
    ///   byte and no wildcard.
    mutating func text(_ field: StaticString, isTopic: Bool = false) throws(Stop) {
        let length = try self.twoBytes(field)
        guard length > 0 || !isTopic else { throw .malformed("\(field) is empty") }
        // The beginning of an incomplete string is checked too, which detects a damaged length early.
        let isThere = min(length, self.bytes.count - self.position)
        guard length <= self.remaining else { throw .malformed("\(field) exceeds the end of the packet") }
        let text = UnsafeRawBufferPointer(rebasing: self.bytes[self.position..<self.position + isThere])
        var isASCII = true
        for byte in text {
            let isWildcard = byte == UInt8(ascii: "#") || byte == UInt8(ascii: "+")
            guard byte != 0, !(isTopic && isWildcard) else { throw .malformed("\(field) has an invalid character") }
            isASCII = isASCII && byte < 0x80
        }
        let range = try self.take(length, field)
        guard !isASCII else { return }
        guard String(validating: UnsafeRawBufferPointer(rebasing: self.bytes[range]), as: UTF8.self) != nil else {
            throw .malformed("\(field) is not valid UTF-8")
        }
    }

    /// Reads the next `count` bytes as a section of the packet. Calls `body` repeatedly until the section is read to
    /// its end; `body` cannot read beyond it.
    mutating func part(
        _ count: Int, _ field: StaticString, _ body: (inout PacketReader) throws(Stop) -> Void
    ) throws(Stop) {
        guard count <= self.remaining else { throw .malformed("\(field) exceed the end of the packet") }
        let end = self.end
        self.end = self.position + count
        while self.remaining > 0 { try body(&self) }
        self.end = end
    }

    private mutating func take(_ count: Int, _ field: StaticString) throws(Stop) -> Range<Int> {
        guard count <= self.remaining else { throw .malformed("the packet ends within \(field)") }
        guard count <= self.bytes.count - self.position else { throw .incomplete }
        defer { self.position += count }
        return self.position..<self.position + count
    }
}
