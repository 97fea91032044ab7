/// A way in which a broker violates its promises without an error, as a ``LyingProxy`` simulates it.
public enum BrokerLie: Hashable, Sendable {
    /// Of each connection's messages, the broker acknowledges each with this number, or a multiple of it, and then drops
    /// the message.
    case losesAcknowledged(every: Int)
    /// The broker exchanges two messages that a client published one directly after the other.
    case reorders
    /// The broker treats a shared subscription as an ordinary one: each member receives every message.
    case ignoresShare
    /// Of the retained messages for each connection, the broker does not deliver each with this number, or a multiple of
    /// it. With 1, it delivers none.
    case losesRetained(every: Int)
    /// The broker acknowledges an empty retained message, and does not remove the retained message of its topic.
    case neverClears
}

/// Applies a lie to the packets of one connection between a client and an honest broker.
struct LieStateMachine {
    /// The packets to send after the packets of one side were handled.
    struct Output: Hashable {
        var toBroker: [MQTTPacket] = []
        var toClient: [MQTTPacket] = []
    }

    private let lie: BrokerLie
    private var version: UInt8 = 4
    private var published = 0
    private var retained = 0

    init(_ lie: BrokerLie) { self.lie = lie }

    /// Handles packets that the client sent together.
    mutating func fromClient(_ packets: [MQTTPacket]) -> Output {
        var output = Output()
        for packet in packets {
            if packet.kind == .connect { self.version = packet.version ?? self.version }
            switch self.lie {
            case .losesAcknowledged(let every) where packet.kind == .publish && packet.isQoS1:
                self.published += 1
                if self.published.isMultiple(of: every), let acknowledgement = packet.acknowledgement {
                    output.toClient.append(acknowledgement)
                } else {
                    output.toBroker.append(packet)
                }
            case .ignoresShare where packet.kind == .subscribe: output.toBroker.append(self.withoutGroup(packet))
            case .neverClears where packet.isClearing(version: self.version):
                if let acknowledgement = packet.acknowledgement { output.toClient.append(acknowledgement) }
            default: output.toBroker.append(packet)
            }
        }
        if self.lie == .reorders { Self.exchange(&output.toBroker) }
        return output
    }

    /// Handles packets that the broker sent together.
    mutating func fromBroker(_ packets: [MQTTPacket]) -> Output {
        var output = Output()
        for packet in packets {
            if case .losesRetained(let every) = self.lie, packet.kind == .publish, packet.isRetained {
                self.retained += 1
                if self.retained.isMultiple(of: every) {
                    // The honest broker must not deliver the message again.
                    if packet.isQoS1, let acknowledgement = packet.acknowledgement {
                        output.toBroker.append(acknowledgement)
                    }
                    continue
                }
            }
            output.toClient.append(packet)
        }
        return output
    }

    /// Exchanges the first two messages that follow each other directly.
    private static func exchange(_ packets: inout [MQTTPacket]) {
        let pairs = zip(packets.indices, packets.indices.dropFirst())
        guard let (one, two) = pairs.first(where: { packets[$0].kind == .publish && packets[$1].kind == .publish })
        else { return }
        packets.swapAt(one, two)
    }

    /// Returns a SUBSCRIBE in which `$share/GROUP/` is removed from each filter. A packet that cannot be read is
    /// returned unchanged.
    private func withoutGroup(_ packet: MQTTPacket) -> MQTTPacket {
        let prefix = Array("$share/".utf8)
        // The packet id, and with MQTT 5 the properties, are before the filters.
        var position = 2
        if self.version == 5 {
            guard packet.body.count > 2, packet.body[2] < 0x80 else { return packet }
            position += 1 + Int(packet.body[2])
        }
        var changed = MQTTPacket(first: packet.first, body: Array(packet.body.prefix(position)))
        while let (filter, end) = packet.text(at: position), end < packet.body.count {
            var filter = filter
            if filter.starts(with: prefix), let slash = filter.dropFirst(prefix.count).firstIndex(of: UInt8(ascii: "/"))
            {
                filter = filter[(slash + 1)...]
            }
            changed.body += [UInt8(filter.count >> 8), UInt8(filter.count & 0xFF)] + filter + [packet.body[end]]
            position = end + 1
        }
        return position == packet.body.count ? changed : packet
    }
}
