import Foundation
import GRDB
import TestSupport
import Testing
import TrackingCore

@testable import TrackingStore

/// A history that an earlier release wrote is one in this release.
@Suite(.serialized) struct EarlierReleaseTests {
    private static let version = SQLiteHistorySchema.migrations.count

    @Test(.enabled(if: Releases.areWritten)) func write() async throws {
        let file = Releases.file("history", version: Self.version)
        guard !FileManager.default.fileExists(atPath: file.path()) else { return }
        try await withTemporaryFolder { folder in
            let store = try SQLiteHistoryStore(path: folder.appending(path: "history.sqlite").path())
            var content = try batch(points(1...9) + [fullPoint(10)] + points(13...20)) { recording in
                recording.declaration = StreamDeclaration(stream: StreamID("one")!, gone: [11...12])  // a valid name
            }
            content.refused = [
                RefusedMessage(topic: "tracking/van", receivedAt: now, reason: "no JSON", payload: Array("x".utf8))
            ]
            _ = try await store.store(content)
            try await store.backup(to: file.path())
            try await store.close()
        }
    }

    @Test func theHistoriesOfEveryVersionOpen() async throws {
        for file in try Releases.files("history", through: Self.version) {
            try await withTemporaryFolder { folder in
                let path = folder.appending(path: "history.sqlite").path()
                try FileManager.default.copyItem(atPath: file.path(), toPath: path)
                let store = try SQLiteHistoryStore(path: path)
                let read = try await store.allPoints().map(\.location)
                #expect(read == (try points(1...9) + [fullPoint(10)] + points(13...20)), "\(file.lastPathComponent)")
                _ = try await store.store(try batch(points(20...30)))
                let report = try #require(try await store.verify(try trackable("van")))
                #expect(report.points == 28 && report.isComplete && report.streams.first?.duplicates == 1)
                #expect(try await store.quarantined(limit: 10).map(\.reason) == ["no JSON"])
                #expect(try await store.lastPositions(of: nil).first?.location.seq == 30)
                try await store.close()
                let queue = try DatabaseQueue(path: path)
                let version = try await queue.read { try Int.fetchOne($0, sql: "PRAGMA user_version") }
                #expect(version == Self.version)
            }
        }
    }
}
