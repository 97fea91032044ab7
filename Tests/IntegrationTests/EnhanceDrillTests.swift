import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingStore

/// The positions of the devices are stored once, and positions on the road resume, although the routing engine, the
/// enhancer and the broker are killed: the built programs, real Mosquitto, and a real engine.
///
/// `GODWIT_DRILL_DRIVES`: the number of drives; a larger number makes the drill longer. With it, the positions on the
/// road must resume within 5 s.
@Suite(
    .serialized, .timeLimit(.minutes(60)),
    .enabled(if: RoadsProcess.isAvailable, "the routing engine or the OpenStreetMap extract is absent"))
struct EnhanceDrillTests {
    private static let drives = ProcessInfo.processInfo.environment["GODWIT_DRILL_DRIVES"].flatMap { Int($0) }
    /// The number of trackables that drive at the same time.
    private static let trackables = 3

    private enum Victim: CaseIterable { case engine, enhancer, broker }

    @Test func positionsOnTheRoadResumeAndNoPositionIsLost() async throws {
        let stage = try await EnhanceStage()
        let watcher = stage.watcher
        var longest = Duration.zero
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await watcher.run() }
            for first in stride(from: 0, to: Self.drives ?? Self.trackables, by: Self.trackables) {
                let ids = try (first..<first + Self.trackables).map { try TrackableID("van-\($0)") }
                longest = max(longest, try await Self.drive(ids, stage))
            }
            group.cancelAll()
        }
        let state = watcher.state
        #expect(state.changes.isEmpty, "final positions changed: \(state.changes.prefix(20))")
        #expect(state.finalCount > 0)
        if Self.drives != nil {
            print("| positions on the road resume after | \(longest) | of \(state.finalCount) final ones changed | 0 |")
            #expect(longest <= .seconds(5))
        }
        try await stage.end()
    }

    /// Lets trackables drive while each program is killed once. Returns the longest time until the positions on the road
    /// resumed.
    private static func drive(_ ids: [TrackableID], _ stage: EnhanceStage) async throws -> Duration {
        let agents = try ids.map { try stage.agent($0, fixes: 4_000, speed: "8") }
        try await stage.watcher.waitUntilMatched(ids)
        var longest = Duration.zero
        for victim in Victim.allCases.shuffled() {
            // The sleeps of this drill choose the moments of the faults. No check depends on their length.
            try await Task.sleep(for: .milliseconds(Int.random(in: 100...1_500)))
            switch victim {
            case .engine: try await stage.killEngine()
            case .enhancer: try await stage.killEnhancer()
            case .broker:
                try await stage.recording.broker.kill()
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...300)))
                try await stage.recording.broker.restart()
            }
            longest = max(longest, try await stage.watcher.waitUntilMatched(ids))
        }
        for (id, agent) in zip(ids, agents) { try await stage.expectStoredOnce(id, agent) }
        return longest
    }
}

/// A recorder and an enhancer with a broker, a routing engine, and a subscriber that sees all positions.
private final class EnhanceStage {
    let recording: RecordStage
    let watcher: RoadsWatcher
    private var roads: RoadsProcess
    private var enhancer: RunningProgram
    private let recorder: RunningProgram
    private let way: [Coordinate]
    /// The positions of the drives by their times.
    private var driven: [TrackableID: [UnixTime: Coordinate]] = [:]

    init() async throws {
        self.recording = try await RecordStage()
        self.watcher = try RoadsWatcher(self.recording.broker)
        self.roads = try await RoadsProcess.start()
        self.way = try await RoadDrive.way(self.roads)
        self.recorder = try self.recording.recorder()
        try await self.recorder.waitForLog("Recorder is storing messages")
        self.enhancer = try Self.enhancer(self.recording, self.roads)
        try await self.enhancer.waitForLog("enhancing as 'enhancer'")
    }

    private static func enhancer(_ recording: RecordStage, _ roads: RoadsProcess) throws -> RunningProgram {
        try Programs.start(
            "godwit", ["enhance", "--broker", recording.broker.url, "--engine", roads.address, "--log-level", "info"])
    }

    /// Starts an agent that drives along the way. It waits for the recorder's acknowledgements.
    ///
    /// - Parameter start: The time of the first fix.
    func agent(
        _ id: TrackableID, fixes: Int, speed: String, since start: Double = 1_790_000_000
    ) throws -> RunningProgram {
        let drive = RoadDrive(
            along: self.way, count: fixes, from: Int.random(in: self.way.indices), since: start)
        let file = self.recording.folder.appending(path: "\(id)-\(start).jsonl")
        try drive.write(to: file)
        for fix in drive.fixes { self.driven[id, default: [:]][fix.time] = fix.coordinate }
        return try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "\(id)", "--broker", self.recording.broker.url, "--client-id", "box-\(id)",
                "--battery", "none", "--source", "jsonl:\(file.path())", "--speed", speed,
                "--spool", self.recording.folder.appending(path: "\(id).sqlite").path(), "--log-level", "trace",
                "--default-resolution", "HIGH/0/0", "--sensor-resolution", "HIGH/0/0", "--batch-size", "50",
                "--batch-window", "0.2", "--acknowledge-by", "keeper",
            ])
    }

    func killEngine() async throws {
        let port = self.roads.port
        try await self.roads.kill()
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...1_000)))
        self.roads = try await RoadsProcess.start(port: port)
    }

    func killEnhancer() async throws {
        self.enhancer.signal(SIGKILL)
        _ = try await self.enhancer.result(within: .seconds(60))
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...300)))
        self.enhancer = try Self.enhancer(self.recording, self.roads)
        try await self.enhancer.waitForLog("enhancing as 'enhancer'")
    }

    /// Ends an agent, and checks that all of its positions are stored as the drive has them.
    func expectStoredOnce(_ id: TrackableID, _ agent: RunningProgram) async throws {
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0, "\(agent.errors.suffix(2000))")
        // The next agent sends the rest, and ends by itself when the broker has every record.
        let last = try self.agent(id, fixes: 8, speed: "100", since: 1_790_100_000)
        #expect(try await last.result(within: .seconds(120)).code == 0, "\(last.errors.suffix(2000))")
        let written = agent.loggedRecords.union(last.loggedRecords)
        try await waitUntil { try await self.stored(id).count >= written.count }
        let stored = try await self.stored(id)
        #expect(Set(stored.compactMap(Self.name)) == written)
        #expect(stored.count == written.count, "a position is stored twice")
        let truth = self.driven[id] ?? [:]
        let live = self.watcher.state.fixes[id] ?? [:]
        for (time, place) in stored.map({ ($0.time, $0.coordinate) }) + live.map({ ($0.key, $0.value) }) {
            let right = try #require(truth[time], "a position of another time")
            #expect(place.distance(to: right) < 0.1, "a position changed")
        }
    }

    private static func name(_ fix: Location) -> TestRecorder.Name? {
        fix.stream.flatMap { stream in fix.seq.map { TestRecorder.Name(stream: stream, seq: $0) } }
    }

    private func stored(_ id: TrackableID) async throws -> [Location] {
        var fixes: [Location] = []
        try await self.recording.withStore { store in
            try await store.readAll(PointQuery(id), pageSize: 10_000) { page in fixes += page.map(\.location) }
        }
        return fixes
    }

    func end() async throws {
        try await self.recording.end(self.recorder, self.enhancer)
    }
}
