import Foundation
import Synchronization
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingStore
import TrackingSubscriber
import TrackingTesting

/// A fleet on one broker, with a recorder and a gateway. Each connection publishes many trackables.
///
/// `GODWIT_DRILL_FLEET`: the number of trackables, 500 of each connection. Only a drill with this number checks the times
/// and the memory: it runs alone on the machine, with the programs in the folder `GODWIT_PROGRAMS`.
@Suite(.serialized, .timeLimit(.minutes(60))) struct FleetDrillTests {
    private static let wanted = ProcessInfo.processInfo.environment["GODWIT_DRILL_FLEET"].flatMap { Int($0) }
    private static let trackables = Self.wanted ?? 2_000
    private static let isMeasured = Self.wanted != nil
    private static let connections = Self.isMeasured ? max(1, Self.trackables / 500) : 20
    private static let readers = Self.isMeasured ? 200 : 10
    /// The time in which every trackable has an update.
    private static let interval = Duration.seconds(Self.isMeasured ? 30 : 1)
    private static let rounds = Self.isMeasured ? 6 : 3
    private static let storms = Self.isMeasured ? 10 : 1

    private let stage: RecordStage

    init() async throws { self.stage = try await RecordStage() }

    // MARK: - Updates

    @Test func everyUpdateIsStoredAndShown() async throws {
        let (port, recorderPort) = (try LoopbackPort.free(), try LoopbackPort.free())
        let recorder = try self.stage.recorder(["--listen", "127.0.0.1:\(recorderPort)"])
        try await recorder.waitForLog("Recorder is storing messages")
        let gateway = try self.gateway(port: port)
        try await gateway.waitForLog("listening on http://127.0.0.1:")
        let scene = Scene(port: port, recorderPort: recorderPort, token: try await self.token())
        let fleet = try LightFleet(Self.trackables, over: Self.connections, port: self.stage.broker.port)
        let readers = Readers()
        try await fleet.withRunning {
            try await fleet.announce(within: .seconds(Self.trackables / 1_500))
            try await waitUntil(within: .seconds(600)) {
                try await metric("godwit_gateway_trackables", port: port) == Double(Self.trackables)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<Self.readers {
                    let stream = try await readers.open(fleet.box(of: index % Self.connections), fleet.size, scene)
                    group.addTask { await readers.read(stream) }
                }
                try await self.measure(fleet, readers, scene, gateway.id)
                // Each reader has received each update of its box.
                let updates = Self.readers * fleet.size * Self.rounds
                try await waitUntil { readers.positions >= updates }
                #expect(readers.positions == updates)
                readers.close()
                try await group.waitForAll()
            }
            try await self.expectAllStored(fleet.time(of: Self.rounds))
        }
        #expect(fleet.connections == Self.connections && fleet.refused == 0)
        try await self.stage.end(gateway, recorder)
    }

    /// Publishes the rounds, and measures the recorder and the gateway meanwhile.
    private func measure(_ fleet: LightFleet, _ readers: Readers, _ scene: Scene, _ gateway: Int32) async throws {
        let (used, start) = (try Self.processorTime(of: gateway), ContinuousClock.now)
        let lag = LagMeter(port: scene.recorderPort)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await lag.run() }
            group.addTask {
                for index in 0..<Self.rounds * 10 {
                    try await readers.open(fleet.box(of: index * 7 % Self.connections), fleet.size, scene).close()
                    try await Task.sleep(for: Self.interval / 10)
                }
            }
            for round in 1...Self.rounds { try await fleet.publish(round: round, within: Self.interval) }
            lag.finish()
            try await group.waitForAll()
        }
        let share = (try Self.processorTime(of: gateway) - used) / start.duration(to: .now)
        let memory = try Self.memory(of: gateway)
        let p99 = lag.p99
        let opening = readers.longestOpening
        print(
            "fleet of \(Self.trackables): recorder lag p99 \(p99) s, gateway \(memory) kB and \(share) of a core,"
                + " stream opened in \(opening)")
        guard Self.isMeasured else { return }
        #expect(p99 <= 1)
        #expect(memory <= 400_000)
        #expect(share <= 0.25)
        #expect(opening <= .seconds(1))
    }

    // MARK: - Storms

    @Test func everyTrackableIsOnlineAfterAStormOfReconnections() async throws {
        let proxy = try FaultProxy(to: self.stage.broker.port)
        let trackables = Self.wanted ?? 400
        let fleet = try StormFleet(trackables, over: Self.connections, port: proxy.port)
        let watcher = try StormWatcher(port: self.stage.broker.port, maximum: max(10_000, trackables))
        try await watcher.withRunning {
            try await fleet.withRunning {
                try await waitUntil(within: .seconds(600)) {
                    watcher.online == trackables && fleet.online == trackables
                }
                for storm in 1...Self.storms {
                    let before = fleet.connections
                    let start = ContinuousClock.now
                    proxy.cut()
                    try await waitUntil(within: .seconds(300)) {
                        fleet.connections - before >= Self.connections && watcher.online == trackables
                            && fleet.online == trackables
                    }
                    let time = start.duration(to: .now)
                    print("storm \(storm) of \(Self.connections) connections: all online after \(time)")
                    if Self.isMeasured { #expect(time <= .seconds(30)) }
                }
                #expect(fleet.failed == 0 && watcher.failed == 0)
            }
        }
    }

    // MARK: - The programs

    private func gateway(port: Int) throws -> RunningProgram {
        try Programs.start(
            "godwit",
            [
                "serve", "--broker", self.stage.broker.url, "--listen", "127.0.0.1:\(port)", "--store",
                self.stage.address, "--acknowledge-by", "keeper", "--rate-limit", "100000", "--trackables",
                "\(max(10_000, Self.trackables))", "--state", self.stage.folder.path(),
            ])
    }

    private func token() async throws -> String {
        let made = try await Programs.run(
            "godwit", ["token", "create", "--name", "desk", "--read-all", "--state", self.stage.folder.path()])
        return try #require(made.lines.first, "\(made.errors)")
    }

    private func expectAllStored(_ time: UnixTime) async throws {
        try await waitUntil {
            let last = try await self.stage.withStore { try await $0.lastPositions(of: nil) }
            return last.count == Self.trackables && last.allSatisfy { $0.location.time == time }
        }
    }

    /// The resident memory of a process in kilobytes.
    private static func memory(of process: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        return try #require(status.firstMatch(of: #/VmRSS:\s+(\d+) kB/#).flatMap { Int($0.1) })
    }

    private static func processorTime(of process: Int32) throws -> Duration {
        let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        let fields = try #require(text.split(separator: ")").last).split(separator: " ")
        let ticks = fields[11...12].compactMap { Int($0) }.reduce(0, +)
        return .seconds(ticks) / sysconf(Int32(_SC_CLK_TCK))
    }
}

