import Foundation
import TestSupport
import Testing

/// Two bridged Mosquittos with the files of `broker/pair`, and real programs on them.
///
/// `GODWIT_DRILL_ROUNDS`: how often each broker is killed; it also checks the lengths of the pauses, on a machine that
/// does nothing else.
@Suite(.serialized, .timeLimit(.minutes(30))) struct PairDrillTests {
    @Test func brokersThatAreKilledInTurnLoseNothing() async throws {
        let scene = try await EngineScene.pair()
        let recorder = try await scene.recorder(at: [0, 1])
        let watcher = try scene.watcher(at: [1, 0])
        let agents = try scene.trackables.enumerated().map { index, trackable in
            try scene.agent(trackable, speed: "20", at: [index, 1 - index])
        }
        for _ in 0..<(EngineScene.rounds ?? 1) {
            for node in scene.nodes {
                try await scene.waitForProgress(of: agents, watcher)
                try await scene.waitForLastingConnections()
                try await scene.kill(node)
                try await scene.waitForProgress(of: agents, watcher)
                try await scene.start()
            }
        }
        try await scene.waitForProgress(of: agents, watcher)
        if EngineScene.rounds != nil { #expect(scene.longestPause(of: watcher) <= 3) }
        try await scene.expectStoredOnce(agents)
        for program in [watcher, recorder] { #expect(try await program.end().code == 0, "\(program.errors)") }
    }
}
