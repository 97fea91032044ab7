import Foundation
import Testing
import TrackingCore
import TrackingStore

/// A history that is opened before a recorder has made it.
struct AwaitedHistoryTests {
    @Test func aMissingHistoryIsEmptyUntilTheFileExists() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-awaited-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "history.sqlite").path()
        let van = try TrackableID("van")
        let awaited = AwaitedHistoryStore(path: path)
        #expect(!awaited.isThere)
        #expect(try await awaited.trackables(after: nil, limit: 1).isEmpty)
        #expect(try await awaited.verify(van) == nil)
        #expect(try await awaited.points(PointQuery(van), after: nil, limit: 1).points.isEmpty)
        await #expect(throws: TrackingError.self) { try await awaited.store(RecordingBatch()) }

        let store = try SQLiteHistoryStore(path: path)
        var point = Location(
            coordinate: try #require(Coordinate(latitude: 52, longitude: -8)), time: UnixTime(1_790_000_000))
        (point.seq, point.stream) = (1, StreamID("one"))
        var batch = RecordingBatch()
        var recording = Recording(of: van, at: UnixTime(1_790_000_001))
        recording.points = [point]
        batch.recordings = [recording]
        _ = try await store.store(batch)

        #expect(awaited.isThere)
        #expect(try await awaited.points(PointQuery(van), after: nil, limit: 10).points.count == 1)
        #expect(try await awaited.trackables(after: nil, limit: 1).map(\.id) == [van])
        try await awaited.close()
        try await store.close()
    }
}
