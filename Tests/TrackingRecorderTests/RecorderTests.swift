import Foundation
import Synchronization
import Testing
import TrackingCore
import TrackingRecorder
import TrackingStore
import TrackingTesting

/// The recorder as a whole, at a broker in memory.
@Suite struct RecorderTests {
    /// While the history takes nothing, nothing is taken in. That it lives is said all the same, on a new connection as well.
    @Test(.timeLimit(.minutes(5))) func itIsHeardWhileTheHistoryTakesNothing() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-recorder-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLiteHistoryStore(path: folder.appending(path: "history.sqlite").path())
        try await store.limitPages(to: 1)
        let broker = InMemoryBroker()
        let session = try #require(SessionID("mine"))
        var configuration = try RecorderConfiguration(client: ClientID("keeper"), session: session)
        configuration.window = 1
        configuration.isFirstRun = true
        let voice = broker.client(configuration.client) { connection in
            let will = Liveness(status: .offline, session: session, connection: connection)
            return OutgoingMessage(
                topic: "tracking/_clients/keeper", payload: MessageCodec.encode(will), isRetained: true)
        }
        let recorder = Recorder(
            configuration: configuration, store: store, intake: broker.client(try ClientID("keeper-intake")),
            voice: voice)
        let device = broker.client(try ClientID("box"))
        let events = recorder.events
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await recorder.run() }
            group.addTask { await device.run() }
            group.addTask { for await _ in device.events {} }
            try await Self.wait { Self.liveness(at: broker)?.connection == 0 }
            var point = Location(
                coordinate: try #require(Coordinate(latitude: 52, longitude: -8)), time: UnixTime(1.7e9))
            point.stream = StreamID("s")
            // What has room in the file's first pages would be stored.
            point.extra = Array(#"{"note":"\#(String(repeating: "x", count: 4000))"}"#.utf8)
            for seq: UInt64 in 1...3 {
                point.seq = seq
                let payload = try LocationCodec.encode(LocationUpdate(location: point))
                device.send([.publish(OutgoingMessage(topic: "tracking/van", payload: payload, isRetained: true), seq)])
            }
            for await event in events { if case .storeAway = event { break } }
            for connection in 1...2 {
                broker.disconnect(configuration.client)
                try await Self.wait {
                    let said = Self.liveness(at: broker)
                    return said?.connection == connection && said?.status != .offline
                }
            }
            #expect(recorder.counts.stored == 0)
            try await store.limitPages(to: 1_000_000)
            try await Self.wait { recorder.counts.stored == 3 }
            recorder.finish()
            device.send([.close(within: .zero)])
            try await group.waitForAll()
        }
        try await store.close()
    }

    private static func liveness(at broker: InMemoryBroker) -> Liveness? {
        broker.retained("tracking/_clients/keeper").flatMap { try? MessageCodec.decodeLiveness($0) }
    }

    private static func wait(until isSo: () -> Bool) async throws {
        while !isSo() { try await Task.sleep(for: .milliseconds(10)) }
    }
}
