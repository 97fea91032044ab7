import Foundation
import Synchronization
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingTesting

/// Three NATS servers with the files of `broker/cluster`, and real programs on them, which subscribe at QoS 0: at QoS 1, NATS
/// delivers some messages only tens of seconds after a change of nodes. A drill, on a machine that does nothing else.
///
/// `GODWIT_DRILL_ROUNDS`: how often each node is killed.
@Suite(
    .serialized, .enabled(if: EngineScene.hasNATS && EngineScene.rounds != nil, "a drill: GODWIT_DRILL_ROUNDS, NATS"),
    .timeLimit(.minutes(30)))
struct NATSDrillTests {
    @Test func nodesThatAreKilledInTurnLoseNothing() async throws {
        let play = try await ClusterPlay(.nats())
        #expect(try await play.killInTurn() <= 15)
        try await play.expectStoredOnce()
    }

    @Test func aFrozenNodeAndTheLossOfTheMajorityLoseNothing() async throws {
        let play = try await ClusterPlay(.nats())
        #expect(try await play.freeze("n1") <= 20)
        // The goal of 15 s is missed: 18.2 and 21.1 s were measured.
        #expect(try await play.loseTheMajority() <= 60)
        try await play.expectStoredOnce()
    }

    /// The rules of a transport that NATS does not follow. A rule that it follows after all fails the test.
    private static let lacking: Set<TransportRule> = [.aSharedSubscriptionDivides]

    /// The clients are at different nodes.
    @Test(arguments: TransportRule.allCases) func theTransportFollowsItsRules(rule: TransportRule) async throws {
        let scene = try await EngineScene.nats()
        try await scene.addUserWithAllRights("all", without: "forbidden")
        let ways = Mutex<[ClientID: FaultProxy]>([:])
        let stage = TransportStage<MQTTTransport>(
            forbiddenTopic: "forbidden", isMQTT5: false,
            makeClient: { id, will in
                let way = try ways.withLock { ways in
                    let way = try ways[id] ?? FaultProxy(to: scene.ports[ways.count % scene.ports.count])
                    ways[id] = way
                    return way
                }
                var configuration = MQTTConfiguration(
                    endpoints: [MQTTEndpoint(host: "localhost", port: way.port, isTLS: true)], client: id)
                configuration.tls.authorities = scene.brokerFile("certs/ca.crt")
                configuration.credentials = MQTTCredentials(user: "all", password: "a-test-password")
                configuration.firstWait = .milliseconds(20)
                configuration.will = will
                return try MQTTTransport(configuration: configuration)
            }, cut: { id in ways.withLock { $0[id] }?.cut() })
        var failure: (any Error)?
        do { try await rule.check(on: stage, within: .seconds(40)) } catch { failure = error }
        #expect(
            (failure != nil) == Self.lacking.contains(rule),
            "\(failure.map { "\($0)" } ?? "\(rule) is not lacking")")
        withExtendedLifetime(scene) {}
    }
}

extension EngineScene {
    /// Adds a user that may write and read every topic but one.
    fileprivate func addUserWithAllRights(_ user: String, without topic: String) async throws {
        try await self.run(["add-watcher --dir '\(self.brokerFile(""))' \(user) none"])
        let rules = self.brokerFile("acl.conf")
        let text = try String(contentsOfFile: rules, encoding: .utf8)
        try text.replacing("user \(user)\n", with: "user \(user)\ntopic readwrite #\ntopic deny \(topic)\n").write(
            toFile: rules, atomically: false, encoding: .utf8)
        try await self.start()
    }
}
