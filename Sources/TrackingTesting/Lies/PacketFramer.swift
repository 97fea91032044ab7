/// Divides a stream of bytes into MQTT packets.
struct PacketFramer {
    /// The largest packet, in bytes. A longer one ends the division: the stream is then not MQTT.
    static let maximumBytes = 1_048_576

    private var waiting: [UInt8] = []

    /// Appends bytes of the stream, and returns the packets that are complete, in order.
    ///
    /// - Returns: The packets, with their headers; `nil` if the stream is not MQTT, or a packet is too long.
    mutating func append(_ bytes: ArraySlice<UInt8>) -> [MQTTPacket]? {
        self.waiting += bytes
        var packets: [MQTTPacket] = []
        var start = 0
        while let size = Self.size(self.waiting[start...]) {
            guard size.header > 0, size.header + size.body <= Self.maximumBytes else { return nil }
            let end = start + size.header + size.body
            guard end <= self.waiting.count else { break }
            packets.append(
                MQTTPacket(first: self.waiting[start], body: Array(self.waiting[(start + size.header)..<end])))
            start = end
        }
        self.waiting.removeFirst(start)
        return packets
    }

    /// Reads the sizes of a packet's fixed header and of the rest. Returns `nil` while the header is incomplete, and a
    /// header of 0 bytes if its length has more than four bytes.
    private static func size(_ bytes: ArraySlice<UInt8>) -> (header: Int, body: Int)? {
        var body = 0
        for (index, byte) in bytes.dropFirst().prefix(4).enumerated() {
            body |= Int(byte & 0x7F) << (7 * index)
            if byte & 0x80 == 0 { return (index + 2, body) }
        }
        return bytes.count > 4 ? (0, 0) : nil
    }
}

/// One MQTT packet.
struct MQTTPacket: Hashable {
    /// The types of packets that a lie changes.
    enum Kind: UInt8 {
        case connect = 1
        case publish = 3
        case subscribe = 8
    }

    /// The first byte: the type and the flags.
    let first: UInt8
    /// The bytes after the fixed header.
    var body: [UInt8]

    /// The type of the packet; `nil` for a type that no lie changes.
    var kind: Kind? { Kind(rawValue: self.first >> 4) }
    /// `true` for a retained message.
    var isRetained: Bool { self.first & 1 == 1 }
    /// `true` for a message that its receiver acknowledges with a PUBACK.
    var isQoS1: Bool { self.first & 0b110 == 0b010 }

    /// The packet as it is sent.
    var bytes: [UInt8] {
        var length = self.body.count
        var header = [self.first]
        repeat {
            header.append(UInt8(length & 0x7F) | (length > 0x7F ? 0x80 : 0))
            length >>= 7
        } while length > 0
        return header + self.body
    }

    /// The acknowledgement (PUBACK) of a message; `nil` if the packet is too short.
    var acknowledgement: MQTTPacket? {
        guard let topic = self.text(at: 0), self.body.count >= topic.end + 2 else { return nil }
        return MQTTPacket(first: 0x40, body: Array(self.body[topic.end..<(topic.end + 2)]))
    }

    /// Returns `true` for an empty retained message at QoS 1, which clears the retained message of its topic.
    ///
    /// - Parameter version: The MQTT version number of the connection.
    func isClearing(version: UInt8) -> Bool {
        guard self.kind == .publish, self.isRetained, self.isQoS1, let topic = self.text(at: 0) else { return false }
        // The packet id, and with MQTT 5 the properties, are before the payload.
        let end = topic.end + 2
        guard version == 5 else { return self.body.count == end }
        return self.body.count > end && self.body[end] < 0x80 && self.body.count == end + 1 + Int(self.body[end])
    }

    /// The MQTT version number in a CONNECT: 4 for 3.1.1, 5 for 5; `nil` if the packet is too short.
    var version: UInt8? {
        guard let name = self.text(at: 0), self.body.count > name.end else { return nil }
        return self.body[name.end]
    }

    /// Returns the bytes of a text field, and the position after it.
    func text(at start: Int) -> (bytes: ArraySlice<UInt8>, end: Int)? {
        guard start + 2 <= self.body.count else { return nil }
        let end = start + 2 + Int(self.body[start]) << 8 + Int(self.body[start + 1])
        return end <= self.body.count ? (self.body[(start + 2)..<end], end) : nil
    }
}
