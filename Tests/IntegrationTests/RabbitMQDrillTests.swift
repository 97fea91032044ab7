import TestSupport
import Testing

/// Three nodes of RabbitMQ with the files of `broker/cluster`, and real programs on them, which subscribe at QoS 0: twelve
/// agents, a recorder and a watcher. A drill, on a machine that does nothing else. There is no short form: the first
/// start of the nodes takes 35 s, and a kill of each of them two minutes.
///
/// `GODWIT_DRILL_ROUNDS`: how often each node is killed.
@Suite(
    .serialized,
    .enabled(if: RabbitMQServer.isInstalled && EngineScene.rounds != nil, "a drill: GODWIT_DRILL_ROUNDS, RabbitMQ"),
    .timeLimit(.minutes(60)))
struct RabbitMQDrillTests {
    @Test func nodesThatAreKilledInTurnLoseNothing() async throws {
        let play = try await ClusterPlay(.rabbitMQ())
        #expect(try await play.killInTurn() <= 3)
        try await play.expectStoredOnce(atLeast: 10_000)
    }

    @Test func aFrozenNodeAndTheLossOfTheMajorityLoseNothing() async throws {
        let play = try await ClusterPlay(.rabbitMQ())
        #expect(try await play.freeze("n1") <= 20)
        // No goal of the project. Without the help of `cluster/rabbitmq`, the plugin for MQTT waits for minutes.
        #expect(try await play.loseTheMajority() <= 60)
        try await play.expectStoredOnce(atLeast: 10_000)
    }
}
