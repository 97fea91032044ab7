import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingTesting

/// A message that is not acknowledged comes again.
@Suite(.timeLimit(.minutes(5))) struct WithholdingTests {
    private static func configuration(_ broker: MosquittoProcess, window: Int = 50) throws -> MQTTConfiguration {
        var configuration = try TestClient.configuration("keeper-intake", port: broker.port)
        configuration.session = .kept(for: .seconds(600))
        configuration.receiveMaximum = window
        configuration.withholdsAcknowledgements = true
        return configuration
    }

    private static func broker() async throws -> MosquittoProcess {
        try await MosquittoProcess.start(extra: ["max_inflight_messages 500"])
    }

    @Test func theBrokerStopsAtItsWindowUntilMessagesAreAcknowledged() async throws {
        let broker = try await Self.broker()
        try await TestClient.with(Self.configuration(broker)) { keeper in
            try await keeper.connected()
            try await keeper.subscribe(["points"])
            try await TestClient.with("box", broker) { box in
                try await box.connected()
                _ = try await box.publish((0..<200).map { OutgoingMessage("points", "\($0)") })
            }
            _ = try await keeper.messages(50)
            try await Task.sleep(for: .milliseconds(200))
            #expect(keeper.messages.count == 50, "no more than the window comes")
            // From the first answer on, Mosquitto 2.0.11 does not keep to the window while messages are queued.
            keeper.transport.send([.acknowledge(through: 50, connection: 0)])
            _ = try await keeper.messages(200)
            #expect(keeper.messages.map(\.text) == (0..<200).map(String.init))
        }
    }

    @Test func unacknowledgedMessagesComeAgainAfterALostConnection() async throws {
        let broker = try await Self.broker()
        let proxy = try FaultProxy(to: broker.port)
        var configuration = try Self.configuration(broker, window: 500)
        configuration.endpoints = [MQTTEndpoint(host: "127.0.0.1", port: proxy.port)]
        try await TestClient.with(configuration) { keeper in
            try await keeper.connected()
            try await keeper.subscribe(["points"])
            try await TestClient.with("box", broker) { box in
                try await box.connected()
                _ = try await box.publish((0..<60).map { OutgoingMessage("points", "\($0)") })
                _ = try await keeper.messages(60)
                keeper.transport.send([.acknowledge(through: 60, connection: 0)])
                _ = try await box.publish((60..<100).map { OutgoingMessage("points", "\($0)") }, from: 1000)
            }
            _ = try await keeper.messages(100)
            proxy.cut()
            try await keeper.connected(1)
            let all = try await keeper.messages(140)
            #expect(all.suffix(40).map(\.text) == (60..<100).map(String.init))
            #expect(keeper.log.elements.contains(.connected(connection: 1, sessionPresent: true)))
            // An acknowledgement for a lost connection does not count for the current one.
            keeper.transport.send([.acknowledge(through: 40, connection: 0)])
            proxy.cut()
            try await keeper.connected(2)
            #expect(try await keeper.messages(180).suffix(40).map(\.text) == (60..<100).map(String.init))
            keeper.transport.send([.acknowledge(through: 40, connection: 2)])
            try await keeper.subscribe(["other"], token: 7)  // answered, so written: and all before it
            proxy.cut()
            try await keeper.connected(3)
            try await keeper.subscribe(["other"], token: 8)
            #expect(keeper.messages.count == 180)
        }
    }

    @Test func readingWaitsUntilAllReceivedMessagesAreAcknowledged() async throws {
        let broker = try await Self.broker()
        try await TestClient.with(Self.configuration(broker, window: 500)) { keeper in
            try await keeper.connected()
            try await keeper.subscribe(["points"])
            try await TestClient.with("box", broker) { box in
                try await box.connected()
                _ = try await box.publish((0..<10).map { OutgoingMessage("points", "\($0)") })
                _ = try await keeper.messages(10)
                keeper.transport.send([.acknowledge(through: 4, connection: 0)])
                try await Task.sleep(for: .milliseconds(100))
                _ = try await box.publish((10..<20).map { OutgoingMessage("points", "\($0)") }, from: 100)
                try await Task.sleep(for: .milliseconds(200))
                #expect(keeper.messages.count == 10, "nothing is read on until all that was read is safe")
                keeper.transport.send([.acknowledge(through: 10, connection: 0)])
                #expect(try await keeper.messages(20).count == 20)
            }
        }
    }

    @Test func aLongHoldIsCutAndEverythingComesAgain() async throws {
        let broker = try await Self.broker()
        var configuration = try Self.configuration(broker)
        configuration.keepAlive = .seconds(16)
        try await TestClient.with(configuration) { keeper in
            try await keeper.connected()
            try await keeper.subscribe(["points"])
            try await TestClient.with("box", broker) { box in
                try await box.connected()
                _ = try await box.publish([OutgoingMessage("points", "1")])
            }
            let lost = try await keeper.disconnection()
            #expect(lost.reason?.code == .connectionLost)
            try await keeper.connected(1)
            #expect(try await keeper.messages(2).map(\.text) == ["1", "1"])
            keeper.transport.send([.acknowledge(through: 1, connection: 1)])
            // The connection remains, and pings are sent.
            try await broker.waitForLog("Received PINGREQ from keeper-intake")
            #expect(keeper.log.elements.filter { $0.disconnection != nil }.count == 1)
        }
    }
}
