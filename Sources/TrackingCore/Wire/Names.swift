/// The id of a trackable: 1 to 128 bytes of UTF-8 without control characters.
public struct TrackableID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The id of the trackable as text, as the user wrote it. It is decoded from ``topicLevel`` if that has escaped
    /// characters, so that an id is one text in memory.
    public var rawValue: String {
        guard self.topicLevel.utf8.contains(UInt8(ascii: "=")) else { return self.topicLevel }
        return Self.decode(self.topicLevel.utf8).map { String(decoding: $0, as: UTF8.self) } ?? self.topicLevel
    }
    /// The trackable's id as one level of an MQTT topic. Characters other than `A-Z a-z 0-9 _ -`, and a `_` at the
    /// beginning, are escaped as `=` and two hexadecimal digits for each byte.
    public let topicLevel: String

    /// The id of the trackable as text, the same as ``rawValue``.
    public var description: String { self.rawValue }

    /// Two trackable ids are equal when their bytes are equal. Texts that are only equivalent in Unicode (an é of one
    /// character or of two) are different ids.
    public static func == (left: Self, right: Self) -> Bool { left.topicLevel == right.topicLevel }
    /// Hashes the bytes of the trackable's id, consistent with ``==(_:_:)``.
    public func hash(into hasher: inout Hasher) { hasher.combine(self.topicLevel) }
    /// Orders trackable ids by the bytes of their UTF-8.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue.precedesInBytes(right.rawValue) }

    /// Makes the id of a trackable from a text of 1 to 128 bytes without control characters.
    ///
    /// - Throws: ``TrackingError/Code/invalidName`` that names the violated rule, for any other text.
    public init(_ rawValue: String) throws(TrackingError) {
        guard (1...128).contains(rawValue.utf8.count) else {
            throw TrackingError(
                .invalidName, "a trackable id has 1 to 128 bytes of UTF-8; this one has \(rawValue.utf8.count)")
        }
        guard !rawValue.hasControlCharacters else {
            throw TrackingError(.invalidName, "a trackable id must not contain control characters; remove them")
        }
        self.topicLevel = Self.encode(rawValue)
    }

    /// Decodes the id of a trackable from a level of a topic. The level may escape more characters than necessary.
    /// Returns `nil` when the decoded text is not a valid id.
    init?(meantBy level: some StringProtocol) {
        guard let bytes = Self.decode(level.utf8), let text = String(validating: bytes, as: UTF8.self),
            let id = try? TrackableID(text)
        else { return nil }
        self = id
    }

    /// Decodes a level of a topic to the id of a trackable. Returns `nil` when the level is not an id, or escapes more
    /// characters than necessary.
    public init?(topicLevel: some StringProtocol) {
        guard let id = TrackableID(meantBy: topicLevel), id.topicLevel == topicLevel else { return nil }
        self = id
    }

    private static func encode(_ id: String) -> String {
        guard !id.utf8.allSatisfy(\.isTopicSafe) || id.utf8.first == UInt8(ascii: "_") else { return id }
        let digits = Array("0123456789ABCDEF".utf8)
        var level: [UInt8] = []
        for (index, byte) in id.utf8.enumerated() {
            if byte.isTopicSafe, !(index == 0 && byte == UInt8(ascii: "_")) {
                level.append(byte)
            } else {
                level += [UInt8(ascii: "="), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: level, as: UTF8.self)
    }

    private static func decode(_ level: some Collection<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = level[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "=") {
                guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit else { return nil }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}

/// The id of an MQTT client: 1 to 64 characters of `A-Z a-z 0-9 _ -`.
public struct ClientID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The client id as text.
    public let rawValue: String

    /// The client id as text, the same as ``rawValue``.
    public var description: String { self.rawValue }

    /// Makes a client id from a text of 1 to 64 characters of `A-Z a-z 0-9 _ -`.
    ///
    /// - Throws: ``TrackingError/Code/invalidName`` that names the rule, for any other text.
    public init(_ rawValue: String) throws(TrackingError) {
        guard let id = ClientID(topicLevel: rawValue) else {
            throw TrackingError(
                .invalidName,
                "a client id must have 1 to 64 characters of A-Z a-z 0-9 _ -, unlike '\(rawValue.prefix(80))'"
            )
        }
        self = id
    }

    /// Makes a client id from a level of a topic; returns `nil` when the level is not a client id.
    public init?(topicLevel: some StringProtocol) {
        guard (1...64).contains(topicLevel.utf8.count), topicLevel.utf8.allSatisfy(\.isTopicSafe) else { return nil }
        self.rawValue = String(topicLevel)
    }

    /// Orders client ids by the ASCII codes of their characters.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The id of one run of a client program. It is random and created when the program starts.
public struct SessionID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The session id as text: 1 to 64 bytes.
    public let rawValue: String

    /// The session id as text, the same as ``rawValue``.
    public var description: String { self.rawValue }

    /// Makes a session id from a text of 1 to 64 bytes; returns `nil` for other texts.
    public init?(_ rawValue: String) {
        guard (1...64).contains(rawValue.utf8.count) else { return nil }
        self.rawValue = rawValue
    }

    /// Makes a random session id of 12 characters.
    public static func random(using generator: inout some RandomNumberGenerator) -> SessionID {
        SessionID(rawValue: randomName(using: &generator))
    }

    private init(rawValue: String) { self.rawValue = rawValue }

    /// Two session ids are equal when their bytes are equal.
    public static func == (left: Self, right: Self) -> Bool { left.rawValue.hasBytes(of: right.rawValue) }
    /// Orders session ids by their bytes. When two publishers became present on a trackable at the same time, the one
    /// with the greater session id is the owner.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue.precedesInBytes(right.rawValue) }
}

/// The id of a stream, one numbered sequence of a publisher's records for one trackable. The id is random. A new stream
/// begins when the device's log cannot continue the previous one.
public struct StreamID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The stream id as text: 1 to 64 bytes without control characters.
    public let rawValue: String

    /// The stream id as text, the same as ``rawValue``.
    public var description: String { self.rawValue }

    /// Makes a stream id from a text; returns `nil` when the text is empty, has more than 64 bytes or has a control
    /// character. Some databases do not preserve control characters.
    public init?(_ rawValue: String) {
        guard (1...64).contains(rawValue.utf8.count), !rawValue.hasControlCharacters else { return nil }
        self.rawValue = rawValue
    }

    /// Makes a random stream id of 12 characters.
    public static func random(using generator: inout some RandomNumberGenerator) -> StreamID {
        StreamID(rawValue: randomName(using: &generator))
    }

    private init(rawValue: String) { self.rawValue = rawValue }

    /// Two stream ids are equal when their bytes are equal.
    public static func == (left: Self, right: Self) -> Bool { left.rawValue.hasBytes(of: right.rawValue) }
    /// Orders stream ids by their bytes.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue.precedesInBytes(right.rawValue) }
}

/// Returns 12 random characters from an alphabet of 32 characters; together they have 60 random bits.
private func randomName(using generator: inout some RandomNumberGenerator) -> String {
    let letters = Array("abcdefghijkmnpqrstuvwxyz23456789".utf8)
    return String(decoding: (0..<12).map { _ in letters.randomElement(using: &generator) ?? letters[0] }, as: UTF8.self)
}

extension UInt8 {
    /// `true` when the byte is one of the ASCII characters `A-Z a-z 0-9 _ -`. Every broker that we know accepts these
    /// characters in topics.
    var isTopicSafe: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// The value of the ASCII byte as an upper-case hexadecimal digit, 0 to 15; `nil` when the byte is no such digit.
    fileprivate var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension String {
    /// Returns `true` when both texts have the same bytes. The operator `==` alone would also accept texts that are
    /// only equivalent in Unicode.
    fileprivate func hasBytes(of other: String) -> Bool { self == other && self.utf8.elementsEqual(other.utf8) }

    /// Returns `true` when this text comes before `other` in the order of their bytes. The databases use the same
    /// order.
    fileprivate func precedesInBytes(_ other: String) -> Bool { self.utf8.lexicographicallyPrecedes(other.utf8) }

    /// `true` when the text has a control character (Unicode category Cc).
    var hasControlCharacters: Bool { self.unicodeScalars.contains(where: \.isControl) }
}
