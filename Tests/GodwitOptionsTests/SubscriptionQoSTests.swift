import ArgumentParser
import GodwitOptions
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// `--subscription-qos`, as it appears in the SUBSCRIBE packets at the broker.
@Suite(.timeLimit(.minutes(5))) struct SubscriptionQoSTests {
    @Test(arguments: [5, 4] as [UInt8], [[], ["--subscription-qos", "1"], ["--subscription-qos", "0"]])
    func theOptionAppliesToCleanSessions(level: UInt8, arguments: [String]) async throws {
        let broker = try Self.broker(level)
        let options = try BrokerOptions.parse(["--broker", "mqtt://127.0.0.1:\(broker.port)"] + arguments)
        let transport = try options.transport(try ClientID("keeper"), user: nil)
        let requested = try await Self.qualities(of: ["a/+", "b"], by: transport, at: broker)
        #expect(requested == (arguments.last == "0" ? [0, 0] : [1, 1]))
    }

    /// A recorder must receive what was published while it had no connection.
    @Test(arguments: [5, 4] as [UInt8])
    func theIntakeOfARecorderKeepsQoS1(level: UInt8) async throws {
        let broker = try Self.broker(level)
        let options = try BrokerOptions.parse([
            "--broker", "mqtt://127.0.0.1:\(broker.port)", "--subscription-qos", "0",
        ])
        let transport = try options.intake(
            try ClientID("keeper-intake"), receiveMaximum: 500, user: nil, certificate: nil, key: nil)
        #expect(try await Self.qualities(of: ["a/+", "b"], by: transport, at: broker) == [1, 1])
    }

    /// Starts a broker that speaks one version of MQTT: level 5, or level 4 (MQTT 3.1.1).
    private static func broker(_ level: UInt8) throws -> FakeBroker {
        try FakeBroker { requested, _ in
            guard requested == level else { return .sendAndClose(FakeBroker.refuses5(0x84)) }
            return .sendAndRead(level == 5 ? FakeBroker.accepts5 : FakeBroker.accepts311)
        }
    }

    /// Subscribes to filters, and returns the quality of service of each in the SUBSCRIBE packet that the broker
    /// received.
    private static func qualities(
        of filters: [String], by transport: MQTTTransport, at broker: FakeBroker
    ) async throws -> [UInt8] {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await transport.run() }
            group.addTask {
                for await events in transport.events {
                    for case .connected in events { transport.send([.subscribe(filters, 1)]) }
                }
            }
            defer { group.cancelAll() }
            let packets = try await broker.packets.wait("a SUBSCRIBE packet") { $0.first == 0x82 }
            let packet = try #require(packets.first { $0.first == 0x82 })
            return try filters.map { filter in
                let bytes = Array(filter.utf8)
                let place = try #require(packet.firstRange(of: [0, UInt8(bytes.count)] + bytes))
                return packet[place.upperBound] & 0b11
            }
        }
    }
}
