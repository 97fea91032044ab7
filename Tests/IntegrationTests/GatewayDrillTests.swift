import Foundation
import Synchronization
import TestSupport
import Testing

/// Every record that the gateway acknowledged to a phone is stored once, despite a bad connection and killed or absent
/// services: real Mosquitto, the built recorder and gateway, and the final content of the history.
///
/// `GODWIT_DRILL_KILLS`: how often the gateway is killed; a larger number makes the drill longer.
@Suite(.serialized, .timeLimit(.minutes(30))) struct GatewayDrillTests {
    private static let kills = Int(ProcessInfo.processInfo.environment["GODWIT_DRILL_KILLS"] ?? "") ?? 5

    // MARK: - The line

    /// A fix for each second: the recorded bus from Limerick to its university, or an invented fix where the recordings
    /// are absent.
    private static func drive() throws -> [Int: (latitude: Double, longitude: Double)] {
        guard Tracks.folder != nil else {
            let fixes = (0..<2_000).map { (1_700_000_000 + $0, (52.66 + Double($0) * 1e-5, -8.63)) }
            return Dictionary(uniqueKeysWithValues: fixes)
        }
        let path = try Tracks.path("limerick_bus/304_to_UL_2019-02-18.gpx")
        let text = try String(contentsOfFile: path, encoding: .utf8)
        var drive: [Int: (latitude: Double, longitude: Double)] = [:]
        for fix in text.matches(of: #/<trkpt lat="([^"]+)" lon="([^"]+)">[^t]*<time>([^<]+)</time>/#) {
            let time = try Date(String(fix.3), strategy: .iso8601)
            drive[Int(time.timeIntervalSince1970)] = try (#require(Double(fix.1)), #require(Double(fix.2)))
        }
        return drive
    }

    @Test func aDriveOverABadLineIsStoredOnce() async throws {
        let stage = try await GatewayStage()
        let (recorder, gateway) = try await (stage.recorder(), stage.gateway())
        let line = try BadLine(to: stage.port)
        var phone = try await stage.phone("van")
        let drive = try Self.drive().sorted { $0.key < $1.key }
        #expect(drive.count >= 2_000)
        for (time, place) in drive {
            phone.record(latitude: place.latitude, longitude: place.longitude, time: time)
        }
        let deadline = ContinuousClock.now + .seconds(180)
        while !phone.queue.isEmpty {
            try #require(ContinuousClock.now < deadline, "\(phone.queue.count) left, \(line.fates)")
            // Each batch has another size, so that repeated records arrive in other combinations.
            _ = await phone.send(Int.random(in: 1...150), to: line.port)
        }
        for fate in BadLine.Fate.allCases { #expect(line.fates[fate, default: 0] >= 3, "\(fate)") }
        try await stage.expectStoredOnce(drive.map(\.key), of: "van")
        try await stage.recording.end(gateway, recorder)
    }

    // MARK: - Kills

    /// Phones that record and send until they are stopped, and then until every record was answered ok.
    private final class Load: Sendable {
        let port: Int
        let taken = Atomic<Int>(0)
        let isOver = Atomic<Bool>(false)

        init(port: Int) { self.port = port }

        /// - Returns: The times of its records, all of which were answered ok.
        func run(_ phone: OverlandPhone, from first: Int) async throws -> [Int] {
            var (phone, time) = (phone, first)
            var deadline: ContinuousClock.Instant?
            while !phone.queue.isEmpty || !self.isOver.load(ordering: .relaxed) {
                if !self.isOver.load(ordering: .relaxed) {
                    for _ in 0..<Int.random(in: 1...20) {
                        phone.record(latitude: 52 + Double(time - first) * 1e-6, longitude: -8.5, time: time)
                        time += 1
                    }
                } else {
                    deadline = deadline ?? .now + .seconds(120)
                    try #require(deadline.map { ContinuousClock.now < $0 } == true, "\(phone.queue.count) left")
                }
                if await phone.send(Int.random(in: 1...60), to: self.port)?.isTaken == true {
                    self.taken.add(1, ordering: .relaxed)
                } else {
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            return Array(first..<time)
        }

        /// Waits until a number of further requests were answered ok.
        func wait(forMore count: Int) async throws {
            let (goal, deadline) = (self.taken.load(ordering: .relaxed) + count, ContinuousClock.now + .seconds(60))
            while self.taken.load(ordering: .relaxed) < goal {
                try #require(ContinuousClock.now < deadline, "nothing is taken any more")
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    @Test func acknowledgedRecordsAreStoredOnceDespiteKilledGateways() async throws {
        let stage = try await GatewayStage()
        let recorder = try await stage.recorder()
        var gateway = try await stage.gateway()
        let load = Load(port: stage.port)
        try await withThrowingTaskGroup(of: (String, [Int]).self) { group in
            for name in ["bike", "bus", "ferry", "van"] {
                let phone = try await stage.phone(name)
                group.addTask { (name, try await load.run(phone, from: 1_700_000_000)) }
            }
            for _ in 0..<Self.kills {
                try await load.wait(forMore: Int.random(in: 1...8))
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...40)))
                gateway.signal(SIGKILL)
                _ = try await gateway.result(within: .seconds(60))
                gateway = try await stage.gateway()
            }
            load.isOver.store(true, ordering: .relaxed)
            for try await (name, times) in group { try await stage.expectStoredOnce(times, of: name) }
        }
        try await stage.recording.end(gateway, recorder)
    }

    // MARK: - What it needs is away

    /// Sends the next ten records until they are acknowledged.
    private func sendUntilTaken(_ phone: inout OverlandPhone, _ stage: GatewayStage) async throws {
        let left = phone.queue.count - 10
        let deadline = ContinuousClock.now + .seconds(90)
        while phone.queue.count > left {
            try #require(ContinuousClock.now < deadline, "nothing is taken any more")
            _ = await phone.send(10, to: stage.port)
        }
    }

    /// Checks that other requests are answered promptly.
    private func theRestGoesOn(_ stage: GatewayStage, _ token: String) async throws {
        for path in ["/healthz", "/api/v1/positions", "/api/v1/trackables", "/api/v1/trackables/van/history"] {
            let answer = try await HTTPAnswer.of(
                path, port: stage.port, headers: ["Authorization: Bearer \(token)"], within: .seconds(60))
            #expect(answer.status == 200, "\(path): \(answer.text)")
        }
    }

    /// Sends during an outage. Both kinds of phones are rejected with the reason, and other requests are answered
    /// meanwhile.
    private func isRefused(_ phone: inout OverlandPhone, _ stage: GatewayStage, _ token: String) async throws {
        let (before, sent) = (phone.queue.count, phone)
        async let other = HTTPAnswer.of(
            "/points", method: "POST", port: stage.port, headers: ["Authorization: Bearer \(sent.token)"],
            body: sent.queue[0], within: .seconds(60))
        async let rest: Void = self.theRestGoesOn(stage, token)
        let answer = await phone.send(10, to: stage.port)
        #expect(answer?.shownError?.isEmpty == false && phone.queue.count == before, "\(answer?.text ?? "none")")
        #expect(try await other.status == 503)
        try await rest
        try await self.theRestGoesOn(stage, token)
    }

    /// The broker is killed between a batch and its acknowledgement by the recorder. The phone's first retry does not
    /// wait 30 s for the resend of records that no recorder acknowledges.
    @Test func theFirstRetryAfterAKilledBrokerIsAnswered() async throws {
        let stage = try await GatewayStage()
        let (recorder, gateway) = try await (stage.recorder(), stage.gateway())
        var phone = try await stage.phone("van")
        let times = Array(1_700_000_000..<1_700_000_020)
        for time in times { phone.record(latitude: 52.5, longitude: -8.5 + Double(time % 100) * 1e-4, time: time) }
        try await self.sendUntilTaken(&phone, stage)
        recorder.signal(SIGSTOP)
        let (sent, broker) = (phone, stage.recording.broker)
        let before = broker.log.count
        async let first = Self.send(sent, stage)
        try await Self.wait {
            broker.log.dropFirst(before).split(separator: "\n").contains { line in
                line.contains("Received PUBLISH from gateway ") && line.contains("'tracking/van/history'")
            }
        }
        try await broker.kill()
        try await broker.restart()
        recorder.signal(SIGCONT)
        #expect(await first, "not answered within the 20 s that a request waits")
        _ = await phone.send(10, to: stage.port)
        #expect(phone.queue.isEmpty, "the first retry was not answered")
        try await stage.expectStoredOnce(times, of: "van")
        try await stage.recording.end(gateway, recorder)
    }

    private static func send(_ phone: OverlandPhone, _ stage: GatewayStage) async -> Bool {
        var phone = phone
        return await phone.send(10, to: stage.port)?.isTaken == true
    }

    private static func wait(until isSo: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !isSo() {
            try #require(ContinuousClock.now < deadline)
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test func phonesAreRejectedWithTheReasonDuringAnOutageAndOtherRequestsAreAnswered() async throws {
        let stage = try await GatewayStage()
        var recorder = try await stage.recorder()
        let gateway = try await stage.gateway()
        let token = try await stage.token("desk", ["--read-all"])
        var phone = try await stage.phone("van")
        let times = Array(1_700_000_000..<1_700_000_060)
        for time in times { phone.record(latitude: 52.5, longitude: -8.5 + Double(time % 100) * 1e-4, time: time) }
        try await self.sendUntilTaken(&phone, stage)
        try await self.theRestGoesOn(stage, token)

        try await stage.recording.end(recorder)
        try await self.isRefused(&phone, stage, token)
        recorder = try await stage.recorder()
        try await self.sendUntilTaken(&phone, stage)

        try await stage.recording.broker.kill()
        try await self.isRefused(&phone, stage, token)
        try await stage.recording.broker.restart()
        while !phone.queue.isEmpty { try await self.sendUntilTaken(&phone, stage) }
        try await stage.expectStoredOnce(times, of: "van")
        try await stage.recording.end(gateway, recorder)
    }
}
