/// Examines one packet from a broker against the specifications of MQTT 3.1.1 (sections 2 and 3) and MQTT 5.
struct PacketExamination {
    private let version: ConnectionStateMachine.Version
    private let maximumPacketSize: Int
    private let bytes: UnsafeRawBufferPointer
    private var reader: PacketReader
    /// The packet's size in bytes; `nil` before the length field was read.
    private(set) var size: Int?
    /// A Boolean value that indicates whether the broker has accepted the connection (CONNACK), with this packet or an
    /// earlier one.
    private(set) var isAccepted: Bool

    init(
        _ bytes: UnsafeRawBufferPointer, version: ConnectionStateMachine.Version, maximumPacketSize: Int,
        isAccepted: Bool
    ) {
        self.bytes = bytes
        self.version = version
        self.maximumPacketSize = maximumPacketSize
        self.isAccepted = isAccepted
        self.reader = PacketReader(bytes, size: 5)
    }

    /// Reads and checks the packet. Of a PUBLISH packet, reads everything before the payload.
    ///
    /// - Throws: ``PacketReader/Stop``: `incomplete` while bytes that need a check are missing, `malformed` for a
    ///   packet that violates the MQTT specification.
    mutating func run() throws(PacketReader.Stop) {
        let first = try self.reader.byte("the packet type")
        let type = try self.type(first)
        let length = try self.reader.variableInteger("the remaining length")
        let size = self.reader.position + length
        guard size <= self.maximumPacketSize else {
            throw .malformed("a packet has \(size) bytes; the limit is \(self.maximumPacketSize)")
        }
        var body = PacketReader(UnsafeRawBufferPointer(rebasing: self.bytes[self.reader.position...]), size: length)
        self.size = size
        switch type {
        case .connack: try self.connack(&body)
        case .publish: return try self.publish(&body, quality: first >> 1 & 3)
        case .puback: try self.puback(&body)
        case .suback: try self.suback(&body)
        case .unsuback: try self.unsuback(&body)
        case .pingresp: break
        case .disconnect: try self.disconnect(&body)
        }
        guard body.remaining == 0 else { throw .malformed("\(type) has bytes after its last field") }
    }

    private func type(_ first: UInt8) throws(PacketReader.Stop) -> PacketType {
        guard let type = PacketType(rawValue: first >> 4) else {
            throw .malformed("packet type \(first >> 4) is not one that a broker sends to this client")
        }
        if type == .publish {
            guard first & 0x06 <= 0x02 else {
                throw .malformed("PUBLISH has a QoS above 1, which this client did not request")
            }
            guard first & 0x0E != 0x08 else { throw .malformed("PUBLISH at QoS 0 is marked as a duplicate") }
        } else if first & 0x0F != 0 {
            throw .malformed("\(type) has the flags \(first & 0x0F) instead of 0")
        }
        guard self.isAccepted != (type == .connack) else {
            throw .malformed(self.isAccepted ? "CONNACK arrived a second time" : "\(type) arrived before CONNACK")
        }
        if type == .disconnect, self.version == .v311 {
            throw .malformed("a DISCONNECT arrived, which an MQTT 3.1.1 broker never sends")
        }
        return type
    }

    // MARK: - Packets

    private mutating func connack(_ body: inout PacketReader) throws(PacketReader.Stop) {
        let flags = try body.byte("the flags of CONNACK")
        let code = try body.byte("the code of CONNACK")
        guard flags <= 1, code == 0 || flags == 0 else {
            throw .malformed("CONNACK has invalid flags \(flags) or code \(code)")
        }
        // A broker without MQTT 5 rejects the connection in the format of MQTT 3.1.1, which has no properties.
        if self.version == .v5, body.remaining > 0 { try self.properties(of: .connack, &body) }
        self.isAccepted = code == 0
    }

    private func publish(_ body: inout PacketReader, quality: UInt8) throws(PacketReader.Stop) {
        try body.text("the topic", isTopic: true)
        if quality > 0 { try body.packetIdentifier() }
        if self.version == .v5 { try self.properties(of: .publish, &body) }
    }

    private func puback(_ body: inout PacketReader) throws(PacketReader.Stop) {
        try body.packetIdentifier()
        guard self.version == .v5, body.remaining > 0 else { return }
        let code = try body.byte("the code of PUBACK")
        guard [0, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99].contains(code) else {
            throw .malformed("PUBACK has the invalid code \(code)")
        }
        if body.remaining > 0 { try self.properties(of: .puback, &body) }
    }

    private func suback(_ body: inout PacketReader) throws(PacketReader.Stop) {
        try body.packetIdentifier()
        if self.version == .v5 { try self.properties(of: .suback, &body) }
        guard body.remaining > 0 else { throw .malformed("SUBACK has no code") }
        while body.remaining > 0 {
            let code = try body.byte("the codes of SUBACK")
            guard code <= 2 || code >= 0x80, self.version == .v5 || code <= 0x80 else {
                throw .malformed("SUBACK has the invalid code \(code)")
            }
        }
    }

    private func unsuback(_ body: inout PacketReader) throws(PacketReader.Stop) {
        try body.packetIdentifier()
        guard self.version == .v5 else { return }
        try self.properties(of: .unsuback, &body)
        guard body.remaining > 0 else { throw .malformed("UNSUBACK has no code") }
        while body.remaining > 0 {
            let code = try body.byte("the codes of UNSUBACK")
            guard code == 0 || code == 0x11 || code >= 0x80 else {
                throw .malformed("UNSUBACK has the invalid code \(code)")
            }
        }
    }

    private func disconnect(_ body: inout PacketReader) throws(PacketReader.Stop) {
        guard body.remaining > 0 else { return }
        let code = try body.byte("the code of DISCONNECT")
        guard code == 0 || code == 0x04 || code >= 0x80 else {
            throw .malformed("DISCONNECT has the invalid code \(code)")
        }
        if body.remaining > 0 { try self.properties(of: .disconnect, &body) }
    }

    // MARK: - Properties

    private func properties(of type: PacketType, _ body: inout PacketReader) throws(PacketReader.Stop) {
        let length = try body.variableInteger("the length of the properties")
        var seen: UInt64 = 0
        try body.part(length, "the properties") { (body: inout PacketReader) throws(PacketReader.Stop) in
            let identifier = try body.byte("a property")
            guard let property = PacketProperty(rawValue: identifier), property.types.contains(type) else {
                throw .malformed("\(type) has property \(identifier), which it must not have")
            }
            let bit: UInt64 = 1 << UInt64(identifier)
            guard seen & bit == 0 || property.mayRepeat else {
                throw .malformed("\(type) has property \(identifier) twice")
            }
            seen |= bit
            try property.read(&body)
        }
    }
}

/// A type of MQTT packet that a broker may send to this client, which uses QoS 1 and no extended authentication.
enum PacketType: UInt8, CustomStringConvertible {
    case connack = 2
    case publish = 3
    case puback = 4
    case suback = 9
    case unsuback = 11
    case pingresp = 13
    case disconnect = 14

    /// The name of the packet type in the MQTT specification.
    var description: String {
        switch self {
        case .connack: "CONNACK"
        case .publish: "PUBLISH"
        case .puback: "PUBACK"
        case .suback: "SUBACK"
        case .unsuback: "UNSUBACK"
        case .pingresp: "PINGRESP"
        case .disconnect: "DISCONNECT"
        }
    }
}
