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

    /// Kills each node in turn, as often as the environment says, and starts it again.
    ///
    /// - Returns: The longest pause of the watcher in seconds.
    func killInTurn() async throws -> Double {
        var longest = 0.0
        for node in (0..<(EngineScene.rounds ?? 1)).flatMap({ _ in self.scene.nodes }) {
            try await self.scene.waitForLastingConnections()
            longest = max(longest, try await self.pause("kill -9 of \(node)") { try await self.scene.kill(node) })
            longest = max(longest, try await self.pause("\(node) runs again") { try await self.scene.start() })
        }
        return longest
    }

    /// Stops a node for 30 s, without an end of its connections.
    ///
    /// - Returns: The longest pause of the watcher in seconds.
    func freeze(_ node: String) async throws -> Double {
        try await self.scene.waitForLastingConnections()
        return try await self.pause("\(node) frozen for 30 s") {
            try self.scene.signal(node, SIGSTOP)
            try await Task.sleep(for: .seconds(30))  // the length of the fault
            try self.scene.signal(node, SIGCONT)
        }
    }

    /// Kills two of the three nodes, and starts them after 10 s.
    ///
    /// - Returns: The longest pause of the watcher in seconds.
    func loseTheMajority() async throws -> Double {
        try await self.scene.waitForLastingConnections()
        return try await self.pause("n1 and n2 killed for 10 s") {
            for node in ["n1", "n2"] { try await self.scene.kill(node) }
            try await Task.sleep(for: .seconds(10))  // the length of the fault
            try await self.scene.start()
        }
    }

    /// Plays a fault, waits until everything works again, and prints the longest pause of the watcher.
    private func pause(_ fault: String, _ play: () async throws -> Void) async throws -> Double {
        let start = Date().timeIntervalSince1970
        try await play()
        try await self.progress()
        let pause = self.scene.longestPause(of: self.watcher, since: start)
        print("\(fault): the watcher's longest pause is \((pause * 10).rounded() / 10) s")
        return pause
    }

    /// Ends the programs, and checks that the history has each recorded point once, and at least `count` points.
    func expectStoredOnce(atLeast count: Int = 0) async throws {
        try await self.progress()
        let stored = try await self.scene.expectStoredOnce(self.agents)
        print("\(stored) points are stored")
        #expect(stored >= count)
        for program in [self.watcher, self.recorder] {
            #expect(try await program.end().code == 0, "\(program.errors)")
        }
    }

    private func progress() async throws { try await self.scene.waitForProgress(of: self.agents, self.watcher) }
}
