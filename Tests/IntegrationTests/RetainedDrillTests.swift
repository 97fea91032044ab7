import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingStore
import TrackingSubscriber

/// Programs that start on a broker with Mosquitto's own limits know every trackable within ten seconds, although the
/// broker queues only 1000 messages for each client.
///
/// `GODWIT_DRILL_TRACKABLES`: the number of trackables.
@Suite(.serialized, .timeLimit(.minutes(20))) struct RetainedDrillTests {
    private static let trackables =
        ProcessInfo.processInfo.environment["GODWIT_DRILL_TRACKABLES"].flatMap { Int($0) } ?? 2_000
    /// The time in which each program must be complete after its start. Only the drill with a number of trackables of its
    /// own, which runs alone on the machine, measures the ten seconds.
    private static let limit: Duration =
        ProcessInfo.processInfo.environment["GODWIT_DRILL_TRACKABLES"] == nil ? .seconds(120) : .seconds(10)
    /// The number of positions that are published while the programs start.
    static let burst = 5_000

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

    @Test(arguments: [0, RetainedDrillTests.burst]) func everyProgramIsCompleteAfterItsStart(burst: Int) async throws {
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
            #expect(
                missing == 0, "\(program.rawValue) lacks \(missing) after \(Self.limit): \(running.errors.suffix(500))")
            running.terminate()
            _ = try await running.result(within: .seconds(60))
        }
        let last = try await Programs.run("godwit", ["last", "--store", self.stage.address, "--format", "json"])
        #expect(last.lines.count == Self.trackables)
    }

    /// On MQTT 3.1.1 a client cannot announce how many messages it takes: Mosquitto queues 1000. The topics of a fleet of
    /// 900 trackables fit in slices. Of a larger one, the history tells which positions are missing.
    @Test(arguments: [(900, false), (3_000, true)])
    func aSubscriberOnMQTT311IsComplete(trackables: Int, hasHistory: Bool) async throws {
        let broker = try await MosquittoProcess.start { port, _ in "listener \(port) 127.0.0.1\nallow_anonymous true" }
        try await RetainedFleet(count: trackables, port: broker.port).publish()
        var configuration = SubscriberConfiguration(
            client: try ClientID("desk"), session: try #require(SessionID("one")))
        configuration.watchesAll = true
        var connection = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], for: configuration)
        connection.version = .v311
        let subscriber = AssetSubscriber(
            configuration: configuration, transport: try MQTTTransport(configuration: connection))
        let events = subscriber.everyEvent
        if hasHistory { subscriber.expect(try (0..<trackables).map { try TrackableID("van-\($0)") }) }
        var located: Set<TrackableID> = []
        var online: Set<TrackableID> = []
        var kept: Set<TrackableID>?
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await subscriber.run() }
            group.addTask {
                try? await Task.sleep(for: Self.limit)
                subscriber.finish()
            }
            for await event in events {
                switch event {
                case .location(let id, _): located.insert(id)
                case .state(let id, .online, _): online.insert(id)
                case .positionsKept(let ids): kept = ids
                default: break
                }
                if kept != nil, online.count == trackables { break }
            }
            subscriber.finish()
            group.cancelAll()
        }
        #expect(located.count == trackables && kept?.count == trackables)
        #expect(online.count == trackables)
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
        case .recorder: known = await self.recorded()
        }
        return newest.count { known[$0.key] != $0.value }
    }

    private func positionsOfTheGateway(_ token: String) async throws -> [String: Int] {
        let answer = try? await LoopbackHTTP.request(
            "GET", "/api/v1/positions", port: self.port, headers: ["Authorization": "Bearer \(token)"])
        let body = answer.flatMap { try? JSONSerialization.jsonObject(with: $0.body) } as? [String: Any]
        let features = body?["features"] as? [[String: Any]] ?? []
        return Dictionary(
            features.compactMap { feature -> (String, Int)? in
                let properties = feature["properties"] as? [String: Any]
                guard let id = feature["id"] as? String, let seq = properties?["seq"] as? Int else { return nil }
                return (id, seq)
            }, uniquingKeysWith: max)
    }

    private func recorded() async -> [String: Int] {
        guard FileManager.default.fileExists(atPath: self.stage.database) else { return [:] }
        // The recorder may still be creating the history.
        let positions = try? await self.stage.withStore { try await $0.lastPositions(of: nil) }
        return Dictionary(
            (positions ?? []).map { ($0.trackable.rawValue, Int($0.location.seq ?? 0)) }, uniquingKeysWith: max)
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
