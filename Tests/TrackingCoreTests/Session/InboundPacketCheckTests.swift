import Testing
import TrackingCore

/// Every packet of a broker is either valid MQTT or ends the connection.
@Suite struct InboundPacketCheckTests {
    typealias Version = ConnectionStateMachine.Version

    /// A packet with its name.
    struct Packet: CustomTestStringConvertible, Sendable {
        let name: String
        let version: Version
        let bytes: [UInt8]
        var testDescription: String { "\(self.name) (\(self.version.rawValue))" }

        init(_ name: String, _ version: Version, _ bytes: [UInt8]) {
            (self.name, self.version, self.bytes) = (name, version, bytes)
        }
    }

    private static func connack(_ version: Version) -> [UInt8] {
        version == .v5 ? [0x20, 3, 0, 0, 0] : [0x20, 2, 0, 0]
    }

    /// A message: header, topic, packet identifier, properties, payload.
    private static func publish(
        _ first: UInt8 = 0x32, topic: [UInt8] = Array("van".utf8), _ properties: [UInt8] = [0], payload: Int = 2
    ) -> [UInt8] {
        let identifier: [UInt8] = first & 0x06 == 0 ? [] : [0, 7]
        let head = [UInt8(topic.count >> 8), UInt8(topic.count & 0xFF)] + topic + identifier + properties
        let length = head.count + payload
        let size = length < 128 ? [UInt8(length)] : [UInt8(length % 128) | 0x80, UInt8(length / 128)]
        return [first] + size + head + Array(repeating: UInt8(ascii: "x"), count: payload)
    }

    private static let properties: [UInt8] =
        [0x01, 1] + [0x02, 0, 0, 0, 9] + [0x03, 0, 1, 97] + [0x08, 0, 1, 98] + [0x09, 0, 2, 0, 255] + [0x0B, 5]
        + [0x26, 0, 1, 97, 0, 1, 98] + [0x26, 0, 0, 0, 0]

    static let valid: [Packet] = [
        Packet("PUBLISH at QoS 0", .v311, publish(0x30, [])),
        Packet("PUBLISH retained, at QoS 1, a duplicate", .v311, publish(0x3B, [])),
        Packet("PUBLISH without a payload", .v5, publish(payload: 0)),
        Packet("PUBLISH with a long payload", .v5, publish(payload: 9_000)),
        Packet("PUBLISH with all properties", .v5, publish(0x32, [UInt8(properties.count)] + properties)),
        Packet("PUBLISH with a topic in UTF-8", .v5, publish(topic: Array("Köln/🚚".utf8))),
        Packet("PUBACK", .v311, [0x40, 2, 0, 1]),
        Packet("PUBACK", .v5, [0x40, 2, 1, 0]),
        Packet("PUBACK with a code", .v5, [0x40, 3, 0, 1, 0x10]),
        Packet("PUBACK with a reason", .v5, [0x40, 8, 0, 1, 0x87, 4, 0x1F, 0, 1, 97]),
        Packet("SUBACK", .v311, [0x90, 5, 0, 1, 0, 1, 0x80]),
        Packet("SUBACK", .v5, [0x90, 6, 0, 1, 0, 0, 1, 0x87]),
        Packet("UNSUBACK", .v311, [0xB0, 2, 0, 1]),
        Packet("UNSUBACK", .v5, [0xB0, 5, 0, 1, 0, 0, 0x11]),
        Packet("PINGRESP", .v311, [0xD0, 0]),
        Packet("DISCONNECT", .v5, [0xE0, 0]),
        Packet("DISCONNECT with a code", .v5, [0xE0, 1, 0x8E]),
        Packet("DISCONNECT with a reference", .v5, [0xE0, 6, 0x9C, 4, 0x1C, 0, 1, 97]),
    ]

