import Foundation
import Glibc
import TestSupport
import Testing

/// A cluster of three nodes with a recorder, a watcher and agents, each at another node first, and the faults of a drill.
struct ClusterPlay {
    private let scene: EngineScene
    private let recorder, watcher: RunningProgram
    private let agents: [RunningProgram]

    init(_ scene: EngineScene) async throws {
        self.scene = scene
        self.recorder = try await scene.recorder(at: [0, 1, 2])
        self.watcher = try scene.watcher(at: [1, 2, 0])
        self.agents = try scene.trackables.enumerated().map { index, trackable in
            try scene.agent(trackable, speed: scene.speed, at: [index % 3, (index + 2) % 3, (index + 1) % 3])
        }
        try await self.progress()
    }

    /// The longest time in which the watcher received no position of a trackable, in seconds.
    var longestPause: Double { self.scene.longestPause(of: self.watcher) }

    /// Kills each node in turn, as often as the environment says, and starts it again.
    func killInTurn() async throws {
        for node in (0..<(EngineScene.rounds ?? 1)).flatMap({ _ in self.scene.nodes }) {
            try await self.scene.waitForLastingConnections()
            try await self.scene.kill(node)
            try await self.progress()
            try await self.scene.start()
            try await self.progress()
        }
    }

    /// Stops a node for 30 s, without an end of its connections.
    func freeze(_ node: String) async throws {
        try self.scene.signal(node, SIGSTOP)
        try await Task.sleep(for: .seconds(30))  // the length of the fault
        try self.scene.signal(node, SIGCONT)
        try await self.progress()
    }

    /// Kills two of the three nodes, and starts them after 10 s.
    func loseTheMajority() async throws {
        for node in ["n1", "n2"] { try await self.scene.kill(node) }
        try await Task.sleep(for: .seconds(10))  // the length of the fault
        try await self.scene.start()
    }

    /// Ends the programs, and checks that the history has each recorded point once.
    func expectStoredOnce() async throws {
        try await self.progress()
        try await self.scene.expectStoredOnce(self.agents)
        for program in [self.watcher, self.recorder] {
            #expect(try await program.end().code == 0, "\(program.errors)")
        }
    }

    private func progress() async throws { try await self.scene.waitForProgress(of: self.agents, self.watcher) }
}
