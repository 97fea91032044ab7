import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingStore

/// `godwit forward` as the client of a real gateway: real Mosquitto, the built forwarder, gateway and recorder, and the
/// final content of the gateway's history.
///
/// `GODWIT_DRILL_KILLS`: how often the forwarder is killed; a larger number makes the drill longer.
@Suite(.serialized, .timeLimit(.minutes(30))) struct ForwardDrillTests {
    private static let kills = Int(ProcessInfo.processInfo.environment["GODWIT_DRILL_KILLS"] ?? "") ?? 5
    /// The number of points that are stored before each kill.
    private static let pointsPerKill = 150

    /// A gateway, and a second history whose points are forwarded to it.
    private final class Scene: Sendable {
        let stage: GatewayStage
        let source: SQLiteHistoryStore
        private let path: String
        private let tokenFile: String

        init() async throws {
            self.stage = try await GatewayStage()
            let folder = self.stage.recording.folder
            self.path = folder.appending(path: "source.sqlite").path()
            self.source = try SQLiteHistoryStore(path: self.path)
            self.tokenFile = folder.appending(path: "token").path()
        }

        func signIn() async throws {
            let token = try await self.stage.token("forwarder", ["--publish", "van"])
            try "\(token)\n".write(toFile: self.tokenFile, atomically: true, encoding: .utf8)
        }

        /// Stores points in the source, one for each of these seconds.
        func store(_ seconds: Range<Int>, trip: Trip? = nil) async throws {
            var recording = Recording(of: try TrackableID("van"), at: UnixTime(1_790_000_000))
            recording.points = try seconds.map { second in
                let place = try #require(Coordinate(latitude: 52 + Double(second % 10_000) * 1e-5, longitude: -8.5))
                var point = Location(coordinate: place, time: UnixTime(Double(second)))
                (point.stream, point.seq) = (StreamID("s"), UInt64(second - 1_780_000_000 + 1))
                (point.speed, point.accuracyHorizontal, point.motion) = (8.25, 4, [.driving])
                return point
            }
            recording.trips = trip.map { [RecordedDocument($0, json: MessageCodec.encode($0))] } ?? []
            var batch = RecordingBatch()
            batch.recordings = [recording]
            _ = try await self.source.store(batch)
        }

        func forward(_ more: [String], token: String? = nil) throws -> RunningProgram {
            try Programs.start(
                "godwit",
                [
                    "forward", "--to", "overland+http://127.0.0.1:\(self.stage.port)/overland", "--token-file",
                    token ?? self.tokenFile, "--store", "sqlite:\(self.path)", "--log-level", "info",
                ] + more)
        }
    }

    @Test func everyPointIsStoredOnceAlthoughTheForwarderIsKilled() async throws {
        let scene = try await Scene()
        let (recorder, gateway) = try await (scene.stage.recorder(), scene.stage.gateway())
        try await scene.signIn()
        let start = 1_780_000_000
        var end = start
        for _ in 0..<Self.kills {
            let forwarder = try scene.forward(["--batch-size", "\(Int.random(in: 1...40))"])
            try await forwarder.waitForLog("forwarding to overland+http://127.0.0.1:")
            try await scene.store(end..<(end + Self.pointsPerKill))
            end += Self.pointsPerKill
            // The forwarder dies at a random moment, whatever it is doing.
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...800)))
            forwarder.signal(SIGKILL)
            #expect(try await forwarder.result(within: .seconds(60)).code == 128 + SIGKILL)
        }
        let last = try scene.forward(["--once"])
        let result = try await last.result(within: .seconds(120))
        #expect(result.code == 0, "\(result.errors)")
        try await scene.stage.expectStoredOnce(Array(start..<end), of: "van")
        try await scene.source.close()
        try await scene.stage.recording.end(gateway, recorder)
    }

    @Test func theTripInProgressIsForwardedToo() async throws {
        let scene = try await Scene()
        let (recorder, gateway) = try await (scene.stage.recorder(), scene.stage.gateway())
        try await scene.signIn()
        var trip = Trip(
            id: "t1", mode: "tram", start: UnixTime(1_780_000_000), stream: try #require(StreamID("s")), seq: 1000)
        trip.distance = 80
        try await scene.store(1_780_000_000..<1_780_000_010, trip: trip)
        let result = try await scene.forward(["--once"]).result(within: .seconds(60))
        #expect(result.code == 0, "\(result.errors)")
        let trips = try await scene.stage.recording.withStore {
            try await $0.allTrips(of: TrackableID("van"), during: .all)
        }
        #expect(trips.map(\.mode) == ["tram"] && trips.map(\.distance) == [80])
        try await scene.source.close()
        try await scene.stage.recording.end(gateway, recorder)
    }

    @Test func aWrongTokenIsReportedAndLosesNothing() async throws {
        let scene = try await Scene()
        let (recorder, gateway) = try await (scene.stage.recorder(), scene.stage.gateway())
        try await scene.signIn()
        try await scene.store(1_780_000_000..<1_780_000_010)
        let wrong = scene.stage.recording.folder.appending(path: "wrong").path()
        try "no token\n".write(toFile: wrong, atomically: true, encoding: .utf8)
        let other = "overland+http://127.0.0.1:\(scene.stage.port)/hidden"
        let forwarder = try scene.forward(["--listen", "127.0.0.1:0", "--to", other], token: wrong)
        try await forwarder.waitForLog("listening on http://127.0.0.1:")
        try await forwarder.waitForLog("Check the token in --token-file")
        let line = forwarder.errors.split(separator: "\n").first { $0.contains("listening on http://127.0.0.1:") }
        let port = try #require(line?.split(separator: ":").last.flatMap { Int($0) })
        #expect(try await LoopbackHTTP.request("GET", "/readyz", port: port).status == 503)
        // Two servers of one host have figures of their own, which do not contain the paths.
        let host = "overland+http://127.0.0.1:\(scene.stage.port)"
        try await waitUntil {
            let metrics = try await LoopbackHTTP.request("GET", "/metrics", port: port).text
            #expect(!metrics.contains("hidden"))
            return ["1", "2"].allSatisfy {
                metrics.contains("godwit_forward_sink_away{number=\"\($0)\",sink=\"\(host)\"} 1\n")
            }
        }
        forwarder.terminate()
        let ended = try await forwarder.result(within: .seconds(60))
        #expect(ended.code == 0 && !ended.errors.contains("no token"), "\(ended.errors)")
        let result = try await scene.forward(["--once"]).result(within: .seconds(60))
        #expect(result.code == 0, "\(result.errors)")
        try await scene.stage.expectStoredOnce(Array(1_780_000_000..<1_780_000_010), of: "van")
        try await scene.source.close()
        try await scene.stage.recording.end(gateway, recorder)
    }
}
