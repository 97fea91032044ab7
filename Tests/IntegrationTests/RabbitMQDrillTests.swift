import TestSupport
import Testing

/// Three nodes of RabbitMQ with the files of `broker/cluster`, and real programs on them. A drill: the first start of the
/// nodes takes 35 s, and RabbitMQ 3.10.8 leaves messages without an answer after a client has subscribed anew, so no
/// bound of the pauses is checked.
///
/// `GODWIT_DRILL_ROUNDS`: how often each node is killed.
@Suite(
    .serialized,
    .enabled(if: RabbitMQServer.isInstalled && EngineScene.rounds != nil, "a drill: GODWIT_DRILL_ROUNDS, RabbitMQ"),
    .timeLimit(.minutes(60)))
struct RabbitMQDrillTests {
    @Test func nodesThatAreKilledInTurnLoseNothing() async throws {
        let play = try await ClusterPlay(.rabbitMQ())
        try await play.killInTurn()
        try await play.expectStoredOnce()
    }

    @Test func aFrozenNodeAndTheLossOfTheMajorityLoseNothing() async throws {
        let play = try await ClusterPlay(.rabbitMQ())
        try await play.freeze("n1")
        try await play.loseTheMajority()
        try await play.expectStoredOnce()
    }
}
