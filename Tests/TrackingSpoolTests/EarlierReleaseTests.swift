import Foundation
import GRDB
import TestSupport
import Testing
import TrackingCore

@testable import TrackingSpool

/// A log that an earlier release wrote is one in this release, and that of a newer one is left alone.
@Suite(.serialized) struct EarlierReleaseTests {
    @Test(.enabled(if: Releases.areWritten)) func write() async throws {
        let file = Releases.file("log", version: SpoolSchema.version)
        guard !FileManager.default.fileExists(atPath: file.path()) else { return }
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try entries(1...20))
            try await log.close()
            try FileManager.default.copyItem(atPath: path, toPath: file.path())
        }
    }

    @Test func theLogsOfEveryVersionOpen() async throws {
        for file in try Releases.files("log", through: SpoolSchema.version) {
            try await withTemporaryFolder { folder in
                let path = folder.appending(path: "log").path()
                try FileManager.default.copyItem(atPath: file.path(), toPath: path)
                let log = SQLiteSpool(path: path)
                let opened = try await log.open(now: start)
                #expect(opened.salvage == nil, "\(file.lastPathComponent)")
                #expect(opened.trackables[try TrackableID("van")]?.streams.map(\.stored) == [numbers(1...20)])
                #expect(try await log.readAll("one", 1...20).records == SpoolRecords((1...20).map { record($0) }))
                try await log.append(try entries(1...5, in: "two"))
                try await log.close()
            }
        }
    }

    @Test func aNewerVersionIsRefusedWithItsNumberAndLeftAlone() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try entries(1...20))
            try await log.close()
            let queue = try DatabaseQueue(path: path)
            try await queue.writeWithoutTransaction { db in
                try db.execute(sql: "ALTER TABLE record ADD COLUMN more TEXT")
                try db.execute(sql: "PRAGMA user_version = 99")
            }
            try queue.close()
            let error = await #expect(throws: TrackingError.self) { _ = try await log.open(now: start) }
            #expect(error?.code == .spoolFailed && error?.message.contains("version 99") == true)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path())
            #expect(!names.contains { $0.contains("damaged") || $0.contains("salvage") }, "\(names)")
        }
    }
}
