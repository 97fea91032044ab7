import TrackingCore

/// A message that was received over D-Bus: an answer, an error or a signal.
struct DBusMessage: Hashable, Sendable {
    /// The maximum length of a message that is decoded, in bytes. The messages that this program expects have less than
    /// 2 KB.
    static let maximumBytes = 65_536
    /// The maximum length of a message by the specification, in bytes: 128 MiB.
    static let specifiedMaximumBytes = 134_217_728
    /// The number of bytes after which the length of a message is known.
    static let prefixBytes = 16

    /// The kind of a message.
    enum Kind: UInt64, Hashable, Sendable {
        case call = 1
        case answer = 2
        case error = 3
        case signal = 4
    }

    let kind: Kind
    /// The serial number of the call to which this message is the answer; `nil` for another message.
    private(set) var answers: UInt32?
    /// The path of the object that emitted the signal; `nil` for an answer.
    private(set) var path: String?
    /// The interface of the signal; `nil` for an answer.
    private(set) var interface: String?
    /// The name of the signal; `nil` for an answer.
    private(set) var member: String?
    /// The name of the error; `nil` for another message.
    private(set) var errorName: String?
    /// The unique name of the connection that sent the message. The bus sets it, so that no sender can forge it.
    private(set) var sender: String?
    private(set) var body: [DBusValue] = []

    /// Returns the length of the message that begins with these bytes; `nil` if they are less than
    /// ``prefixBytes``.
    ///
    /// - Throws: `invalidPayload` if they begin no message; `payloadTooLarge` if it is longer than
    ///   ``specifiedMaximumBytes``.
    static func length(of bytes: ArraySlice<UInt8>) throws(TrackingError) -> Int? {
        guard bytes.count >= Self.prefixBytes else { return nil }
        let prefix = Array(bytes.prefix(Self.prefixBytes))
        var reader = DBusReader(prefix, isLittleEndian: try Self.isLittleEndian(prefix), offset: 4)
        let body = try reader.number(4)
        _ = try reader.number(4)
        let fields = try reader.number(4)
        let length = (UInt64(Self.prefixBytes) + fields + 7) / 8 * 8 + body
        guard length <= Self.specifiedMaximumBytes else {
            throw TrackingError(
                .payloadTooLarge,
                "cannot read a message of D-Bus: it has \(length) bytes, more than \(Self.specifiedMaximumBytes)")
        }
        return Int(length)
    }

    /// Decodes a whole message.
    ///
    /// - Throws: `invalidPayload` if the bytes are no message.
    init(_ bytes: [UInt8]) throws(TrackingError) {
        var reader = DBusReader(bytes, isLittleEndian: try Self.isLittleEndian(bytes), offset: 1)
        guard let kind = Kind(rawValue: try reader.number(1)) else { throw DBusReader.error("has an unknown kind") }
        self.kind = kind
        _ = try reader.number(1)
        guard try reader.number(1) == 1 else { throw DBusReader.error("has an unknown version") }
        _ = try reader.values("uu")
        var signature = ""
        for field in try reader.values("a(yv)")[0].members {
            let parts = field.members
            switch parts[0].unsigned {
            case 1: self.path = parts[1].text
            case 2: self.interface = parts[1].text
            case 3: self.member = parts[1].text
            case 4: self.errorName = parts[1].text
            case 5: self.answers = parts[1].unsigned.flatMap { UInt32(exactly: $0) }
            case 7: self.sender = parts[1].text
            case 8: signature = parts[1].text ?? ""
            default: break
            }
        }
        try reader.align(8)
        self.body = try reader.values(signature)
    }

    private static func isLittleEndian(_ bytes: [UInt8]) throws(TrackingError) -> Bool {
        switch bytes.first {
        case UInt8(ascii: "l"): return true
        case UInt8(ascii: "B"): return false
        default: throw DBusReader.error("begins with an unknown byte")
        }
    }
}
