import Foundation
import GRDB
import TestSupport
import Testing
import TrackingCore

@testable import TrackingStore

/// A history file that a gateway reads for its whole run while other programs change it.
struct SQLiteReadingTests {
    /// A reader switches to a history that replaced the file, and never returns to the earlier one.
    @Test func aRestoredHistoryIsReadInPlaceOfTheOther() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "history.sqlite").path()
            let recorder = try SQLiteHistoryStore(path: path)
            _ = try await recorder.store(batch(points(1...3)))
            try await recorder.backup(to: path + ".copy")
            _ = try await recorder.store(batch(points(4...9)))
            let reader = try SQLiteHistoryStore(path: path, isForReading: true)
            #expect(try await reader.allPoints().count == 9)
            try await recorder.close()
            try FileManager.default.removeItem(atPath: path)
            for _ in 0..<2 {
                let error = await #expect(throws: TrackingError.self) { _ = try await reader.allPoints() }
                #expect(error?.code == .storeFailed)
            }
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            try FileManager.default.moveItem(atPath: path + ".copy", toPath: path)
            #expect(try await reader.allPoints().count == 3)
            let again = try SQLiteHistoryStore(path: path)
            _ = try await again.store(batch(points(4...5)))
            #expect(try await reader.allPoints().count == 5)
            _ = try await again.erase(trackable("van"), before: nil, now: UnixTime(now.seconds + 100))
            #expect(try await reader.allPoints() == [])
            try await again.close()
            try await reader.close()
        }
    }

    /// Like `cp`, the restore overwrites the existing file.
    @Test func aHistoryThatIsCopiedOverIsRead() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "history.sqlite").path()
            let recorder = try SQLiteHistoryStore(path: path)
            _ = try await recorder.store(batch(points(1...3)))
            try await recorder.backup(to: path + ".copy")
            let reader = try SQLiteHistoryStore(path: path, isForReading: true)
            // The part of the write-ahead log that the reader still has does not belong to the copy.
            _ = try await recorder.store(batch(points(4...9)))
            #expect(try await reader.allPoints().count == 9)
            try await recorder.close()
            try Data(contentsOf: URL(filePath: path + ".copy")).write(to: URL(filePath: path), options: [])
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            #expect(try await reader.allPoints().count == 3)
            let again = try SQLiteHistoryStore(path: path)
            _ = try await again.store(batch(points(4...5)))
            #expect(try await reader.allPoints().count == 5)
            let state = try await again.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
            #expect(state == ["ok"])
            try await again.close()
            try await reader.close()
        }
    }

    /// A recorder that is starting has created the file, but no tables.
    @Test func anEmptyFileIsMadeAHistoryToBeRead() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "history.sqlite").path()
            try Data().write(to: URL(filePath: path))
            let reader = try SQLiteHistoryStore(path: path, isForReading: true)
            #expect(try await reader.trackables(after: nil, limit: 10).isEmpty)
            let error = await #expect(throws: TrackingError.self) { _ = try await reader.store(batch(points(1...3))) }
            #expect(error?.code == .storeFailed)
            try await reader.close()
        }
    }

    /// A recorder does not read a deleted file either.
    @Test func aRecorderReadsNoDeletedFile() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "history.sqlite").path()
            let store = try SQLiteHistoryStore(path: path)
            _ = try await store.store(batch(points(1...3)))
            #expect(try await store.allPoints().count == 3)
            try FileManager.default.moveItem(atPath: path, toPath: path + ".elsewhere")
            let error = await #expect(throws: TrackingError.self) { _ = try await store.allPoints() }
            #expect(error?.code == .storeFailed)
            try FileManager.default.moveItem(atPath: path + ".elsewhere", toPath: path)
            #expect(try await store.allPoints().count == 3)
            try await store.close()
        }
    }

    /// A folder of another user, without a writer at first.
    @Test(.enabled(if: geteuid() == 0, "mounts a folder: run it as root"))
    func laterRecordsAreReadFromAReadOnlyFolder() async throws {
        try await withTemporaryFolder { folder in
            let (own, theirs) = (folder.appending(path: "own"), folder.appending(path: "theirs"))
            for each in [own, theirs] {
                try FileManager.default.createDirectory(at: each, withIntermediateDirectories: false)
            }
            let path = own.appending(path: "history.sqlite").path()
            let first = try SQLiteHistoryStore(path: path)
            _ = try await first.store(batch(points(1...3)))
            try await first.close()
            try await ChildProcess.run("/bin/mount", ["--bind", own.path(), theirs.path()])
            do {
                try await ChildProcess.run("/bin/mount", ["-o", "remount,bind,ro", theirs.path()])
                let reader = try SQLiteHistoryStore(
                    path: theirs.appending(path: "history.sqlite").path(), isForReading: true)
                #expect(try await reader.allPoints().count == 3)
                let recorder = try SQLiteHistoryStore(path: path)
                _ = try await recorder.store(batch(points(4...5)))
                #expect(try await reader.allPoints().count == 5, "while it is recorded")
                _ = try await recorder.store(batch(points(6...9)))
                try await recorder.close()
                #expect(try await reader.allPoints().count == 9, "when that has ended")
                try await reader.close()
                // The last program that closes the history removes the write-ahead log.
                try await SQLiteHistoryStore(path: path).close()
                let other = try SQLiteHistoryStore(
                    path: theirs.appending(path: "history.sqlite").path(), isForReading: true)
                #expect(try await other.allPoints().count == 9)
                // All of this happens between two reads.
                let again = try SQLiteHistoryStore(path: path)
                _ = try await again.erase(trackable("van"), before: nil, now: UnixTime(now.seconds + 100))
                try await again.close()
                #expect(try await other.allPoints() == [])
                try await other.close()
            } catch {
                try? await ChildProcess.run("/bin/umount", ["-l", theirs.path()])
                throw error
            }
            try await ChildProcess.run("/bin/umount", ["-l", theirs.path()])
        }
    }
}
