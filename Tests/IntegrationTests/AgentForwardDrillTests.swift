import Foundation
import TestSupport
import Testing
import TrackingCore

/// `godwit-agent run --forward` with a real gateway as its Overland server: the built programs, real Mosquitto, and the
/// final content of the gateway's history.
///
/// `GODWIT_DRILL_KILLS`: how often the agent is killed; a larger number makes the drill longer.
@Suite(.serialized, .timeLimit(.minutes(30))) struct AgentForwardDrillTests {
    private static let kills = Int(ProcessInfo.processInfo.environment["GODWIT_DRILL_KILLS"] ?? "") ?? 4
    /// The number of fixes in the source of each run.
    private static let fixesPerRun = 200
    private static let start = 1_780_000_000

    /// A gateway with its recorder, and an agent that has no broker.
    private final class Scene: Sendable {
        let stage: GatewayStage
        private let folder: URL
        private let tokenFile: String

        init() async throws {
            self.stage = try await GatewayStage()
            self.folder = self.stage.recording.folder
            self.tokenFile = self.folder.appending(path: "token").path()
        }

        func signIn() async throws {
            try self.useToken(try await self.stage.token("van", ["--publish", "van"]))
        }

        func useToken(_ token: String) throws {
            try "\(token)\n".write(toFile: self.tokenFile, atomically: true, encoding: .utf8)
        }

        /// Starts an agent whose source has one fix for each of these seconds.
        func agent(_ seconds: Range<Int>, _ more: [String] = []) throws -> RunningProgram {
            let lines = seconds.map { second in
                "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[-8.5,\(52 + Double(second % 10_000) * 1e-4)]},"
                    + "\"properties\":{\"time\":\(second)}}"
            }
            let drive = self.folder.appending(path: "drive-\(seconds.lowerBound).jsonl")
            try lines.joined(separator: "\n").write(to: drive, atomically: true, encoding: .utf8)
            return try Programs.start(
                "godwit-agent",
                [
                    "run", "--trackable", "van", "--forward", "overland+http://127.0.0.1:\(self.stage.port)/overland",
                    "--token-file", self.tokenFile, "--battery", "none", "--source", "jsonl:\(drive.path())",
                    "--spool", self.folder.appending(path: "spool.sqlite").path(), "--log-level", "trace",
                    "--sensor-resolution", "HIGH/0/0", "--batch-size", "15", "--batch-window", "0.2",
                ] + more)
        }

        /// Waits until the gateway's history has these times, and checks that it has each of its times once.
        func expectStored(_ times: Set<Int>, of all: Range<Int>) async throws {
            try await waitUntil { try await times.isSubset(of: self.stage.times(of: "van")) }
            let stored = try await self.stage.times(of: "van")
            #expect(stored.count == Set(stored).count, "stored twice")
            #expect(stored.allSatisfy(all.contains))
        }
    }

    @Test func everyRecordedPointIsStoredOnceAlthoughAgentAndServerAreKilled() async throws {
        let scene = try await Scene()
        let recorder = try await scene.stage.recorder()
        var gateway = try await scene.stage.gateway()
        try await scene.signIn()
        var end = Self.start
        var recorded: Set<Int> = []
        for round in 0..<Self.kills {
            let agent = try scene.agent(end..<(end + Self.fixesPerRun), ["--speed", "60"])
            let goal = Int.random(in: 1..<Self.fixesPerRun)
            try await waitUntil { agent.loggedRecords.count >= goal }
            if round % 2 == 1 {
                gateway.signal(SIGKILL)
                _ = try await gateway.result(within: .seconds(60))
            }
            agent.signal(SIGKILL)
            #expect(try await agent.result(within: .seconds(60)).code == 128 + SIGKILL)
            // The fixes are recorded in the order of the source, and nothing else is.
            recorded.formUnion(end..<(end + agent.loggedRecords.count))
            end += Self.fixesPerRun
            if round % 2 == 1 { gateway = try await scene.stage.gateway() }
        }
        recorded.insert(end)
        let last = try await scene.agent(end..<(end + 1), ["--speed", "max"]).result(within: .seconds(120))
        #expect(last.code == 0, "\(last.errors.suffix(2000))")
        try await scene.expectStored(recorded, of: Self.start..<(end + 1))
        try await scene.stage.recording.end(gateway, recorder)
    }

    @Test func aServerThatIsAwayOrRejectsTheTokenLosesNothing() async throws {
        let scene = try await Scene()
        let recorder = try await scene.stage.recorder()
        try scene.useToken("no token")
        let all = Self.start..<(Self.start + 102)
        let away = try await scene.agent(all.lowerBound..<(all.upperBound - 2), ["--speed", "max"])
            .result(within: .seconds(120))
        #expect(away.code == 69 && away.errors.contains("the server cannot be reached"), "\(away.errors.suffix(2000))")
        let gateway = try await scene.stage.gateway()
        let stranger = try await scene.agent((all.upperBound - 2)..<(all.upperBound - 1), ["--speed", "max"])
            .result(within: .seconds(120))
        #expect(stranger.code == 69 && stranger.errors.contains("Check the token in --token-file"))
        #expect(!stranger.errors.contains("no token"), "\(stranger.errors.suffix(2000))")
        try await scene.signIn()
        let later = try await scene.agent((all.upperBound - 1)..<all.upperBound, ["--speed", "max"])
            .result(within: .seconds(120))
        #expect(later.code == 0, "\(later.errors.suffix(2000))")
        try await scene.expectStored(Set(all), of: all)
        try await scene.stage.recording.end(gateway, recorder)
    }

    @Test(arguments: [
        (["--broker", "mqtt://127.0.0.1"], "--forward and --broker are both given"),
        (["--acknowledge-by", "keeper"], "--acknowledge-by needs a broker"),
        (["--raw"], "--raw needs a broker"), (["--fail-fast"], "--fail-fast needs a broker"),
        (["--allow-commands"], "--allow-commands needs a broker"),
        (["--forward", "mqtt://127.0.0.1"], "Give a broker as --broker"),
        (["--forward", "webhook+http://127.0.0.1/"], "at least 16 bytes"),
    ])
    func anOptionThatNeedsABrokerIsAnError(options: [String], error: String) async throws {
        let result = try await Programs.run(
            "godwit-agent",
            [
                "run", "--trackable", "van", "--source", "simulate:", "--spool", "memory", "--forward",
                "overland+http://127.0.0.1/",
            ] + options)
        #expect(result.code != 0 && result.errors.contains(error), "\(result.errors)")
    }
}