/// The ports of the gateway and of the recorder, and a token of the gateway.
private struct Scene: Sendable {
    let port: Int
    let recorderPort: Int
    let token: String
}

/// Returns the value of a metric of a program.
private func metric(_ name: String, port: Int) async throws -> Double {
    let text = try await LoopbackHTTP.request("GET", "/metrics", port: port).text
    let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
    return line.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) } ?? 0
}

/// Samples the lag of a recorder.
private final class LagMeter: Sendable {
    private let port: Int
    private let state = Mutex((lags: [Double](), isFinished: false))

    init(port: Int) { self.port = port }

    /// The lag in seconds that 99 % of the samples do not exceed.
    var p99: Double { self.state.withLock { $0.lags.sorted()[$0.lags.count * 99 / 100] } }

    /// Takes a sample each 100 ms until ``finish()``.
    func run() async throws {
        while !self.state.withLock({ $0.isFinished }) {
            let lag = try await metric("godwit_recorder_lag_seconds", port: self.port)
            self.state.withLock { $0.lags.append(lag) }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    func finish() { self.state.withLock { $0.isFinished = true } }
}

/// Readers of live streams.
private final class Readers: Sendable {
    private let streams = Mutex<[EventStream]>([])
    private let state = Mutex((positions: 0, longestOpening: Duration.zero))

    /// The number of positions that the readers received after the first ones of each stream.
    var positions: Int { self.state.withLock { $0.positions } }
    /// The longest time from a request until all first positions of the stream were received.
    var longestOpening: Duration { self.state.withLock { $0.longestOpening } }

    /// Opens the live stream of a box, and returns it after the first position of each trackable in the box.
    func open(_ box: String, _ trackables: Int, _ scene: Scene) async throws -> EventStream {
        let start = ContinuousClock.now
        let stream = try await EventStream(
            "/api/v1/live?bbox=\(box)", port: scene.port, headers: ["Authorization": "Bearer \(scene.token)"])
        let rest = Mutex(trackables)
        _ = try await stream.first { event in
            rest.withLock { rest in
                if event.name == "position" { rest -= 1 }
                return rest == 0
            }
        }
        let time = start.duration(to: .now)
        self.state.withLock { $0.longestOpening = max($0.longestOpening, time) }
        return stream
    }

    /// Counts the positions of a stream until it is closed.
    func read(_ stream: EventStream) async {
        self.streams.withLock { $0.append(stream) }
        for await event in stream.events where event.name == "position" { self.state.withLock { $0.positions += 1 } }
    }

    func close() { for stream in self.streams.withLock({ $0 }) { stream.close() } }
}
