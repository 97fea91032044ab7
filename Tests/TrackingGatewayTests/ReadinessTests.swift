import Foundation
import HTTPTypes
import Synchronization
import Testing
import TrackingCore
import TrackingStore

@testable import TrackingGateway

/// `/readyz`, and a history that appears later.
struct ReadinessTests {
    private static func ready(_ client: RouterClient) async throws -> (status: Int, json: [String: JSONValue]) {
        let answer = try await client.execute(uri: "/readyz", method: .get)
        return (answer.status.code, answer.json?.object ?? [:])
    }

    @Test func aHistoryThatAppearsIsFound() async throws {
        let gateway = try TestGateway { $0.isHistoryConfigured = true }
        let path = gateway.folder.appending(path: "history.sqlite").path()
        let token = try await gateway.token()
        try await gateway.test(history: AwaitedHistoryStore(path: path)) { client async throws in
            func history() async throws -> HTTPResponse.Status {
                try await client.execute(
                    uri: "/api/v1/trackables/van/history", method: .get, headers: .bearer(token)
                ).status
            }
            #expect(try await history() == .notFound)
            let missing = try await Self.ready(client)
            #expect(missing.status == 503 && missing.json["history"] == .flag(false))
            #expect(missing.json["reasons"]?.object?["history"]?.text?.contains("does not exist") == true)
            let positions = try await client.execute(uri: "/api/v1/positions", method: .get, headers: .bearer(token))
            #expect(positions.status == .ok)

            let store = try SQLiteHistoryStore(path: path)
            var point = Location(
                coordinate: try #require(Coordinate(latitude: 52, longitude: -8)), time: UnixTime(1_790_000_000))
            (point.seq, point.stream) = (1, StreamID("one"))
            var recording = Recording(of: try TrackableID("van"), at: UnixTime(1_790_000_001))
            recording.points = [point]
            var batch = RecordingBatch()
            batch.recordings = [recording]
            _ = try await store.store(batch)
            #expect(try await history() == .ok)
            let found = try await Self.ready(client)
            #expect(found.status == 200 && found.json["ready"] == .flag(true) && found.json["reasons"] == nil)
            try await store.close()
        }
    }

    @Test func anOptionalHistoryMayBeMissing() async throws {
        let gateway = try TestGateway()
        let path = gateway.folder.appending(path: "history.sqlite").path()
        try await gateway.test(history: AwaitedHistoryStore(path: path)) { client async throws in
            #expect(try await Self.ready(client).status == 200)
        }
    }

    @Test func aBrokerThatDroppedMessagesIsNamed() async throws {
        let gateway = try TestGateway()
        let time = Mutex<Duration?>(nil)
        var live = LiveState(known: { _ in nil }, positions: { [:] }, isConnected: { true })
        live.timeSinceDrop = { time.withLock { $0 } }
        try await gateway.test(live: live) { client async throws in
            #expect(try await Self.ready(client).status == 200)
            time.withLock { $0 = .seconds(30) }
            let dropped = try await Self.ready(client)
            #expect(dropped.status == 503 && dropped.json["queues"] == .flag(false))
            #expect(dropped.json["reasons"]?.object?["queues"]?.text?.contains("dropped messages 30 s ago") == true)
            time.withLock { $0 = .seconds(601) }
            #expect(try await Self.ready(client).status == 200)
        }
    }

    @Test func aConnectionThatIsDownIsNamed() async throws {
        let gateway = try TestGateway()
        let live = LiveState(known: { _ in nil }, positions: { [:] }, isConnected: { false })
        try await gateway.test(live: live) { client async throws in
            let ready = try await Self.ready(client)
            #expect(
                ready.status == 503 && ready.json["broker"] == .flag(false) && ready.json["database"] == .flag(true))
            #expect(ready.json["reasons"]?.object?.keys.sorted() == ["broker"])
        }
    }

    @Test func unstoredRecordsMakeTheGatewayNotReadyAfterAMinute() throws {
        #expect(GatewayChecks.reason(unrecorded: 200, wait: .seconds(59), recorders: []) == nil)
        let unnamed = try #require(GatewayChecks.reason(unrecorded: 200, wait: .seconds(60), recorders: []))
        #expect(unnamed.contains("no recorder stores the ingested records: 200") && unnamed.contains("--store"))
        let keeper = try ClientID("keeper")
        let named = GatewayChecks.reason(unrecorded: 200, wait: .seconds(60), recorders: [keeper])
        #expect(named == "200 ingested records wait for the recorder 'keeper' to acknowledge them")
    }

    @Test func aDiskThatCannotBeAskedIsNotFull() {
        #expect(!DiskRoom.isFull(at: "/nowhere/at/all"))
        #expect(!DiskRoom.isFull(at: FileManager.default.temporaryDirectory.appending(path: "x").path()))
        #expect(DiskRoom.isFull(at: "/proc/self/none"), "a file system without room")
    }
}
