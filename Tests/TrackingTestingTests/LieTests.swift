import Testing

@testable import TrackingTesting

/// The division of bytes into packets, and the lies about them, without sockets.
@Suite struct LieTests {
    /// A QoS 1 message with a packet id.
    private func publish(_ topic: String, id: UInt8, isRetained: Bool = false) -> MQTTPacket {
        MQTTPacket(
            first: isRetained ? 0x33 : 0x32, body: [0, UInt8(topic.utf8.count)] + Array(topic.utf8) + [0, id, 7])
    }

    private func subscribe(_ filter: String, version: UInt8) -> MQTTPacket {
        let properties: [UInt8] = version == 5 ? [2, 11, 1] : []
        return MQTTPacket(
            first: 0x82, body: [0, 9] + properties + [0, UInt8(filter.utf8.count)] + Array(filter.utf8) + [1])
    }

    private func connect(_ version: UInt8) -> MQTTPacket {
        MQTTPacket(first: 0x10, body: [0, 4] + Array("MQTT".utf8) + [version, 2, 0, 30])
    }

    @Test func bytesInAnyPortionsAreTheSamePackets() {
        let large = MQTTPacket(first: 0x30, body: [UInt8](repeating: 1, count: 20_000))
        let packets = [self.connect(5), large, MQTTPacket(first: 0xC0, body: []), self.publish("a", id: 1)]
        let bytes = packets.flatMap(\.bytes)
        for portion in [1, 3, 1_000, bytes.count] {
            var framer = PacketFramer()
            var found: [MQTTPacket] = []
            for start in stride(from: 0, to: bytes.count, by: portion) {
                found += framer.append(bytes[start..<min(start + portion, bytes.count)]) ?? []
            }
            #expect(found == packets, "portions of \(portion) bytes")
        }
    }

    @Test(arguments: [[0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], [0x30, 0xFF, 0xFF, 0xFF, 0x7F]] as [[UInt8]])
    func aLengthThatIsTooLongEndsTheDivision(bytes: [UInt8]) {
        var framer = PacketFramer()
        #expect(framer.append(bytes[...]) == nil)
    }

    @Test func anAcknowledgedMessageIsLost() {
        var machine = LieStateMachine(.losesAcknowledged(every: 2))
        let packets = (1...4).map { self.publish("a", id: $0) }
        let output = machine.fromClient(packets)
        #expect(output.toBroker == [packets[0], packets[2]])
        #expect(output.toClient.map(\.bytes) == [[0x40, 2, 0, 2], [0x40, 2, 0, 4]])
    }

    @Test func twoMessagesAreExchanged() {
        var machine = LieStateMachine(.reorders)
        let (one, two) = (self.publish("a", id: 1), self.publish("a", id: 2))
        #expect(machine.fromClient([one]).toBroker == [one])
        #expect(machine.fromClient([MQTTPacket(first: 0xC0, body: []), one, two]).toBroker.suffix(2) == [two, one])
    }

    @Test(arguments: [4, 5] as [UInt8]) func theGroupOfASharedSubscriptionIsRemoved(version: UInt8) {
        var machine = LieStateMachine(.ignoresShare)
        _ = machine.fromClient([self.connect(version)])
        let output = machine.fromClient([
            self.subscribe("$share/group/a/b", version: version), self.subscribe("a/b", version: version),
        ])
        #expect(output.toBroker == [MQTTPacket](repeating: self.subscribe("a/b", version: version), count: 2))
        let broken = MQTTPacket(first: 0x82, body: [0, 9, 0, 200, 1])
        #expect(machine.fromClient([broken]).toBroker == [broken])
    }

    @Test(arguments: [4, 5] as [UInt8]) func anEmptyRetainedMessageIsAcknowledgedAndDropped(version: UInt8) {
        var machine = LieStateMachine(.neverClears)
        _ = machine.fromClient([self.connect(version)])
        let properties: [UInt8] = version == 5 ? [2, 1, 0] : []
        let empty = [0x33, 0x32].map { MQTTPacket(first: $0, body: [0, 1, 97, 0, 8] + properties) }
        let full = MQTTPacket(first: 0x33, body: empty[0].body + [7])
        let output = machine.fromClient([empty[0], full, empty[1]])
        #expect(output.toBroker == [full, empty[1]])
        #expect(output.toClient.map(\.bytes) == [[0x40, 2, 0, 8]])
    }

    @Test func aRetainedMessageIsLostAndAcknowledged() {
        var machine = LieStateMachine(.losesRetained(every: 2))
        let packets = (1...3).map { self.publish("a", id: $0, isRetained: true) } + [self.publish("a", id: 9)]
        let output = machine.fromBroker(packets)
        #expect(output.toClient == [packets[0], packets[2], packets[3]])
        #expect(output.toBroker.map(\.bytes) == [[0x40, 2, 0, 2]])
        #expect(machine.fromClient(packets).toBroker == packets)
    }
}
