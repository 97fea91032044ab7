import Foundation
import TestSupport
import Testing
import TrackingRuntime

@testable import TrackingPublisher

/// Every `--source` of the built agent, from its input to a watcher.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SourceTests {
    private static let start = Fix.recently
    private static let ride = (0..<5).map { Fix.invented($0, start: Self.start) }

    private func expectRide(_ fixes: [Fix]) {
        #expect(fixes.map(\.time) == Self.ride.map(\.time))
        #expect(zip(fixes, Self.ride).allSatisfy { $0.isAt($1) })
    }

    /// Writes a text to a temporary file.
    private func withFile(_ text: String, _ body: (String) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString)#1.txt")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(file.path(percentEncoded: false))
    }

    private static let nmea = Self.ride.map(\.sentences).joined()

    /// The ride in one of the formats.
    private static func text(_ format: String) -> String {
        switch format {
        case "nmea": return self.nmea
        case "jsonl": return self.ride.map { $0.feature + "\n" }.joined()
        default:
            let points = self.ride.map { fix in
                let time = Date(timeIntervalSince1970: Double(fix.time) / 1000).ISO8601Format()
                return "<trkpt lat=\"\(fix.latitude)\" lon=\"\(fix.longitude)\"><time>\(time)</time></trkpt>"
            }
            return "<gpx version=\"1.1\"><trk><trkseg>\(points.joined())</trkseg></trk></gpx>"
        }
    }

    // MARK: - Files and standard input

    @Test(arguments: ["nmea", "jsonl"]) func standardInputIsReadToItsEnd(format: String) async throws {
        try await self.withFile(Self.text(format)) { path in
            let track = try await Track.start(["\(format):-"], input: path)
            self.expectRide(try await track.end(fixes: 5, byItself: true))
            #expect(track.watch.output.contains("\"source\":\"gps\""))
        }
    }

    @Test(arguments: ["nmea", "jsonl", "gpx"]) func aRecordingIsReplayedAtItsPace(format: String) async throws {
        try await self.withFile(Self.text(format)) { path in
            // Four seconds, four times as fast. The replay is repeated if the machine delayed one of the programs.
            var (times, tries) = ([Double](), 0)
            while !(0.3..<3.5).contains((times.last ?? 0) - (times.first ?? 0)) {
                tries += 1
                try #require(tries <= 3, "\(times)")
                times = try await self.replay("\(format):\(path)")
            }
        }
    }

    /// Replays the ride, and returns the time at which the watcher received each position, in Unix seconds.
    private func replay(_ source: String) async throws -> [Double] {
        let started = ContinuousClock.now
        let track = try await Track.start([source], options: ["--default-resolution", "HIGH/0/0", "--speed", "4"])
        self.expectRide(try await track.end(fixes: 5, byItself: true))
        #expect(started.duration(to: .now) >= .seconds(1))
        #expect(track.watch.output.contains("\"source\":\"replay\""))
        return try self.receptions(track.watch.output)
    }

    /// Returns the time at which the watcher received each position, in Unix seconds.
    private func receptions(_ output: String) throws -> [Double] {
        struct Line: Decodable { var receivedAt: Double }
        return try output.split(separator: "\n").filter { $0.hasPrefix("{\"event\":\"location\"") }
            .map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)).receivedAt }
    }

    // MARK: - Receivers

    @Test func aServerOfSentencesIsReadAndTriedAgain() async throws {
        let server = try LineServer(welcome: Self.ride[..<3].map(\.sentences).joined())
        let track = try await Track.start(["nmea:tcp://127.0.0.1:\(server.port)"])
        try await track.wait(fixes: 3)
        server.welcome(with: Self.ride[3...].map(\.sentences).joined())
        server.dropEveryone()
        try await track.agent.waitForLog("Position source lost")
        try await track.wait(fixes: 5)
        self.expectRide(try await track.end(fixes: 5))
        #expect(server.log.elements.allSatisfy { if case .line = $0 { false } else { true } }, "it is never written to")
    }

    @Test func aSerialReceiverIsReadAndAskedForTheCycle() async throws {
        let receiver = try PseudoTerminal()
        let track = try await Track.start(
            ["nmea:\(receiver.path)#speed=38400"],
            options: ["--default-resolution", "HIGH/500/0", "--floor", "MAXIMUM/0/0"])
        // The receiver answers the query for its identity with a model whose cycle can be set.
        try await receiver.waitForCommand("$PMTK605*31\r\n")
        try await receiver.send(NMEAText.sentence("PMTK705,AXN_2.31,5632,PA6H,1.0").utf8)
        try await receiver.waitForCommand("$PMTK220,500*2B\r\n")
        try await receiver.send(Self.nmea.utf8)
        try await track.wait(fixes: 5)
        let eager = try Programs.start(
            "godwit", ["watch", "van", "--broker", track.broker.url, "--resolution", "HIGH/200/0"])
        try await receiver.waitForCommand("$PMTK220,200*2C\r\n")
        eager.terminate()
        #expect(try await eager.result(within: .seconds(60)).code == 0)
        self.expectRide(try await track.end(fixes: 5))
    }

    // MARK: - Dates

    /// The result depends on the synchronisation of this machine's clock. A unit test proves each of the two results.
    @Test func aDateThatIs1024WeeksOffIsCorrectedOrMarkedAndReported() async throws {
        let period = 1_024 * 7 * 86_400
        let server = try LineServer()
        let track = try await Track.start(["nmea:tcp://127.0.0.1:\(server.port)"])
        try await server.log.wait("the agent") { $0 == .connected(1) }
        let said = FileManager.default.temporaryDirectory.appending(path: "godwit-events-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: said) }
        let listener = try ChildProcess(
            "/usr/bin/mosquitto_sub",
            ["-p", "\(track.broker.port)", "-t", "tracking/van/event", "-C", "1", "-W", "120"],
            output: said.path())
        while !track.broker.log.contains("tracking/van/event (QoS 0)") {
            try #require(listener.isRunning, "mosquitto_sub ended: is mosquitto-clients installed?")
            try await Task.sleep(for: .milliseconds(5))
        }
        let now = Int(Date().timeIntervalSince1970)
        let old = (0..<3).map { Fix.invented($0, start: now - 5 - period) }
        server.send(old.map(\.sentences).joined())
        try await track.wait(fixes: 3)
        let fixes = try await track.end(fixes: 3)
        try await listener.waitForEnd()
        let event = try String(contentsOf: said, encoding: .utf8)
        #expect(event.contains("\"kind\":\"CLOCK_JUMP\""))
        #expect(event.contains("\"weeks\":-1024"))
        let isTrusted = SystemClockTrust.isSynchronized
        #expect(event.contains("\"corrected\":\(isTrusted)"))
        #expect(fixes.map(\.time) == old.map { $0.time + (isTrusted ? period * 1_000 : 0) })
        #expect(track.watch.output.contains("\"suspectWeeks\":-1024") == !isTrusted)
    }
}
