import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingStore

/// `godwit forward` to another broker: real Mosquitto, the built forwarder, and the history of the built recorder there.
///
/// `GODWIT_DRILL_KILLS`: how often the forwarder is killed; a larger number makes the drill longer.
@Suite(.serialized, .timeLimit(.minutes(30))) struct ForwardBrokerDrillTests {
    private static let kills = Int(ProcessInfo.processInfo.environment["GODWIT_DRILL_KILLS"] ?? "") ?? 6
    /// The number of points that are stored before each kill.
    private static let pointsPerKill = 150

    /// Another broker with its recorder, and a history whose points are forwarded there.
    private final class Scene: Sendable {
        let stage: RecordStage
        let source: any ForwardingStore
        private let address: String

        /// - Parameter database: The address of the history in PostgreSQL; `nil` for a file.
        init(database: String? = nil) async throws {
            self.stage = try await RecordStage()
            let path = self.stage.folder.appending(path: "source.sqlite").path()
            self.address = database ?? "sqlite:\(path)"
            self.source =
                if let database {
                    try await PostgresHistoryStore(address: database)
                } else {
                    try SQLiteHistoryStore(path: path)
                }
        }

        /// Starts the recorder at the other broker, and returns when it receives messages.
        func recorder() async throws -> RunningProgram {
            let recorder = try self.stage.recorder()
            try await recorder.waitForLog("Recorder is storing messages")
            return recorder
        }

        /// Stores points of the trackable `van` in the source.
        ///
        /// - Parameters:
        ///   - seqs: The seconds of the points, and their numbers.
        ///   - isNumbered: `false` for points without a number, as those of an import.
        func store(_ seqs: ClosedRange<UInt64>, isNumbered: Bool = true) async throws {
            var recording = Recording(of: self.stage.van, at: UnixTime(1_790_000_000))
            recording.points = try seqs.map { seq in
                let place = try #require(Coordinate(latitude: 52 + Double(seq) * 1e-5, longitude: -8.5))
                var point = Location(coordinate: place, time: UnixTime(1_780_000_000 + Double(seq)))
                if isNumbered { (point.stream, point.seq) = (StreamID("s"), seq) }
                (point.speed, point.accuracyHorizontal, point.motion) = (8.25, 4, [.driving])
                return point
            }
            var batch = RecordingBatch()
            batch.recordings = [recording]
            _ = try await self.source.store(batch)
        }

        func forward(_ more: [String], to broker: String? = nil) throws -> RunningProgram {
            try Programs.start(
                "godwit",
                ["forward", "--to", broker ?? self.stage.broker.url, "--store", self.address, "--log-level", "info"]
                    + more)
        }

        func forwardAll() async throws {
            let result = try await self.forward(["--once"]).result(within: .seconds(120))
            #expect(result.code == 0, "\(result.errors)")
        }

        /// Checks that the other history has each of these points once, and that no number is missing there.
        func expectStoredOnce(_ seqs: ClosedRange<UInt64>) async throws {
            let stream = try #require(StreamID("s"))
            let names = Set(seqs.map { TestRecorder.Name(stream: stream, seq: $0) })
            try await self.stage.waitUntilStored(names)
            #expect(try await self.stage.stored() == names)
            let verified = try await self.stage.verify()
            #expect(verified.code == 0, "\(verified.output) \(verified.errors)")
        }
    }

    @Test func everyPointIsRecordedOnceAlthoughForwarderAndRecorderAreKilled() async throws {
        let scene = try await Scene()
        var recorder = try await scene.recorder()
        var end: UInt64 = 0
        for round in 0..<Self.kills {
            let forwarder = try scene.forward(["--batch-size", "\(Int.random(in: 1...40))"])
            try await forwarder.waitForLog("forwarding to mqtt://127.0.0.1:")
            try await scene.store((end + 1)...(end + UInt64(Self.pointsPerKill)))
            let goal = Int(end) + Int.random(in: 0..<Self.pointsPerKill)
            end += UInt64(Self.pointsPerKill)
            try await waitUntil { try await scene.stage.stored().count >= goal }
            forwarder.signal(SIGKILL)
            #expect(try await forwarder.result(within: .seconds(60)).code == 128 + SIGKILL)
            guard round % 2 == 1 else { continue }
            recorder.signal(SIGKILL)
            _ = try await recorder.result(within: .seconds(60))
            // The broker queues for the recorder meanwhile.
            if round % 4 == 3 { try await scene.forwardAll() }
            recorder = try await scene.recorder()
        }
        try await scene.forwardAll()
        try await scene.expectStoredOnce(1...end)
        try await scene.source.close()
        try await scene.stage.end(recorder)
    }

    @Test func aBrokerWithoutARecorderLosesNothing() async throws {
        let scene = try await Scene()
        try await scene.store(1...100)
        let forwarder = try scene.forward(["--once"])
        try await forwarder.waitForLog("no recorder has subscribed to tracking/van/history")
        let recorder = try await scene.recorder()
        let result = try await forwarder.result(within: .seconds(120))
        #expect(result.code == 0, "\(result.errors)")
        try await scene.expectStoredOnce(1...100)
        try await scene.source.close()
        try await scene.stage.end(recorder)
    }

    @Test func twoConnectionsWithOneUserAreAnError() async throws {
        let result = try await Programs.run(
            "godwit", ["forward", "--to", "mqtt://me@127.0.0.1", "--to", "mqtt://me@127.0.0.1#topic-root=acme"])
        #expect(result.code == 64 && result.errors.contains("Give each address a user of its own"), "\(result.errors)")
    }

    @Test func theHistoryIsInPostgreSQL() async throws {
        let server = try await PostgresServer.shared()
        let scene = try await Scene(database: try await server.makeDatabase())
        let recorder = try await scene.recorder()
        try await scene.store(1...250)
        try await scene.forwardAll()
        try await scene.expectStoredOnce(1...250)
        try await scene.store(251...300)
        try await scene.forwardAll()
        try await scene.expectStoredOnce(1...300)
        try await scene.source.close()
        try await scene.stage.end(recorder)
    }

    @Test func pointsWithoutNumbersAreRecordedOnce() async throws {
        let scene = try await Scene()
        let recorder = try await scene.recorder()
        try await scene.store(1...200, isNumbered: false)
        try await scene.forwardAll()
        // A forwarder that was forgotten meanwhile sends everything again.
        try await scene.source.beginForwarding(to: [])
        try await scene.forwardAll()
        try await scene.store(1...1)
        try await scene.forwardAll()
        try await scene.expectStoredOnce(1...1)
        let points = try await scene.stage.withStore { store in
            var times: [UnixTime] = []
            try await store.readAll(PointQuery(scene.stage.van), pageSize: 1000) { times += $0.map(\.location.time) }
            return times
        }
        #expect(points.count == 201 && Set(points).count == 200)
        try await scene.source.close()
        try await scene.stage.end(recorder)
    }

    @Test func aPasswordIsReadFromItsFile() async throws {
        let scene = try await Scene()
        let broker = try await MosquittoProcess.start(passwords: ["box": "topsecret", "keeper": "other"])
        let recorder = try Programs.start(
            "godwit",
            [
                "record", "--broker", "mqtt://keeper:other@127.0.0.1:\(broker.port)", "--name", "keeper", "--store",
                scene.stage.address, "--log-level", "info",
            ])
        try await recorder.waitForLog("Recorder is storing messages")
        try await scene.store(1...20)
        let file = scene.stage.folder.appending(path: "password")
        try "wrong\n".write(to: file, atomically: true, encoding: .utf8)
        let forwarder = try scene.forward(
            ["--once"], to: "mqtt://box@127.0.0.1:\(broker.port)#password-file=\(file.path())")
        try await forwarder.waitForLog("the broker refused the connection")
        try "topsecret\n".write(to: file, atomically: true, encoding: .utf8)
        let result = try await forwarder.result(within: .seconds(120))
        #expect(result.code == 0 && !result.errors.contains("topsecret"), "\(result.errors)")
        try await scene.expectStoredOnce(1...20)
        try await scene.source.close()
        try await scene.stage.end(recorder)
    }
}
