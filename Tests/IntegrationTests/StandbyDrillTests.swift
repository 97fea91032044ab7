import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingStore

/// Two recorders of the same name: one is active, and the other one takes over. No record is lost or stored twice.
///
/// `GODWIT_DRILL_TAKEOVERS`: how often the active recorder fails in each way. With it, each takeover waits for the real
/// end of the lease, and the database fails over to a replica as well. Without it, the test ends the lease in the
/// database.
@Suite(.serialized, .timeLimit(.minutes(60))) struct StandbyDrillTests {
    private static let takeovers = ProcessInfo.processInfo.environment["GODWIT_DRILL_TAKEOVERS"].flatMap { Int($0) }
    /// The time of a takeover. Without real failures, it only ends a test that has failed.
    private static let limit = Duration.seconds(Self.takeovers == nil ? 120 : 20)
    private static let isStoring = "Recorder is storing messages"

    private enum Failure: CaseIterable { case kill, suspension }

    @Test func theSecondRecorderTakesOver() async throws {
        let server = try await PostgresServer.shared()
        let stage = try await RecordStage(store: try await server.makeDatabase())
        var active = try stage.recorder(["--standby"])
        try await active.waitForLog(Self.isStoring)
        let agent = try stage.agent(fixes: Self.takeovers == nil ? 20_000 : 400_000, speed: "20")
        for failure in (0..<(Self.takeovers ?? 1)).flatMap({ _ in Failure.allCases }) {
            let standby = try stage.recorder(["--standby"])
            try await standby.waitForLog("Recorder waits")
            let enough = agent.loggedRecords.count + 40
            try await agent.wait { _ in agent.loggedRecords.count >= enough }
            active.signal(failure == .kill ? SIGKILL : SIGSTOP)
            let start = ContinuousClock.now
            if Self.takeovers == nil { try await Self.expire(server, stage) }
            try await standby.waitForLog(Self.isStoring, within: Self.limit)
            #expect(start.duration(to: .now) <= Self.limit)
            if failure == .suspension {
                let written = agent.loggedRecords
                try await stage.waitUntilStored(written)
                active.signal(SIGCONT)
                let former = active
                let stopping = "Recorder stops receiving messages"
                try await former.waitForLog(stopping)
                try await former.wait { _ in
                    let log = former.errors
                    return log.range(of: stopping).map { log[$0.upperBound...].contains("Recorder waits") } == true
                }
                try await stage.end(former)
            } else {
                _ = try await active.result(within: .seconds(60))
            }
            active = standby
        }
        try await Self.checkEverythingIsStored(agent, stage)
        try await stage.end(active)
    }

    /// The active recorder is stopped in order, and need not be waited for.
    @Test func anOrderlyEndReleasesTheLease() async throws {
        let server = try await PostgresServer.shared()
        let stage = try await RecordStage(store: try await server.makeDatabase())
        let first = try stage.recorder(["--standby"])
        try await first.waitForLog(Self.isStoring)
        let second = try stage.recorder(["--standby"])
        try await second.waitForLog("Recorder waits")
        let agent = try stage.agent(fixes: 400_000, speed: "20")
        try await agent.wait { _ in agent.loggedRecords.count >= 20 }
        try await stage.end(first)
        try await second.waitForLog(Self.isStoring, within: .seconds(10))
        try await Self.checkEverythingIsStored(agent, stage)
        try await stage.end(second)
    }

    /// The primary database is killed or suspended, and its replica is promoted.
    @Test(.enabled(if: StandbyDrillTests.takeovers != nil, "a long drill"), arguments: [SIGKILL, SIGSTOP])
    func theDatabaseFailsOver(signal: Int32) async throws {
        let primary = try await PostgresServer.start()
        let address = try await primary.makeDatabase()
        let name = try #require(address.split(separator: "/").last)
        let replica = try await primary.makeReplica()
        let stage = try await RecordStage(store: "postgres://godwit@127.0.0.1:\(replica.port)/\(name)")
        let both = "postgres://godwit@127.0.0.1:\(primary.port),127.0.0.1:\(replica.port)/\(name)"
        let first = try stage.recorder(["--standby", "--store", both])
        try await first.waitForLog(Self.isStoring)
        let second = try stage.recorder(["--standby", "--store", both])
        try await second.waitForLog("Recorder waits")
        let agent = try stage.agent(fixes: 400_000, speed: "20")
        try await agent.wait { _ in agent.loggedRecords.count >= 100 }
        if signal == SIGKILL { try await primary.kill() } else { primary.freeze() }
        let known = agent.loggedRecords.count
        try await agent.wait { _ in agent.loggedRecords.count >= known + 400 }
        let start = ContinuousClock.now
        try await replica.promote()
        let written = agent.loggedRecords
        try await stage.waitUntilStored(written, within: Self.limit)
        #expect(start.duration(to: .now) <= Self.limit)
        try await Self.checkEverythingIsStored(agent, stage)
        for recorder in [first, second] { try await stage.end(recorder) }
        if signal == SIGSTOP { primary.freeze(false) }
    }

    /// Recorders of two topic roots store into one database, each its own part of the fleet.
    @Test func recordersSplitAFleetByTopicRoot() async throws {
        let server = try await PostgresServer.shared()
        let stage = try await RecordStage(store: try await server.makeDatabase())
        let recorders = try ["north", "south"].map { root in
            try stage.recorder(["--standby", "--name", "keeper-\(root)", "--topic-root", "fleet/\(root)"])
        }
        for recorder in recorders { try await recorder.waitForLog(Self.isStoring) }
        let agents = try ["north", "south"].map { root in
            try Programs.start(
                "godwit-agent",
                [
                    "run", "--trackable", "van-\(root)", "--client-id", "box-\(root)", "--broker", stage.broker.url,
                    "--topic-root", "fleet/\(root)", "--source", "simulate:", "--speed", "20", "--battery", "none",
                    "--default-resolution", "HIGH/300/0", "--batch-window", "0.2", "--acknowledge-by",
                    "keeper-\(root)", "--spool", "memory",
                ])
        }
        for root in ["north", "south"] {
            let deadline = ContinuousClock.now + .seconds(60)
            func points() async throws -> Int {
                try await stage.withStore { try await $0.verify(TrackableID("van-\(root)"))?.points } ?? 0
            }
            while try await points() < 10, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(try await points() >= 10, "\(root)")
        }
        for agent in agents { try await agent.end() }
        for recorder in recorders { try await stage.end(recorder) }
    }

    @Test(arguments: [["sqlite:history.sqlite"], ["postgres://me@127.0.0.1/a", "--share", "team"]])
    func impossibleCombinationsAreErrors(options: [String]) async throws {
        let result = try await Programs.run("godwit", ["record", "--standby", "--store"] + options)
        #expect(result.code == 64 && result.errors.contains("--standby"), "\(result.errors)")
    }

    /// Ends the lease, as its duration would.
    private static func expire(_ server: PostgresServer, _ stage: RecordStage) async throws {
        try await server.execute("UPDATE godwit.recorder_lease SET until = clock_timestamp()", in: stage.address)
    }

    /// Ends the agent, and checks that every record is stored once.
    private static func checkEverythingIsStored(_ agent: RunningProgram, _ stage: RecordStage) async throws {
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0, "\(agent.errors.suffix(2000))")
        // This agent sends the backlog, and ends once all of it is acknowledged.
        let last = try stage.agent(fixes: 8, speed: "20")
        #expect(try await last.result(within: .seconds(120)).code == 0, "\(last.errors.suffix(2000))")
        let written = agent.loggedRecords.union(last.loggedRecords)
        try await stage.waitUntilStored(written)
        #expect(try await stage.stored() == written)
        let verified = try await stage.verify()
        #expect(verified.code == 0, "\(verified.output.suffix(2000))")
    }
}
