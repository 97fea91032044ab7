import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingGateway
import TrackingMQTT
import TrackingPublisher
import TrackingSpool
import TrackingStore

/// Publishing of ingested records: real Mosquitto, the built recorder, and the final content of the history.
///
/// `GODWIT_INTAKE_TRACKABLES`: the number of trackables.
@Suite(.serialized, .timeLimit(.minutes(10))) struct GatewayIntakeTests {
    private static let crowd = Int(ProcessInfo.processInfo.environment["GODWIT_INTAKE_TRACKABLES"] ?? "") ?? 200

    /// A broker, a temporary folder, and the programs of the test.
    private final class Scene: Sendable {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-intake-\(UUID().uuidString)")
        let broker: MosquittoProcess
        let van = try! TrackableID("van")
        let keeper = try! ClientID("keeper")
        private var database: String { self.path("history.sqlite") }

        init() async throws {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
            self.broker = try await MosquittoProcess.start(extra: ["max_inflight_messages 500"])
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func path(_ name: String) -> String { self.folder.appending(path: name).path() }

        func recorder() async throws -> RunningProgram {
            let recorder = try Programs.start(
                "godwit",
                [
                    "record", "--broker", self.broker.url, "--name", "keeper", "--store", "sqlite:\(self.database)",
                    "--log-level", "info",
                ])
            try await recorder.waitForLog("Recorder is storing messages")
            return recorder
        }

        /// Runs an intake during `body`, and ends it.
        func withIntake<Value: Sendable>(
            spool: String = "spool.sqlite", waitsForKeeper: Bool = true, maximumUnderWay: Int = 50_000,
            _ body: (Intake) async throws -> Value
        ) async throws -> Value {
            var generator = SystemRandomNumberGenerator()
            var configuration = PublisherConfiguration(
                client: try ClientID("gateway"), session: .random(using: &generator))
            if waitsForKeeper { configuration.recording.recorders = [self.keeper] }
            var connection = MQTTConfiguration(
                endpoints: [try MQTTEndpoint.parse(self.broker.url).0], for: configuration)
            connection.longestWait = .seconds(1)
            let intake = Intake(
                configuration: configuration, transport: try MQTTTransport(configuration: connection),
                spool: SQLiteSpool(path: self.path(spool)), maximumUnderWay: maximumUnderWay)
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await intake.run() }
                let value = try await body(intake)
                group.cancelAll()
                while await group.nextResult() != nil {}
                return value
            }
        }

        /// Copies the log as it would be found if the gateway were killed now, under another name.
        func copySpool() throws -> String {
            for end in ["", "-wal"] {
                try FileManager.default.copyItem(
                    atPath: self.path("spool.sqlite") + end, toPath: self.path("killed.sqlite") + end)
            }
            return "killed.sqlite"
        }

        /// Returns the number of stored points. A point that is stored twice counts twice.
        func stored(_ id: TrackableID? = nil) async throws -> Int {
            let store = try SQLiteHistoryStore(path: self.database)
            var count = 0
            var next: PointName?
            repeat {
                let page = try await store.points(PointQuery(id ?? self.van), after: next, limit: 10_000)
                count += page.points.count
                next = page.next
            } while next != nil
            try await store.close()
            return count
        }

        func waitUntilStored(_ count: Int, within limit: Duration = .seconds(60)) async throws {
            let deadline = ContinuousClock.now + limit
            while true {
                let stored = try await self.stored()
                if stored == count { return }
                try #require(ContinuousClock.now < deadline, "\(stored) stored of \(count)")
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    /// Returns one point for each of these seconds.
    private static func drafts(_ seconds: some Sequence<Int>) throws -> [RecordDraft] {
        try seconds.map { second in
            let place = try #require(Coordinate(latitude: 52 + Double(second) / 10_000, longitude: -8.5))
            let point = Location(coordinate: place, time: UnixTime(1_790_000_000 + Double(second)))
            let digest = withUnsafeBytes(of: second.bigEndian) { Array($0) }
            return RecordDraft(.point(point), digest: try #require(RecordDigest(digest + digest)))
        }
    }

    private static func error(_ body: () async throws -> Void) async -> TrackingError? {
        do { try await body() } catch { return error as? TrackingError }
        return nil
    }

    @Test func aBatchIsAnsweredWhenItIsStored() async throws {
        let scene = try await Scene()
        let recorder = try await scene.recorder()
        try await scene.withIntake { intake in
            let names = try await intake.take(Self.drafts(1...200), for: scene.van, within: .seconds(60))
            #expect(names.map(\.seq) == Array(1...200))
            #expect(try await scene.stored() == 200, "answered when it is stored")
            #expect(try await intake.take(Self.drafts(1...200), for: scene.van, within: .seconds(60)) == names)
            // Two batches at once, which share half of their points.
            async let first = intake.take(Self.drafts(201...300), for: scene.van, within: .seconds(60))
            async let second = intake.take(Self.drafts(251...350), for: scene.van, within: .seconds(60))
            #expect(Set(try await first + second).count == 150)
            #expect(try await scene.stored() == 350)
        }
        recorder.terminate()
    }

    @Test func anAnswerThatWasLostAndAGatewayThatWasKilledChangeNoName() async throws {
        let scene = try await Scene()
        let recorder = try await scene.recorder()
        let (names, killed) = try await scene.withIntake { intake in
            let names = try await intake.take(Self.drafts(1...120), for: scene.van, within: .seconds(60))
            return (names, try scene.copySpool())
        }
        try await scene.withIntake(spool: killed) { intake in
            let rest = try await intake.take(Self.drafts((60...140).reversed()), for: scene.van, within: .seconds(60))
            #expect(Array(rest.dropFirst(20).reversed()) == Array(names[59..<120]), "split and turned round")
            #expect(
                try await intake.take(Self.drafts(1...70), for: scene.van, within: .seconds(60)) == Array(names[..<70]))
            #expect(try await scene.stored() == 140)
        }
        recorder.terminate()
    }

    @Test func aMissingRecorderIsReportedAndEverythingIsStoredLater() async throws {
        let scene = try await Scene()
        let killed = try await scene.withIntake { intake in
            let clock = ContinuousClock()
            let started = clock.now
            let error = await Self.error {
                try await intake.take(Self.drafts(1...300), for: scene.van, within: .seconds(10))
            }
            #expect(error?.code == .notAcknowledged && error?.message.contains("'keeper'") == true, "\(error as Any)")
            #expect(started.duration(to: clock.now) < .seconds(60))
            return try scene.copySpool()
        }
        // No further records arrive: the content of the log is still published.
        let recorder = try await scene.recorder()
        try await scene.withIntake(spool: killed) { intake in
            try await scene.waitUntilStored(300)
            #expect(try await intake.take(Self.drafts(1...300), for: scene.van, within: .seconds(60)).count == 300)
            #expect(try await scene.stored() == 300)
        }
        recorder.terminate()
    }

    @Test func aMissingBrokerIsReportedAndEverythingIsStoredLater() async throws {
        let scene = try await Scene()
        let recorder = try await scene.recorder()
        try await scene.withIntake { intake in
            try await intake.take(Self.drafts(1...5), for: scene.van, within: .seconds(60))
            try await scene.broker.stop()
            let error = await Self.error {
                try await intake.take(Self.drafts(1...50), for: scene.van, within: .seconds(10))
            }
            #expect([.brokerUnreachable, .notAcknowledged].contains(error?.code), "\(error as Any)")
            try await scene.broker.restart()
            #expect(try await intake.take(Self.drafts(1...50), for: scene.van, within: .seconds(60)).count == 50)
            #expect(try await scene.stored() == 50)
        }
        recorder.terminate()
    }

    @Test func batchesBeyondTheLimitAreRejectedAndRetried() async throws {
        let scene = try await Scene()
        try await scene.withIntake(maximumUnderWay: 100) { intake in
            let busy = await withTaskGroup(of: TrackingError?.self) { group in
                for batch in 0..<4 {
                    group.addTask {
                        await Self.error {
                            let drafts = try Self.drafts(batch * 40 + 1...batch * 40 + 40)
                            try await intake.take(drafts, for: scene.van, within: .seconds(10))
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1?.code) }
            }
            #expect(busy.filter { $0 == .notAcknowledged }.count == 2, "\(busy)")
            #expect(busy.filter { $0 == .overloaded }.count == 2, "\(busy)")
            let recorder = try await scene.recorder()
            for batch in 0..<4 {
                let drafts = try Self.drafts(batch * 40 + 1...batch * 40 + 40)
                try await intake.take(drafts, for: scene.van, within: .seconds(60))
            }
            #expect(try await scene.stored() == 160)
            recorder.terminate()
        }
    }

    @Test func theRecordsOfManyTrackablesAreStoredOnce() async throws {
        let scene = try await Scene()
        let recorder = try await scene.recorder()
        let ids = try (0..<Self.crowd).map { try TrackableID("phone-\($0)") }
        try await scene.withIntake { intake in
            let clock = ContinuousClock()
            for round in 0..<2 {
                let started = clock.now
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for id in ids {
                        let drafts = try Self.drafts(round * 20 + 1...round * 20 + 20)
                        group.addTask { try await intake.take(drafts, for: id, within: .seconds(120)) }
                    }
                    try await group.waitForAll()
                }
                let time = started.duration(to: clock.now)
                let rate = Double(20 * ids.count) / (time / .seconds(1))
                print("round \(round): \(20 * ids.count) points of \(ids.count) in \(time), \(Int(rate)) points/s")
                #expect(rate > 100)
            }
            for id in [ids[0], ids[ids.count - 1]] { #expect(try await scene.stored(id) == 40) }
        }
        recorder.terminate()
    }

    @Test func theProgramIsThereAndTakesLeave() async throws {
        let scene = try await Scene()
        let gateway = try Programs.start(
            "godwit",
            [
                "serve", "--listen", "127.0.0.1:0", "--broker", scene.broker.url, "--acknowledge-by", "keeper",
                "--state", scene.path("state"),
            ])
        let topic = "tracking/_clients/gateway"
        let deadline = ContinuousClock.now + .seconds(60)
        while try await !MosquittoTool.retained(topic, on: scene.broker).contains("online") {
            try #require(ContinuousClock.now < deadline, "\(gateway.errors)")
        }
        #expect(FileManager.default.fileExists(atPath: scene.path("state/gateway-spool.sqlite")))
        gateway.terminate()
        let result = try await gateway.result(within: .seconds(60))
        #expect(result.code == 0, "\(result.errors)")
        #expect(try await MosquittoTool.retained(topic, on: scene.broker).contains("offline"))
    }
}
