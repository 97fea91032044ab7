import Logging
import Synchronization
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingTesting

/// A malformed packet is a lost connection with a reason; the client connects again.
@Suite(.timeLimit(.minutes(5))) struct MalformedPacketTests {
    /// libmosquitto 2.0.11 ends the process on a property that it does not know.
    static let unknownProperty: [UInt8] = [0x32, 8, 0, 1, 97, 0, 7, 2, 0x7B, 0]

    static let packets: [[UInt8]] = [
        unknownProperty, [0x40, 6, 0, 1, 0, 2, 0x7B, 0], [0x90, 6, 0, 1, 2, 0x7B, 0, 0], [0x00, 0], [0x42, 2, 0, 1],
        [0x34, 6, 0, 1, 97, 0, 7, 0], [0x90, 3, 0, 1, 0], [0xE0, 4, 0, 2, 0x7B, 0], [0xF0, 2, 0x18, 0],
        [0xB0, 6, 0, 1, 2, 0x7B, 0, 0], [0x30, 0xFF, 0xFF, 0xFF, 0x7F], [0x62, 2, 0, 1], Array("HTTP/1.1 400".utf8),
    ]

    @Test(arguments: packets) func theClientReconnectsAfterAMalformedPacket(_ packet: [UInt8]) async throws {
        let broker = try LyingBroker { connection in connection == 0 ? [.send(packet)] : [] }
        try await TestClient.with(TestClient.configuration("trusting", port: broker.port)) { client in
            let lost = try await client.disconnection { $0.lasted != nil }
            #expect(lost.reason?.code == .connectionLost)
            #expect(lost.reason?.message.hasPrefix("the broker sent a malformed packet: ") == true, "\(lost)")
            try await client.connected(1)
        }
    }

    @Test func messagesBeforeAMalformedPacketAreDelivered() async throws {
        let message: [UInt8] = [0x30, 6, 0, 1, 97, 0, 104, 105]
        let broker = try LyingBroker { _ in [.send(message + message + Self.unknownProperty)] }
        try await TestClient.with(TestClient.configuration("trusting", port: broker.port)) { client in
            #expect(try await client.messages(2).prefix(2).map(\.text) == ["hi", "hi"])
            try await client.disconnection { $0.lasted != nil }
        }
    }

    @Test(arguments: [300, 200_000]) func aMessageMayComeByteByByteAndInManyParts(_ count: Int) async throws {
        let length = 4 + count
        let head = [0x30, UInt8(length % 128) | 0x80, UInt8(length / 128 % 128) | (length >= 16_384 ? 0x80 : 0)]
        let size = head + (length >= 16_384 ? [UInt8(length / 16_384)] : [])
        let message = size + [0, 1, 97, 0] + [UInt8](repeating: 120, count: count)
        let isSmall = count < 1_000
        let broker = try LyingBroker { _ in [isSmall ? .sendByteByByte(message) : .send(message + message)] }
        try await TestClient.with(TestClient.configuration("patient", port: broker.port)) { client in
            let messages = try await client.messages(isSmall ? 1 : 2)
            // A payload above the protocol's limit is cut to one byte more.
            #expect(messages.allSatisfy { $0.payload.count == min(count, 131_073) })
            #expect(!client.log.elements.contains { $0.disconnection != nil })
        }
    }

    @Test func anIncompletePacketEndsTheConnection() async throws {
        let broker = try LyingBroker { connection in connection == 0 ? [.send([0x30, 90, 0, 1, 97, 0, 120])] : [] }
        var configuration = try TestClient.configuration("patient", port: broker.port)
        configuration.answerTimeout = .milliseconds(300)
        try await TestClient.with(configuration) { client in
            let lost = try await client.disconnection { $0.lasted != nil }
            #expect(lost.reason?.message.contains("the rest of a packet did not arrive") == true, "\(lost)")
            try await client.connected(1)
        }
    }

    /// A missing code would count as a grant.
    @Test func aSUBACKWithTooFewCodesEndsTheConnection() async throws {
        let broker = try LyingBroker { connection in
            connection == 0 ? [.receive, .send([0x90, 4, 0, 1, 0, 0])] : []
        }
        try await TestClient.with(TestClient.configuration("asking", port: broker.port)) { client in
            try await client.connected(0)
            client.transport.send([.subscribe(["a", "b"], 1)])
            let lost = try await client.disconnection { $0.lasted != nil }
            #expect(lost.reason?.message.contains("SUBACK has 1 codes for 2 filters") == true, "\(lost)")
        }
    }

    @Test func aDamagedCONNACKDoesNotCostMQTT5() async throws {
        let broker = try FakeBroker { _, index in
            .send(index == 0 ? [0x20, 5, 0, 0, 2, 0x7B, 0] : FakeBroker.accepts5)
        }
        try await TestClient.with(TestClient.configuration("new", port: broker.port)) { client in
            try await client.connected(0)
            #expect(Set(broker.levels) == [5])
        }
    }

    @Test func aMalformedPacketIsLoggedOnceWithItsReason() async throws {
        let log = LineLog()
        let broker = try LyingBroker { connection in connection == 0 ? [.send(Self.unknownProperty)] : [] }
        var configuration = try TestClient.configuration("trusting", port: broker.port)
        configuration.logger = Logger(label: "test") { _ in log }
        try await TestClient.with(configuration) { client in
            try await client.connected(1)
            let lines = log.lines.filter { $0.hasPrefix("warning Broker sent a malformed packet") }
            #expect(lines.count == 1)
            #expect(lines.first?.contains("PUBLISH has property 123") == true, "\(lines)")
        }
    }
}

/// A log handler that stores lines of level, message and metadata.
private final class LineLog: LogHandler {
    private let stored = Mutex<[String]>([])
    var lines: [String] { self.stored.withLock { $0 } }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }

    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        self.stored.withLock { $0.append("\(event.level) \(event.message) \(event.metadata ?? [:])") }
    }
}
