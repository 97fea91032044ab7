import TrackingCore

/// Decodes the values of one D-Bus message from its bytes.
///
/// The notation of types and the alignment of values are those of the
/// [D-Bus specification](https://dbus.freedesktop.org/doc/dbus-specification.html), "Marshaling".
struct DBusReader {
    /// The maximum depth of nested values.
    private static let maximumDepth = 16

    private let bytes: [UInt8]
    private let isLittleEndian: Bool
    private(set) var offset: Int

    /// Creates a reader of a message. Values are aligned relative to the first of `bytes`.
    ///
    /// - Parameters:
    ///   - bytes: The whole message.
    ///   - isLittleEndian: `true` if the least significant byte of a number comes first.
    ///   - offset: The index of the first byte to read.
    init(_ bytes: [UInt8], isLittleEndian: Bool, offset: Int = 0) {
        self.bytes = bytes
        self.isLittleEndian = isLittleEndian
        self.offset = offset
    }

    /// Reads one value after the other, as the signature lists them.
    ///
    /// - Throws: `invalidPayload` if the bytes are not values of these types.
    mutating func values(_ signature: String) throws(TrackingError) -> [DBusValue] {
        var rest = Array(signature.utf8)[...]
        var values: [DBusValue] = []
        while !rest.isEmpty { values.append(try self.value(&rest, depth: 0)) }
        return values
    }

    /// Skips the padding before a value whose offset must be a multiple of `alignment`.
    mutating func align(_ alignment: Int) throws(TrackingError) {
        let next = (self.offset + alignment - 1) / alignment * alignment
        guard next <= self.bytes.count else { throw Self.error("ends within a value") }
        self.offset = next
    }

