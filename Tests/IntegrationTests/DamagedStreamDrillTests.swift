import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingTesting

/// A proxy that drops 1 to 73 bytes of the broker's stream ends no program. With `--acknowledge-by`, no record is lost.
///
/// `GODWIT_DRILL_DAMAGE`: the number of damaged streams for each role.
@Suite(.timeLimit(.minutes(180))) struct DamagedStreamDrillTests {
    private static let demanded = ProcessInfo.processInfo.environment["GODWIT_DRILL_DAMAGE"].flatMap { Int($0) }
    private static let streams = demanded ?? 20
    /// The longest time until a program has recovered. The short form runs on busy machines, and only ends what hangs.
    private static let limit = demanded == nil ? Duration.seconds(60) : .seconds(15)
    /// The number of damaged connections in a row for one program. The backoff grows with each.
    private static let streamsALife = 2

    /// The longest time from the last damage to full recovery.
    private struct Figures {
        var damaged = 0
        var slowest = Duration.zero

        func report(_ role: String) {
            print("\(role): \(self.damaged) damaged streams, back after at most \(self.slowest)")
        }
    }

    /// Runs a program repeatedly until enough streams were damaged.
    ///
    /// - Parameters:
    ///   - bytes: The range of the number of bytes before a damage.
    ///   - life: Starts the program, waits until it has recovered, and returns the time of the recovery.
    private static func drill(
        _ role: String, on broker: MosquittoProcess, bytes: Range<Int>,
        _ life: (_ proxy: FaultProxy) async throws -> ContinuousClock.Instant
    ) async throws {
        let proxy = try FaultProxy(to: broker.port)
        var figures = Figures()
        while figures.damaged < Self.streams {
            let damages = (0..<Self.streamsALife).map { _ in
                StreamDamage(offset: Int.random(in: bytes), count: Int.random(in: 1...73))
            }
            proxy.damage(damages)
            let before = proxy.losses.count
            let back = try await life(proxy)
            let losses = proxy.losses
            figures.damaged += losses.count - before
            if losses.count > before, let last = losses.last, last < back {
                figures.slowest = max(figures.slowest, last.duration(to: back))
            }
            #expect(figures.slowest <= Self.limit, "\(damages)")
        }
        figures.report(role)
    }

    private static func address(_ proxy: FaultProxy) -> String { "mqtt://127.0.0.1:\(proxy.port)" }

    // MARK: - Recorder and agent

    private static func recorder(_ stage: RecordStage, at address: String) throws -> RunningProgram {
        try Programs.start(
            "godwit",
            ["record", "--broker", address, "--name", "keeper", "--store", stage.address, "--log-level", "info"])
    }

    /// Starts an agent that sends 80 fixes a second and ends once the recorder has acknowledged all.
    private static func agent(_ stage: RecordStage, at address: String, life: Int) throws -> RunningProgram {
        let drive = stage.folder.appending(path: "drive-\(life).jsonl")
        let lines = (0..<80).map {
            DrillScene.feature($0, time: 1_700_000_000 + Double(life * 1_000) + Double($0) * 0.25)
        }
        try lines.joined(separator: "\n").write(to: drive, atomically: true, encoding: .utf8)
        return try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van", "--broker", address, "--client-id", "box", "--battery", "none",
                "--source", "jsonl:\(drive.path())", "--speed", "20", "--spool",
                stage.folder.appending(path: "spool.sqlite").path(), "--log-level", "trace",
                "--default-resolution", "HIGH/0/0", "--sensor-resolution", "HIGH/0/0", "--batch-size", "50",
                "--batch-window", "0.2", "--acknowledge-by", "keeper",
            ])
    }

    /// Waits until an agent has ended, which it does when the broker has every record, and until its fixes are stored.
    private static func everythingIsStored(_ agent: RunningProgram, _ stage: RecordStage) async throws
        -> ContinuousClock.Instant
    {
        let result = try await agent.result(within: .seconds(120))
        #expect(result.code == 0, "\(result.errors.suffix(2_000))")
        #expect(agent.loggedRecords.count >= 80)
        try await stage.waitUntilStored(agent.loggedRecords)
        return .now
    }

    @Test func aRecorderSurvivesAndMissesNothing() async throws {
        let stage = try await RecordStage()
        var life = 0
        try await Self.drill("record", on: stage.broker, bytes: 0..<12_000) { proxy in
            life += 1
            let recorder = try Self.recorder(stage, at: Self.address(proxy))
            let agent = try Self.agent(stage, at: stage.broker.url, life: life)
            let back = try await Self.everythingIsStored(agent, stage)
            try await stage.end(recorder)
            return back
        }
        #expect(try await stage.verify().code == 0)
    }

    @Test func anAgentSurvivesAndLosesNothing() async throws {
        let stage = try await RecordStage()
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        var life = 0
        try await Self.drill("agent", on: stage.broker, bytes: 0..<600) { proxy in
            life += 1
            let agent = try Self.agent(stage, at: Self.address(proxy), life: life)
            return try await Self.everythingIsStored(agent, stage)
        }
        try await stage.end(recorder)
        #expect(try await stage.verify().code == 0)
    }

    // MARK: - Watcher and gateway

    @Test func aWatcherSurvivesAndSeesPositionsAgain() async throws {
        let broker = try await MosquittoProcess.start()
        let agent = try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van", "--broker", broker.url, "--source", "simulate:", "--battery", "none",
                "--default-resolution", "HIGH/50/0", "--sensor-resolution", "HIGH/0/0",
            ])
        try await Self.drill("watch", on: broker, bytes: 0..<4_000) { proxy in
            let before = proxy.losses.count
            let watch = try Programs.start(
                "godwit", ["watch", "van", "--broker", Self.address(proxy), "--format", "json", "--log-level", "info"])
            try await watch.wait(within: .seconds(120)) { _ in proxy.losses.count >= before + Self.streamsALife }
            let seen = Self.positions(watch)
            try await watch.wait(within: .seconds(60)) { _ in Self.positions(watch) > seen + 1 }
            let back = ContinuousClock.now
            watch.terminate()
            #expect(try await watch.result(within: .seconds(60)).code == 0, "\(watch.errors.suffix(2_000))")
            return back
        }
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }

    private static func positions(_ watch: RunningProgram) -> Int {
        watch.output.components(separatedBy: "\"event\":\"location\"").count - 1
    }

    @Test func aGatewaySurvivesAndWhatItAnsweredOkIsStored() async throws {
        let stage = try await GatewayStage()
        let recorder = try await stage.recorder()
        var phone = try await stage.phone("phone")
        var times: [Int] = []
        try await Self.drill("serve", on: stage.recording.broker, bytes: 0..<600) { proxy in
            let gateway = try await stage.gateway(at: Self.address(proxy))
            for _ in 0..<40 {
                times.append(1_700_000_000 + times.count)
                phone.record(latitude: 52 + Double(times.count) * 1e-4, longitude: -8, time: times.last ?? 0)
                _ = await phone.send(1, to: stage.port)
            }
            let deadline = ContinuousClock.now + .seconds(120)
            while !phone.queue.isEmpty {
                try #require(ContinuousClock.now < deadline, "\(phone.queue.count) points are not taken")
                _ = await phone.send(10, to: stage.port)
            }
            let back = ContinuousClock.now
            gateway.terminate()
            #expect(try await gateway.result(within: .seconds(60)).code == 0, "\(gateway.errors.suffix(2_000))")
            return back
        }
        try await stage.recording.end(recorder)
        try await stage.expectStoredOnce(times, of: "phone")
    }
}
