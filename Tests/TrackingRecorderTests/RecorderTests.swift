import Foundation
import Synchronization
import Testing
import TrackingCore
import TrackingRecorder
import TrackingStore
import TrackingTesting

/// The recorder as a whole, at a broker in memory.
@Suite struct RecorderTests {
    /// While the store is full, no messages are acknowledged. The liveness is published nevertheless, including on
    /// new connections.
    @Test(.timeLimit(.minutes(5))) func theLivenessIsPublishedWhileTheStoreIsUnavailable() async throws {
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
            // A small point would fit into the first pages of the file.
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
                    let liveness = Self.liveness(at: broker)
                    return liveness?.connection == connection && liveness?.status != .offline
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

    /// The messages of a client that is gone for good are cleared. Messages of a live client, and of one within its
    /// lease, remain.
    @Test(.timeLimit(.minutes(5))) func messagesOfAbandonedClientsAreCleared() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-recorder-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try SQLiteHistoryStore(path: folder.appending(path: "history.sqlite").path())
        let broker = InMemoryBroker()
        var configuration = try RecorderConfiguration(
            client: ClientID("keeper"), session: try #require(SessionID("mine")))
        configuration.clearsAfter = .seconds(1)
        let recorder = Recorder(
            configuration: configuration, store: store, intake: broker.client(try ClientID("keeper-intake")),
            voice: broker.client(configuration.client))
        let stranger = broker.client(try ClientID("stranger"))
        let root = TopicRoot.standard
        let van = try TrackableID("van")
        let ghost = try ClientID("ghost")
        let session = try #require(SessionID("g"))
        func presence(_ kind: MemberKind, lease: Int) -> [UInt8] {
            MessageCodec.encode(
                Presence(
                    kind: kind, session: session, connection: 0, lease: .seconds(lease), since: UnixTime(1.7e9)))
        }
        let left: [Topic: [UInt8]] = [
            .publisher(van, ghost): presence(.publisher, lease: 1),
            .subscriber(van, ghost): presence(.subscriber, lease: 1),
            .request(van, ghost): MessageCodec.encode(ResolutionRequest(session: session, resolution: .standard)),
            .liveness(ghost): MessageCodec.encode(
                Liveness(status: .online(lease: .seconds(1)), session: session, connection: 0)),
        ]
        func isRetained(_ topic: Topic) -> Bool { broker.retained(root.path(topic)) != nil }
        let box = Topic.publisher(van, try ClientID("box"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await stranger.run() }
            group.addTask { for await _ in stranger.events {} }
            // Messages that are sent before the connection are lost, so they are repeated.
            try await Self.wait {
                for (topic, payload) in left { stranger.send([Self.retained(root.path(topic), payload)]) }
                stranger.send([Self.retained(root.path(box), presence(.publisher, lease: 86_400))])
                return isRetained(box) && left.keys.allSatisfy(isRetained)
            }
            group.addTask { try await recorder.run() }
            try await Self.wait { !left.keys.contains(where: isRetained) }
            #expect(isRetained(box))
            #expect(Self.liveness(at: broker) != nil)
            recorder.finish()
            stranger.send([.close(within: .zero)])
            try await group.waitForAll()
        }
        try await store.close()
    }

    private static func retained(_ topic: String, _ payload: [UInt8]) -> TransportCommand {
        .publish(OutgoingMessage(topic: topic, payload: payload, isRetained: true), 1)
    }

    private static func liveness(at broker: InMemoryBroker) -> Liveness? {
        broker.retained("tracking/_clients/keeper").flatMap { try? MessageCodec.decodeLiveness($0) }
    }

    private static func wait(until isSo: () -> Bool) async throws {
        while !isSo() { try await Task.sleep(for: .milliseconds(10)) }
    }
}
