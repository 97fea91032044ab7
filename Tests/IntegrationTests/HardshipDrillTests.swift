import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingPublisher
import TrackingTesting

/// Brokers that reject messages, and full disks: the built agent, real Mosquitto, and a recorder that counts the
/// records.
@Suite(.serialized, .timeLimit(.minutes(10))) struct HardshipDrillTests {
    // MARK: - Packets

    /// A broker with a packet limit of 1 KiB.
    private func narrowBroker() async throws -> MosquittoProcess {
        try await MosquittoProcess.start(extra: ["max_packet_size 1024"])
    }

    @Test func aBrokerWithAPacketLimitOf1KiB() async throws {
        let broker = try await self.narrowBroker()
        try await DrillScene.play(on: broker) { scene in
            let agent = try scene.agent("box", source: "jsonl:\(try scene.drive(200))", ["--speed", "1000"])
            let result = try await agent.result(within: .seconds(150))
            #expect(result.code == 0, "\(result.errors.suffix(2000))")
            #expect(agent.loggedRecords.count >= 200)
            try await scene.everythingArrived(agent.loggedRecords)
            let largest = scene.recorder.contents.batches.map { HistoryCodec.encode($0).count }.max() ?? 0
            #expect(largest <= 1024)
            // The batches are small, but contain more than one record.
            #expect(scene.recorder.contents.batches.contains { $0.records.count > 1 })
            #expect(!result.errors.contains("Record quarantined"))
        }
    }

    /// MQTT 3.1.1 does not report the packet limit: the broker closes the connection.
    @Test func aBrokerWithAPacketLimitOf1KiBThatSpeaksOnlyMQTT311() async throws {
        let broker = try await self.narrowBroker()
        try await DrillScene.play(on: broker) { scene in
            var connection = MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: try ClientID("box"))
            connection.version = .v311
            connection.firstWait = .milliseconds(20)
            var configuration = PublisherConfiguration(
                client: connection.client, session: try #require(SessionID("mine")))
            configuration.recording.batchSize = 20
            configuration.recording.batchWindow = .milliseconds(200)
            let publisher = AssetPublisher(
                configuration: configuration, transport: try MQTTTransport(configuration: connection))
            publisher.track(Trackable(try TrackableID("van")))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await publisher.run() }
                for index in 0..<100 {
                    let coordinate = try #require(Coordinate(latitude: 52 + Double(index) * 1e-4, longitude: -8.5))
                    publisher.publish(Location(coordinate: coordinate, time: UnixTime(1_700_000_000 + Double(index))))
                }
                publisher.finish()
                try await group.waitForAll()
            }
            let stream = try #require(scene.recorder.contents.records.keys.first?.stream)
            try await scene.everythingArrived(Set((1...100).map { TestRecorder.Name(stream: stream, seq: $0) }))
            #expect(scene.recorder.contents.batches.contains { $0.records.count > 1 })
        }
    }

    // MARK: - Refusals

    /// A broker with an access file that denies a topic.
    private func broker(denying topic: String, _ folder: URL) async throws -> MosquittoProcess {
        let rules = folder.appending(path: "acl").path()
        try self.deny(topic, in: rules)
        return try await MosquittoProcess.start(extra: ["acl_file \(rules)"])
    }

    private func deny(_ topic: String?, in path: String) throws {
        let text = "topic readwrite tracking/#\n" + (topic.map { "topic deny \($0)\n" } ?? "")
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-hardship-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    @Test func aBrokerThatForbidsTheRecordingLaneGetsEverythingOnceItAllowsIt() async throws {
        try await self.withFolder { folder in
            let broker = try await self.broker(denying: "tracking/+/history", folder)
            try await DrillScene.play(on: broker) { scene in
                // An update every three seconds carries at most sixty of the 240 points.
                let agent = try scene.agent(
                    "box", source: "jsonl:\(try scene.drive(20_000))",
                    ["--speed", "20", "--default-resolution", "HIGH/60000/0"])
                try await agent.waitForLog("Broker rejected a batch of records")
                // Live positions are still published.
                let before = scene.recorder.contents.arrivals.count
                try await agent.wait { _ in scene.recorder.contents.arrivals.count > before + 2 }
                #expect(scene.recorder.contents.batches.isEmpty)
                #expect(!agent.errors.contains("Record quarantined"))
                try self.deny(nil, in: folder.appending(path: "acl").path())
                broker.reload()
                try await agent.wait(within: .seconds(90)) { _ in !scene.recorder.contents.batches.isEmpty }
                agent.terminate()
                let result = try await agent.result(within: .seconds(60))
                #expect(
                    result.errors.components(separatedBy: "Broker rejected a batch of records").count == 2,
                    "logged once")
                #expect(result.code == 0, "\(result.errors.suffix(2000))")
                try await scene.sendTheRest("box")
                try await scene.everythingArrived(agent.loggedRecords)
            }
        }
    }

    /// On MQTT 3.1.1, a broker acknowledges a forbidden message and drops it. A record that needs a recorder's
    /// acknowledgement stays in the log.
    @Test func recordsWaitForARecorderWhenTheBrokerSilentlyForbidsTheRecordingLane() async throws {
        try await self.withFolder { folder in
            let broker = try await self.broker(denying: "tracking/+/history", folder)
            try await DrillScene.play(on: broker, recorder: "keeper") { scene in
                var connection = MQTTConfiguration(
                    endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: try ClientID("box"))
                connection.version = .v311
                connection.firstWait = .milliseconds(20)
                var configuration = PublisherConfiguration(
                    client: connection.client, session: try #require(SessionID("mine")))
                configuration.recording.batchSize = 20
                configuration.recording.batchWindow = .milliseconds(200)
                configuration.recording.recorders = [try ClientID("keeper")]
                let publisher = AssetPublisher(
                    configuration: configuration, transport: try MQTTTransport(configuration: connection))
                publisher.track(Trackable(try TrackableID("van")))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await publisher.run() }
                    for index in 0..<200 {
                        let place = try #require(Coordinate(latitude: 52 + Double(index) * 1e-4, longitude: -8.5))
                        publisher.publish(Location(coordinate: place, time: UnixTime(1_700_000_000 + Double(index))))
                    }
                    try await Task.sleep(for: .seconds(3))  // the absence of a change has no condition
                    #expect(scene.recorder.contents.batches.isEmpty)
                    #expect(try await publisher.waiting(limit: 200).count > 100, "the broker was not believed")
                    try self.deny(nil, in: folder.appending(path: "acl").path())
                    broker.reload()
                    let deadline = ContinuousClock.now + .seconds(90)
                    while try await !publisher.waiting(limit: 1).isEmpty {
                        try #require(ContinuousClock.now < deadline, "it waits still")
                        try await Task.sleep(for: .milliseconds(100))
                    }
                    publisher.finish()
                    try await group.waitForAll()
                }
                let stream = try #require(scene.recorder.contents.records.keys.first?.stream)
                try await scene.everythingArrived(Set((1...200).map { TestRecorder.Name(stream: stream, seq: $0) }))
            }
        }
    }

    @Test func aBrokerThatForbidsTheLiveLaneGetsEverythingOnceItAllowsIt() async throws {
        try await self.withFolder { folder in
            let broker = try await self.broker(denying: "tracking/van", folder)
            try await DrillScene.play(on: broker) { scene in
                let agent = try scene.agent("box", source: "jsonl:\(try scene.drive(20_000))", ["--speed", "20"])
                // The state has the reason.
                try await agent.waitForLog(
                    "refused the message: Not authorized (0x87). Give this user the right at the broker\" state=OFFLINE trackable=van"
                )
                try await scene.wait(agent, logged: 100)
                try self.deny(nil, in: folder.appending(path: "acl").path())
                broker.reload()
                let names = agent.loggedRecords
                try await scene.everythingArrived(names)
                agent.terminate()
                let result = try await agent.result(within: .seconds(60))
                #expect(result.code == 0, "\(result.errors.suffix(2000))")
                try await scene.sendTheRest("box")
                try await scene.everythingArrived(agent.loggedRecords)
            }
        }
    }

    // MARK: - The disk

    @Test(.enabled(if: geteuid() == 0, "mounts a small file system: run it as root"))
    func livePositionsContinueOnAFullDiskAndRecordingResumesByItself() async throws {
        try await SmallDisk.use(of: 16 << 20) { disk in
            let broker = try await MosquittoProcess.start()
            try await DrillScene.play(on: broker, recorder: "keeper") { scene in
                // The agent waits for an absent recorder, so that every record stays in the log.
                let spool = disk.appending(path: "box.sqlite").path()
                let agent = try scene.agent(
                    "box", source: "jsonl:\(try scene.drive(200_000))",
                    ["--speed", "100", "--acknowledge-by", "keeper", "--acknowledge-by", "absent"], spool: spool)
                try await scene.wait(agent, logged: 20)
                try SmallDisk.fill(disk)
                try await agent.waitForLog("Records could not be written to the device's log", within: .seconds(90))
                #expect(agent.errors.contains("disk is full"))
                // Live positions are still published.
                let newest = scene.recorder.contents.arrivals.filter(\.isLive).map(\.newest).max() ?? 0
                try await agent.wait(within: .seconds(60)) { _ in
                    scene.recorder.contents.arrivals.contains { $0.isLive && $0.newest > newest + 100 }
                }
                try FileManager.default.removeItem(at: disk.appending(path: "filler"))
                let before = agent.loggedRecords.count
                try await scene.wait(agent, logged: before + 100)
                agent.terminate()
                let result = try await agent.result(within: .seconds(60))
                #expect(result.code == 0, "\(result.errors.suffix(2000))")
                try await scene.sendTheRest("box", ["--acknowledge-by", "keeper"], spool: spool)
                try await scene.everythingArrived(agent.loggedRecords)
                // The log itself is not damaged.
                #expect(!result.errors.contains("damaged"))
            }
        }
    }
}