    static let malformed: [Packet] = [
        Packet("type 0", .v311, [0x00, 0]),
        Packet("CONNECT", .v5, [0x10, 0]),
        Packet("a second CONNACK", .v5, [0x20, 3, 0, 0, 0]),
        Packet("PUBLISH at QoS 2", .v5, publish(0x34)),
        Packet("PUBLISH at QoS 3", .v311, publish(0x36, [])),
        Packet("PUBLISH at QoS 0 as a duplicate", .v311, publish(0x38, [])),
        Packet("PUBLISH without a topic", .v5, publish(topic: [])),
        Packet("PUBLISH with a wildcard", .v5, publish(topic: Array("a/#".utf8))),
        Packet("PUBLISH with NUL in its topic", .v311, publish(0x30, topic: [97, 0], [])),
        Packet("PUBLISH with invalid UTF-8", .v311, publish(0x30, topic: [0xC3, 0x28], [])),
        Packet("PUBLISH with packet identifier 0", .v311, [0x32, 5, 0, 1, 97, 0, 0]),
        Packet("PUBLISH whose topic is longer than it", .v311, [0x30, 4, 0, 9, 97, 97]),
        Packet("PUBLISH that ends in its identifier", .v311, [0x32, 4, 0, 1, 97, 0]),
        Packet("PUBLISH with an unknown property", .v5, publish(0x32, [2, 0x7B, 0])),
        Packet("PUBLISH with property 0", .v5, publish(0x32, [2, 0x00, 0])),
        Packet("PUBLISH with a property of CONNACK", .v5, publish(0x32, [3, 0x21, 0, 9])),
        Packet("PUBLISH with a topic alias", .v5, publish(0x32, [3, 0x23, 0, 1])),
        Packet("PUBLISH with a property twice", .v5, publish(0x32, [4, 0x01, 0, 0x01, 0])),
        Packet("PUBLISH with a cut property", .v5, publish(0x32, [2, 0x02, 0])),
        Packet("PUBLISH with more properties than bytes", .v5, publish(0x32, [100])),
        Packet("PUBACK with flags", .v5, [0x42, 2, 0, 1]),
        Packet("PUBACK with packet identifier 0", .v5, [0x40, 2, 0, 0]),
        Packet("PUBACK that is too short", .v311, [0x40, 1, 0]),
        Packet("PUBACK that is too long", .v311, [0x40, 3, 0, 1, 0]),
        Packet("PUBACK with an unknown code", .v5, [0x40, 3, 0, 1, 0x7B]),
        Packet("PUBACK with an unknown property", .v5, [0x40, 6, 0, 1, 0, 2, 0x7B, 0]),
        Packet("PUBREC", .v311, [0x50, 2, 0, 1]),
        Packet("PUBREL", .v311, [0x62, 2, 0, 1]),
        Packet("PUBCOMP", .v311, [0x70, 2, 0, 1]),
        Packet("SUBSCRIBE", .v311, [0x82, 2, 0, 1]),
        Packet("SUBACK without codes", .v311, [0x90, 2, 0, 1]),
        Packet("SUBACK without codes", .v5, [0x90, 3, 0, 1, 0]),
        Packet("SUBACK with an unknown code", .v311, [0x90, 3, 0, 1, 3]),
        Packet("UNSUBACK with codes", .v311, [0xB0, 3, 0, 1, 0]),
        Packet("UNSUBACK without codes", .v5, [0xB0, 3, 0, 1, 0]),
        Packet("PINGREQ", .v311, [0xC0, 0]),
        Packet("PINGRESP with a content", .v311, [0xD0, 1, 0]),
        Packet("DISCONNECT", .v311, [0xE0, 0]),
        Packet("DISCONNECT with an unknown code", .v5, [0xE0, 1, 0x05]),
        Packet("AUTH", .v5, [0xF0, 2, 0x18, 0]),
        Packet("a remaining length of five bytes", .v311, [0x30, 0x80, 0x80, 0x80, 0x80, 0x01]),
        Packet("a remaining length longer than needed", .v311, [0xD0, 0x80, 0x00]),
        Packet("a packet above the limit", .v5, [0x30, 0xFF, 0xFF, 0x7F]),
    ]

    private static func check(_ version: Version) -> InboundPacketCheck {
        InboundPacketCheck(version: version, maximumPacketSize: 300_000)
    }

    /// Checks a stream in portions.
    ///
    /// - Returns: The first fault.
    private static func fault(
        in bytes: [UInt8], portion: Int, _ check: inout InboundPacketCheck
    ) -> InboundPacketCheck.Fault? {
        for start in stride(from: 0, to: bytes.count, by: portion) {
            let verdict = bytes[start..<min(start + portion, bytes.count)].withUnsafeBytes { check.check($0) }
            if let fault = verdict.fault { return fault }
        }
        return nil
    }

    @Test(arguments: valid, [1, 3, 65_536]) func aValidPacketPasses(_ packet: Packet, portion: Int) {
        var check = Self.check(packet.version)
        let stream = Self.connack(packet.version) + packet.bytes
        #expect(Self.fault(in: stream, portion: portion, &check) == nil)
        #expect(!check.isIncomplete)
        #expect(Self.fault(in: packet.bytes, portion: portion, &check) == nil, "a second one")
    }

