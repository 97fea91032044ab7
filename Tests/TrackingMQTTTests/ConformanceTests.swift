import Foundation
import Synchronization
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingTesting

/// The broker in memory and real Mosquitto, in both versions of MQTT, keep to the same rules.
@Suite(.timeLimit(.minutes(5))) struct ConformanceTests {
    @Test(arguments: TransportRule.allCases) func inMemory(rule: TransportRule) async throws {
        let broker = InMemoryBroker()
        let stage = TransportStage<InMemoryBroker.Client>(
            forbiddenTopic: "forbidden",
            makeClient: { id, will in
                broker.refuse(["forbidden"], from: id)
                return broker.client(id, will: will)
            }, cut: { broker.disconnect($0) })
        try await rule.check(on: stage, within: .seconds(60))
    }

    @Test(arguments: TransportRule.allCases, [ConnectionStateMachine.Version.v5, .v311])
    func mosquitto(rule: TransportRule, version: ConnectionStateMachine.Version) async throws {
        let broker = try await MosquittoProcess.start { port, folder in
            let access = folder.appending(path: "acl")
            try "topic readwrite #\ntopic deny forbidden\n".write(to: access, atomically: true, encoding: .utf8)
            return "listener \(port) 127.0.0.1\nallow_anonymous true\nacl_file \(access.path())"
        }
        // Each client has its own proxy to the broker, which can be cut.
        let ways = Mutex<[ClientID: FaultProxy]>([:])
        let stage = TransportStage<MQTTTransport>(
            forbiddenTopic: "forbidden", isMQTT5: version == .v5,
            makeClient: { id, will in
                let way = try ways.withLock { ways in
                    let way = try ways[id] ?? FaultProxy(to: broker.port)
                    ways[id] = way
                    return way
                }
                var configuration = try TestClient.configuration(id.rawValue, port: way.port, version: version)
                configuration.will = will
                return try MQTTTransport(configuration: configuration)
            }, cut: { id in ways.withLock { $0[id] }?.cut() })
        try await rule.check(on: stage, within: .seconds(60))
    }
}
