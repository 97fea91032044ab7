import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingStore

/// Programs that start on a broker with Mosquitto's own limits know every trackable within ten seconds, although the
/// broker queues only 1000 messages for each client.
///
/// `GODWIT_DRILL_TRACKABLES`: the number of trackables.
@Suite(.serialized, .timeLimit(.minutes(20))) struct RetainedDrillTests {
    private static let trackables =
        ProcessInfo.processInfo.environment["GODWIT_DRILL_TRACKABLES"].flatMap { Int($0) } ?? 2_000
    /// The time in which each program must be complete after its start.
    private static let limit = Duration.seconds(10)
    /// The number of positions that are published while the programs start.
    private static let burst = 5_000

    private let stage: RecordStage
    private let fleet: RetainedFleet
    private let port: Int

    init() async throws {
        self.stage = try await RecordStage(hasStockLimits: true)
        self.fleet = RetainedFleet(count: Self.trackables, port: self.stage.broker.port)
        self.port = try LoopbackPort.free()
        try await self.fleet.publish()
    }

    private enum Program: String, CaseIterable { case gateway, watcher, recorder }

    @Test(arguments: [0, Self.burst]) func everyProgramIsCompleteAfterItsStart(burst: Int) async throws {
        let token = try await self.token()
        for program in Program.allCases {
            let start = ContinuousClock.now
            let running = try self.start(program)
            // The burst arrives while the program receives the retained messages.
            if burst > 0 { try await self.fleet.burst(burst) }
            let newest = self.fleet.newest(after: burst)
            let deadline = start + Self.limit
            var missing = newest.count
            while missing > 0, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(100))
                missing = try await self.missing(newest, in: program, running, token: token)
            }
            print("\(program.rawValue): \(newest.count - missing) of \(newest.count) in \(ContinuousClock.now - start)")
            let errors = running.errors.suffix(500)
            #expect(missing == 0, "\(program.rawValue) lacks \(missing) after \(Self.limit): \(errors)")
            running.terminate()
            _ = try await running.result(within: .seconds(60))
        }
        let last = try await Programs.run("godwit", ["last", "--store", self.stage.address, "--format", "json"])
        #expect(last.lines.count == Self.trackables)
    }

    /// A recorder on MQTT 3.1.1 or a short queue misses positions of the first answer, and asks for those that its
    /// history has.
    @Test func positionsThatTheBrokerDroppedAreAskedForAgain() async throws {
        let broker = try await MosquittoProcess.start { port, _ in
            "listener \(port) 127.0.0.1\nallow_anonymous true\nmax_queued_messages 100"
        }
        let fleet = RetainedFleet(count: 1_000, port: broker.port)
        try await fleet.publish()
        let watcher = try Programs.start(
            "godwit",
            ["record", "--broker", broker.url, "--store", self.stage.address, "--receive-maximum", "100"])
        let deadline = ContinuousClock.now + .seconds(20)
        // The presences and resolutions name more trackables than the positions that arrive.
        var stored = 0
        while stored < 1_000, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(200))
            stored = try await self.stage.withStore { try await $0.lastPositions(of: nil).count }
        }
        print("stored: \(stored)")
        watcher.terminate()
        _ = try await watcher.result(within: .seconds(60))
    }

    // MARK: - Programs

    private func start(_ program: Program) throws -> RunningProgram {
        let own: [String]
        switch program {
        case .gateway:
            own = [
                "serve", "--listen", "127.0.0.1:\(self.port)", "--no-store", "--state", self.stage.folder.path(),
                "--rate-limit", "1000",
            ]
        case .watcher: own = ["watch", "--all", "--silent", "--format", "json"]
        case .recorder: own = ["record", "--store", self.stage.address]
        }
        return try Programs.start("godwit", own + ["--broker", self.stage.broker.url, "--log-level", "info"])
    }

    private func token() async throws -> String {
        let made = try await Programs.run(
            "godwit", ["token", "create", "--name", "desk", "--read-all", "--state", self.stage.folder.path()])
        return try #require(made.lines.first, "\(made.errors)")
    }

    /// Returns the number of trackables whose newest position a program does not have.
    private func missing(
        _ newest: [String: Int], in program: Program, _ running: RunningProgram, token: String
    ) async throws -> Int {
        let known: [String: Int]
        switch program {
        case .gateway: known = try await self.positionsOfTheGateway(token)
        case .watcher: known = Self.shown(running.output)
        case .recorder: known = try await self.recorded()
        }
        return newest.count { known[$0.key] != $0.value }
    }

    private func positionsOfTheGateway(_ token: String) async throws -> [String: Int] {
        let answer = try? await LoopbackHTTP.request(
            "GET", "/api/v1/positions", port: self.port, headers: ["Authorization": "Bearer \(token)"])
        let body = answer.flatMap { try? JSONSerialization.jsonObject(with: $0.body) } as? [String: Any]
        let features = body?["features"] as? [[String: Any]] ?? []
        return Dictionary(
            features.compactMap { feature in
                let properties = feature["properties"] as? [String: Any]
                guard let id = feature["id"] as? String, let seq = properties?["seq"] as? Int else { return nil }
                return (id, seq)
            }, uniquingKeysWith: max)
    }

    private func recorded() async throws -> [String: Int] {
        guard FileManager.default.fileExists(atPath: self.stage.database) else { return [:] }
        return try await self.stage.withStore { store in
            Dictionary(
                try await store.lastPositions(of: nil).map { ($0.trackable.rawValue, Int($0.location.seq ?? 0)) },
                uniquingKeysWith: max)
        }
    }

    private static func shown(_ output: String) -> [String: Int] {
        var shown: [String: Int] = [:]
        for line in output.split(separator: "\n") where line.contains(#""location""#) {
            guard let id = line.firstMatch(of: #/"trackable":"([^"]+)"/#)?.1,
                let seq = line.firstMatch(of: #/"seq":(\d+)/#).flatMap({ Int($0.1) })
            else { continue }
            shown[String(id)] = max(shown[String(id)] ?? 0, seq)
        }
        return shown
    }
}