    @Test(arguments: malformed, [1, 3, 65_536]) func aMalformedPacketIsAFault(_ packet: Packet, portion: Int) {
        var check = Self.check(packet.version)
        let before = Self.connack(packet.version)
        #expect(Self.fault(in: before + packet.bytes, portion: portion, &check) != nil)
        // A fault is final.
        #expect(Self.fault(in: [0xD0, 0], portion: portion, &check) != nil)
    }

    @Test func packetsBeforeAFaultAreValid() {
        var check = Self.check(.v311)
        let verdict = ([0x20, 2, 0, 0, 0xD0, 0, 0x40, 2, 0, 1] + [0x00] as [UInt8]).withUnsafeBytes { check.check($0) }
        #expect(verdict.safeCount == 10)
        #expect(verdict.fault != nil)
    }

    @Test func theFirstPacketIsACONNACK() {
        for version in [Version.v311, .v5] {
            var check = Self.check(version)
            #expect(Self.fault(in: [0xD0, 0], portion: 2, &check) != nil)
        }
    }

    @Test(arguments: [
        Packet("accepted", .v5, [0x20, 3, 0, 0, 0]), Packet("accepted", .v311, [0x20, 2, 1, 0]),
        Packet("refused in the form of MQTT 3.1.1", .v5, [0x20, 2, 0, 1]),
        Packet("refused", .v5, [0x20, 3, 0, 0x86, 0]),
        Packet(
            "with properties", .v5,
            [0x20, 23, 1, 0, 20, 0x21, 0, 20, 0x24, 1, 0x25, 1, 0x27, 0, 4, 0, 0, 0x22, 0, 10, 0x13, 0, 30, 0x2A, 1]),
    ]) func aCONNACKPasses(_ packet: Packet) {
        var check = Self.check(packet.version)
        #expect(Self.fault(in: packet.bytes, portion: 1, &check) == nil)
    }

    @Test(arguments: [
        Packet("unknown flags", .v5, [0x20, 3, 2, 0, 0]), Packet("a session and a refusal", .v311, [0x20, 2, 1, 5]),
        Packet("too long", .v311, [0x20, 3, 0, 0, 0]), Packet("an unknown property", .v5, [0x20, 5, 0, 0, 2, 0x7B, 0]),
        Packet("a receive maximum of 0", .v5, [0x20, 6, 0, 0, 3, 0x21, 0, 0]),
    ]) func aMalformedCONNACKIsAFault(_ packet: Packet) {
        var check = Self.check(packet.version)
        #expect(Self.fault(in: packet.bytes, portion: 1, &check) != nil)
    }

    @Test func aCutPacketIsIncomplete() {
        for packet in Self.valid where packet.bytes.count < 1_000 {
            for count in 1..<packet.bytes.count {
                var check = Self.check(packet.version)
                let stream = Self.connack(packet.version) + packet.bytes.prefix(count)
                #expect(Self.fault(in: stream, portion: 65_536, &check) == nil)
                #expect(check.isIncomplete, "\(packet.testDescription) after \(count) bytes")
            }
        }
    }

    /// The rest of a large topic is not awaited once its start shows that the stream is out of step.
    @Test func anInvalidCharacterIsFoundBeforeTheEndOfATopic() {
        var check = Self.check(.v311)
        let stream: [UInt8] = [0x20, 2, 0, 0, 0x30, 0xFF, 0x7F, 0x20, 0x20, 97, 0]
        #expect(Self.fault(in: stream, portion: 65_536, &check)?.reason == "the topic has an invalid character")
    }

    /// After a loss of bytes, a stream of messages contains a fault or ends with an incomplete packet.
    @Test func aDamagedStreamIsNoticed() {
        var random = SplitMix64(seed: 1)
        let message = Self.publish(payload: 200)
        let stream = Self.connack(.v5) + (0..<40).flatMap { _ in message }
        for _ in 0..<2_000 {
            let count = Int.random(in: 1...73, using: &random)
            let start = Int.random(in: 5..<stream.count - 2 * message.count, using: &random)
            var check = Self.check(.v5)
            let damaged = Array(stream[..<start] + stream[(start + count)...])
            let fault = Self.fault(in: damaged, portion: Int.random(in: 1...500, using: &random), &check)
            #expect(fault != nil || check.isIncomplete, "\(count) bytes at \(start)")
        }
    }
}