    /// Reads a number of `size` bytes without a sign, which is aligned to its size.
    mutating func number(_ size: Int) throws(TrackingError) -> UInt64 {
        try self.align(size)
        guard self.offset + size <= self.bytes.count else { throw Self.error("ends within a number") }
        let bytes = self.bytes[self.offset..<self.offset + size]
        self.offset += size
        let ordered = self.isLittleEndian ? Array(bytes.reversed()) : Array(bytes)
        return ordered.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Reads a value of the first type in a signature, and removes that type from the signature.
    private mutating func value(
        _ signature: inout ArraySlice<UInt8>, depth: Int
    ) throws(TrackingError) -> DBusValue {
        guard depth <= Self.maximumDepth else { throw Self.error("has too many nested values") }
        guard let type = signature.popFirst() else { throw Self.error("has an incomplete signature") }
        switch type {
        case UInt8(ascii: "y"): return .unsigned(try self.number(1))
        case UInt8(ascii: "q"): return .unsigned(try self.number(2))
        case UInt8(ascii: "b"), UInt8(ascii: "u"), UInt8(ascii: "h"): return .unsigned(try self.number(4))
        case UInt8(ascii: "t"): return .unsigned(try self.number(8))
        case UInt8(ascii: "n"): return .signed(Int64(Int16(truncatingIfNeeded: try self.number(2))))
        case UInt8(ascii: "i"): return .signed(Int64(Int32(truncatingIfNeeded: try self.number(4))))
        case UInt8(ascii: "x"): return .signed(Int64(bitPattern: try self.number(8)))
        case UInt8(ascii: "d"): return .double(Double(bitPattern: try self.number(8)))
        case UInt8(ascii: "s"), UInt8(ascii: "o"): return .text(try self.text(Int(try self.number(4))))
        case UInt8(ascii: "g"): return .text(try self.text(Int(try self.number(1))))
        case UInt8(ascii: "v"): return try self.variant(depth: depth)
        case UInt8(ascii: "a"): return try self.array(&signature, depth: depth)
        case UInt8(ascii: "("): return try self.structure(&signature, until: UInt8(ascii: ")"), depth: depth)
        case UInt8(ascii: "{"): return try self.structure(&signature, until: UInt8(ascii: "}"), depth: depth)
        default: throw Self.error("has an unknown type in a signature")
        }
    }

    private mutating func text(_ count: Int) throws(TrackingError) -> String {
        guard count < self.bytes.count - self.offset else { throw Self.error("ends within a text") }
        let bytes = self.bytes[self.offset..<self.offset + count]
        guard self.bytes[self.offset + count] == 0, let text = String(validating: bytes, as: UTF8.self) else {
            throw Self.error("has a text that is not UTF-8 or does not end with a zero")
        }
        self.offset += count + 1
        return text
    }

    private mutating func variant(depth: Int) throws(TrackingError) -> DBusValue {
        var signature = Array(try self.text(Int(try self.number(1))).utf8)[...]
        let value = try self.value(&signature, depth: depth + 1)
        guard signature.isEmpty else { throw Self.error("has a variant of several values") }
        return value
    }

    private mutating func array(
        _ signature: inout ArraySlice<UInt8>, depth: Int
    ) throws(TrackingError) -> DBusValue {
        let element = try Self.firstType(of: signature, depth: depth + 1)
        signature = signature[element.endIndex...]
        let count = Int(try self.number(4))
        try self.align(Self.alignment(element.first))
        let end = self.offset + count
        guard end <= self.bytes.count else { throw Self.error("ends within an array") }
        var values: [DBusValue] = []
        while self.offset < end {
            var type = element
            values.append(try self.value(&type, depth: depth + 1))
        }
        guard self.offset == end else { throw Self.error("has an array of a wrong length") }
        return .members(values)
    }

    private mutating func structure(
        _ signature: inout ArraySlice<UInt8>, until end: UInt8, depth: Int
    ) throws(TrackingError) -> DBusValue {
        try self.align(8)
        var values: [DBusValue] = []
        while signature.first != end { values.append(try self.value(&signature, depth: depth + 1)) }
        // An empty structure would have no bytes, so that an array of them would have no end.
        guard !values.isEmpty else { throw Self.error("has an empty structure") }
        signature.removeFirst()
        return .members(values)
    }

    /// Returns the first complete type in a signature, such as `a{sv}`.
    private static func firstType(
        of signature: ArraySlice<UInt8>, depth: Int
    ) throws(TrackingError) -> ArraySlice<UInt8> {
        guard depth <= Self.maximumDepth else { throw Self.error("has too many nested values") }
        var rest = signature
        switch rest.popFirst() {
        case nil: throw Self.error("has an incomplete signature")
        case UInt8(ascii: "a"): rest = rest[try Self.firstType(of: rest, depth: depth + 1).endIndex...]
        case UInt8(ascii: "("): try Self.skipMembers(&rest, until: UInt8(ascii: ")"), depth: depth + 1)
        case UInt8(ascii: "{"): try Self.skipMembers(&rest, until: UInt8(ascii: "}"), depth: depth + 1)
        default: break
        }
        return signature[..<rest.startIndex]
    }

    private static func skipMembers(
        _ rest: inout ArraySlice<UInt8>, until end: UInt8, depth: Int
    ) throws(TrackingError) {
        while rest.first != end { rest = rest[try Self.firstType(of: rest, depth: depth).endIndex...] }
        rest.removeFirst()
    }

    private static func alignment(_ type: UInt8?) -> Int {
        switch type {
        case UInt8(ascii: "y"), UInt8(ascii: "g"), UInt8(ascii: "v"): 1
        case UInt8(ascii: "n"), UInt8(ascii: "q"): 2
        case UInt8(ascii: "x"), UInt8(ascii: "t"), UInt8(ascii: "d"), UInt8(ascii: "("), UInt8(ascii: "{"): 8
        default: 4
        }
    }

    /// Returns the error of a message that cannot be decoded, with a predicate such as "ends within a number".
    static func error(_ predicate: String) -> TrackingError {
        TrackingError(.invalidPayload, "cannot read a message of D-Bus: it \(predicate)")
    }
}
