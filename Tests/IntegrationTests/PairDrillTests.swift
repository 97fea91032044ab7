import Foundation
import TestSupport
import Testing
import TrackingTesting

/// Two bridged Mosquittos with the files of `broker/pair`, and real programs on them.
///
/// `GODWIT_DRILL_ROUNDS`: how often each broker is killed; it also checks the lengths of the pauses, on a machine that
/// does nothing else. `GODWIT_DRILL_CUT`: the seconds for which the bridge is cut.
@Suite(.serialized, .timeLimit(.minutes(30))) struct PairDrillTests {
    private static let cut = Int(ProcessInfo.processInfo.environment["GODWIT_DRILL_CUT"] ?? "")

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

    /// The members of one broker do not receive those of the other one until the bridge is back.
    @Test(.enabled(if: PairDrillTests.cut != nil, "a drill: GODWIT_DRILL_CUT"))
    func brokersThatAreSplitLoseNothing() async throws {
        let scene = try await EngineScene.pair()
        let bridge = try scene.bridgeThroughAProxy()
        try await scene.kill("a")
        try await scene.start()
        let recorder = try await scene.recorder(at: [0])
        let watcher = try scene.watcher(at: [0])
        let near = try scene.watcher(at: [1])
        let agents = try scene.trackables.enumerated().map { index, trackable in
            try scene.agent(trackable, speed: "20", at: [index])
        }
        try await scene.waitForProgress(of: agents, watcher, near)
        bridge.mode = .refuse
        bridge.cut()
        try await Task.sleep(for: .seconds(Self.cut ?? 1))
        let far = scene.trackables[1]
        let missed = EngineScene.positions(of: far, in: watcher).count
        #expect(EngineScene.positions(of: far, in: near).count > missed)
        bridge.mode = .pass
        let joined = ContinuousClock.now
        try await waitUntil { EngineScene.positions(of: far, in: watcher).count > missed }
        #expect(ContinuousClock.now - joined <= .seconds(5))
        try await scene.expectStoredOnce(agents)
        for program in [watcher, near, recorder] { #expect(try await program.end().code == 0, "\(program.errors)") }
    }
}

extension EngineScene {
    /// Lets the bridge of the pair connect through a proxy, from the next start on.
    fileprivate func bridgeThroughAProxy() throws -> FaultProxy {
        let path = self.brokerFile("a/mosquitto.conf")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let port = try #require(text.firstMatch(of: #/address localhost:(\d+)/#).flatMap { Int($0.1) })
        let proxy = try FaultProxy(to: port)
        try text.replacing("address localhost:\(port)", with: "address localhost:\(proxy.port)").write(
            toFile: path, atomically: false, encoding: .utf8)
        return proxy
    }
}
