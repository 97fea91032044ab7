import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingStore

/// Every record that devices accepted is in the history once, despite killed programs, stalls and floods.
///
/// `GODWIT_DRILL_KILLS`: how often each program is killed. `GODWIT_DRILL_STALL`: the length of a recorder's stall, in
/// seconds.
@Suite(.serialized, .timeLimit(.minutes(120))) struct RecorderDrillTests {
    private static let kills = Self.number("GODWIT_DRILL_KILLS") ?? 10
    private static let stall = Self.number("GODWIT_DRILL_STALL") ?? 10

    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    private enum Victim: CaseIterable { case recorder, broker, database }

    @Test func recorderBrokerAndDatabaseAreKilledUnderLoad() async throws {
        let server = try await PostgresServer.start()
        let stage = try await RecordStage(store: try await server.makeDatabase())
        var recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let agent = try stage.agent(fixes: 400_000, speed: "20")
        for victim in (0..<Self.kills).flatMap({ _ in Victim.allCases }).shuffled() {
            try await Task.sleep(for: .milliseconds(Int.random(in: 50...800)))
            switch victim {
            case .recorder:
                recorder.signal(SIGKILL)
                _ = try await recorder.result(within: .seconds(60))
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...300)))
                recorder = try stage.recorder()
            case .broker:
                // This broker saves nothing on disk: its messages are lost when it is killed.
                try await stage.broker.kill()
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...300)))
                try await stage.broker.restart()
            case .database:
                try await server.end([SIGKILL, SIGQUIT].randomElement()!)  // not empty
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...300)))
                try await server.restart()
            }
        }
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0, "\(agent.errors.suffix(2000))")
        // Records that the broker accepted without the recorder's session are still on the device, and the next agent
        // sends them.
        let next = try stage.agent(fixes: 400_000, speed: "20")
        // Before its first record, the agent may not handle the signal yet.
        try await next.waitForLog("Records written to the device's log")
        try await stage.waitUntilStored(agent.loggedRecords, within: .seconds(180))
        next.terminate()
        #expect(try await next.result(within: .seconds(60)).code == 0, "\(next.errors.suffix(2000))")
        // The agent sends its backlog to the present recorder, and ends by itself when the broker has every record.
        let last = try stage.agent(fixes: 8, speed: "20")
        #expect(try await last.result(within: .seconds(120)).code == 0, "\(last.errors.suffix(2000))")
        let written = agent.loggedRecords.union(next.loggedRecords).union(last.loggedRecords)
        try await stage.waitUntilStored(written)
        #expect(try await stage.stored() == written)
        let verified = try await stage.verify()
        #expect(verified.code == 0, "\(verified.output.suffix(2000))")
        try await stage.end(recorder)
    }

    /// Messages that exceeded the broker's queue are sent again on the recording lane.
    @Test func aRecorderThatStallsMissesNothing() async throws {
        let stage = try await RecordStage(hasStockLimits: true)
        // With the usual receive maximum, the broker need not queue anything.
        let recorder = try stage.recorder(["--receive-maximum", "500"])
        try await recorder.waitForLog("Recorder is storing messages")
        // A hundred messages a second; in the short form three times as many, so that the queue of 1,000 is too short.
        let rate = Self.stall >= 30 ? 100 : 300
        let agent = try stage.agent(
            fixes: rate * (Self.stall + 200), speed: "\(rate / 4)", ["--default-resolution", "HIGH/0/0"])
        try await agent.wait { _ in agent.loggedRecords.count >= rate }
        recorder.signal(SIGSTOP)
        try await Task.sleep(for: .seconds(Self.stall))
        // With a slower broker, a message contains more positions.
        let deadline = ContinuousClock.now + .seconds(120)
        while !stage.broker.log.contains("Outgoing messages are being dropped") {
            try #require(ContinuousClock.now < deadline, "the broker has room for everything")
            try await Task.sleep(for: .milliseconds(500))
        }
        recorder.signal(SIGCONT)
        let written = agent.loggedRecords
        try await recorder.waitForLog("Broker drops messages", within: .seconds(60))
        // The agent drives on meanwhile.
        try await stage.waitUntilStored(written, within: .seconds(120))
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0, "\(agent.errors.suffix(2000))")
        try await stage.end(recorder)
        #expect(try await stage.stored().isSuperset(of: written))
    }

    /// The burst is sent on the live lane, one position per message at the pace of the broker's acknowledgements, and
    /// as a backlog in batches.
    @Test(arguments: ["max", "1000000"]) func aBurstIsStoredWithTheBrokersStockLimits(speed: String) async throws {
        let stage = try await RecordStage(hasStockLimits: true)
        let recorder = try stage.recorder()
        try await recorder.waitForLog("Recorder is storing messages")
        let agent = try stage.agent(fixes: 20_000, speed: speed, ["--default-resolution", "HIGH/0/0"])
        try await Self.everythingIsStored(agent, 20_000, stage)
        try await stage.end(recorder)
    }

    private static func everythingIsStored(_ agent: RunningProgram, _ count: Int, _ stage: RecordStage) async throws {
        #expect(try await agent.result(within: .seconds(180)).code == 0, "\(agent.errors.suffix(2000))")
        #expect(agent.loggedRecords.count == count)
        try await stage.waitUntilStored(agent.loggedRecords)
        #expect(try await stage.stored().count == count)
        let verified = try await stage.verify()
        #expect(verified.code == 0, "\(verified.output.suffix(2000))")
    }
}
