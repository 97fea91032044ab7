import Foundation
import GRDB
import Testing
import TrackingCore

@testable import TrackingStore

/// The behaviour of the SQLite store alone.
struct SQLiteHistoryTests {
    private func withPath(_ body: (String) async throws -> Void) async throws {
        try await withTemporaryFolder { try await body($0.appending(path: "history.sqlite").path()) }
    }

    /// An acknowledged record survives a power cut: FULL is 2.
    @Test func aCommitIsOnTheDiskWhenItReturns() async throws {
        try await self.withPath { path in
            let store = try SQLiteHistoryStore(path: path)
            _ = try await store.store(batch(points(1...3)))
            _ = try await store.erase(trackable("van"), before: nil, now: now)
            let level = try await store.pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
            #expect(level == 2)
            try await store.close()
        }
    }

    /// An acknowledged record can be found: nothing is stored in a file that was deleted.
    @Test(arguments: ["", "-wal"]) func nothingIsStoredInADeletedFile(suffix: String) async throws {
        try await self.withPath { path in
            let store = try SQLiteHistoryStore(path: path)
            _ = try await store.store(batch(points(1...3)))
            try FileManager.default.moveItem(atPath: path + suffix, toPath: path + ".elsewhere")
            for isReplaced in [false, true] {
                if isReplaced { try Data().write(to: URL(filePath: path + suffix)) }
                let error = await #expect(throws: TrackingError.self) {
                    _ = try await store.store(batch(points(4...4)))
                }
                #expect(error?.code == .storeFailed)
                #expect(error?.message.contains("\(path)\(suffix) was removed") == true, "\(error?.message ?? "")")
            }
            try FileManager.default.removeItem(atPath: path + suffix)
            try FileManager.default.moveItem(atPath: path + ".elsewhere", toPath: path + suffix)
            #expect(try await store.store(batch(points(1...5))).stored == 2)
            try await store.close()
            let again = try SQLiteHistoryStore(path: path)
            #expect(try await again.allPoints().count == 5)
            try await again.close()
        }
    }

    @Test(arguments: [0, 2, 99]) func anotherVersionIsRefusedWithItsNumber(version: Int) async throws {
        try await self.withPath { path in
            try await SQLiteHistoryStore(path: path).close()
            let queue = try DatabaseQueue(path: path)
            try await queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = \(version)") }
            try queue.close()
            for isForReading in [false, true] {
                let error = #expect(throws: TrackingError.self) {
                    _ = try SQLiteHistoryStore(path: path, isForReading: isForReading)
                }
                #expect(error?.code == .storeUnusable)
                for part in [path, "version \(version)", "expects version 1", "name another file"] {
                    #expect(error?.message.contains(part) == true, "\(error?.message ?? "") lacks '\(part)'")
                }
            }
        }
    }

    @Test func anUnusablePathIsReported() async throws {
        try await self.withPath { path in
            let missing = #expect(throws: TrackingError.self) { _ = try SQLiteHistoryStore(path: "\(path)/none") }
            #expect(missing?.code == .storeFailed)
            #expect(missing?.message.contains("cannot be opened: No such file or directory; name a file in") == true)
            for isForReading in [false, true] {
                let folder = #expect(throws: TrackingError.self) {
                    _ = try SQLiteHistoryStore(path: "/", isForReading: isForReading)
                }
                #expect(folder?.code == .storeUnusable)
                #expect(folder?.message == "the history / is a folder: name a file in it")
            }
        }
    }

    @Test func anotherDatabaseIsLeftAlone() async throws {
        try await self.withPath { path in
            let queue = try DatabaseQueue(path: path)
            try await queue.write { try $0.execute(sql: "CREATE TABLE mine (value TEXT)") }
            try queue.close()
            let error = #expect(throws: TrackingError.self) { _ = try SQLiteHistoryStore(path: path) }
            #expect(error?.code == .storeUnusable)
            try Data("no database at all, but long enough to be one".utf8).write(to: URL(filePath: path))
            let other = #expect(throws: TrackingError.self) { _ = try SQLiteHistoryStore(path: path) }
            #expect(other?.code == .storeUnusable)
            #expect(
                other?.message == "cannot open the history \(path): it is not an SQLite database. Name another file")
        }
    }

    /// For example, a recorder and an import that start together.
    @Test func severalProgramsMakeOneHistoryTogether() async throws {
        for _ in 0..<8 {
            try await self.withPath { path in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 { group.addTask { try await Self.opened(path).close() } }
                    try await group.waitForAll()
                }
            }
        }
    }

    /// Another program may write at that moment.
    private static func opened(_ path: String) throws -> SQLiteHistoryStore {
        while true {
            do throws(TrackingError) {
                return try SQLiteHistoryStore(path: path)
            } catch {
                guard error.code == .storeBusy else { throw error }
            }
        }
    }

    @Test func aLogOfAnyVersionIsNoHistory() async throws {
        try await self.withPath { path in
            let queue = try DatabaseQueue(path: path)
            try await queue.write {
                try $0.execute(
                    sql: "CREATE TABLE record (number INTEGER); PRAGMA application_id = 7; PRAGMA user_version = 99")
            }
            try queue.close()
            let error = #expect(throws: TrackingError.self) { _ = try SQLiteHistoryStore(path: path) }
            #expect(
                error?.message
                    == "cannot open the history \(path): it is a database of another program. Name another file")
        }
    }

    @Test func changesOfAnotherProgramAreVisible() async throws {
        try await self.withPath { path in
            let (one, other) = (try SQLiteHistoryStore(path: path), try SQLiteHistoryStore(path: path))
            _ = try await one.store(batch(points(1...3)))
            #expect(try await other.store(batch(points(1...5))).stored == 2)
            #expect(try await one.store(batch(points(1...6))).stored == 1)
            _ = try await other.erase(trackable("van"), before: nil, now: UnixTime(now.seconds + 100))
            #expect(try await one.store(batch(points(1...7))).stored == 0)
            try await one.close()
            try await other.close()
        }
    }

    /// Neither the database nor the files beside it contain a byte of an erased record.
    @Test func noByteOfAnErasedRecordIsLeft() async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteHistoryStore(path: folder.appending(path: "history.sqlite").path())
            let marker = "very-secret-place"
            var secret = try points(1...2000)
            for index in secret.indices { secret[index].extra = Array(#"{"x":"\#(marker)"}"#.utf8) }
            _ = try await store.store(batch(secret))
            _ = try await store.store(batch(points(1...500), of: "bus"))
            func files() throws -> [Data] {
                try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).map {
                    try Data(contentsOf: $0)
                }
            }
            #expect(try files().contains { $0.range(of: Data(marker.utf8)) != nil })
            let report = try await store.erase(trackable("van"), before: nil, now: UnixTime(now.seconds + 5000))
            #expect(report.remains.isEmpty)
            let place = withUnsafeBytes(of: try #require(secret.last).coordinate.latitude.bitPattern.bigEndian) {
                Data($0)
            }
            for file in try files() {
                #expect(file.range(of: Data(marker.utf8)) == nil && file.range(of: place) == nil)
            }
            try await store.close()
        }
    }

    @Test func theViewsReadAsTheyAreDocumented() async throws {
        try await self.withPath { path in
            let store = try SQLiteHistoryStore(path: path)
            let one = try stream("one")
            var ended = Trip(id: "t", mode: "car", start: now, stream: one, seq: 3)
            (ended.state, ended.end) = (.ended, UnixTime(now.seconds + 60))
            _ = try await store.store(
                batch([fullPoint(1), point(2)]) {
                    $0.trips = [RecordedDocument(ended, json: MessageCodec.encode(ended))]
                })
            let queue = try DatabaseQueue(path: path)
            func first(_ sql: String) async throws -> [String?] {
                try await queue.read { db in
                    try Row.fetchOne(db, sql: sql).map { row in row.databaseValues.map { String.fromDatabaseValue($0) }
                    } ?? []
                }
            }
            #expect(
                try await first("SELECT trackable, at, stream, mode, motion, source FROM points ORDER BY time")
                    == ["van", "2026-09-21T14:13:21.000Z", "one", "BALANCED", "driving,stationary", "gps"])
            #expect(try await first("SELECT format('%d %.4f', seq, latitude) FROM last_position") == ["2 52.0002"])
            #expect(
                try await first("SELECT trackable, trip, state, ended_at FROM trips")
                    == ["van", "t", "ENDED", "2026-09-21T14:14:20.000Z"])
            #expect(
                try await first("SELECT trackable, stream, format('%d-%d', first, last), mark FROM streams")
                    == ["van", "one", "1-3", "stored"])
            for seq in UInt64(4)...9 { _ = try await store.store(batch([point(seq)])) }
            try await store.close()
            #expect(try await first("SELECT format('%d', seq) FROM last_position") == ["9"])
            #expect(try await first("SELECT format('%d-%d', first, last) FROM streams") == ["1-9"])
            try queue.close()
        }
    }

    @Test func aCopyReplacesNoFile() async throws {
        try await self.withPath { path in
            let store = try SQLiteHistoryStore(path: path)
            let (file, link, dangling) = (path + ".file", path + ".link", path + ".dangling")
            try Data("mine".utf8).write(to: URL(filePath: file))
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
            try FileManager.default.createSymbolicLink(atPath: dangling, withDestinationPath: path + ".nowhere")
            for (copy, what) in [(file, "is there already"), (link, "is there already"), (dangling, "is a link")] {
                let error = await #expect(throws: TrackingError.self) { try await store.backup(to: copy) }
                #expect(error?.code == .inputUnreadable && error?.message.contains(what) == true, "\(copy)")
            }
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: dangling) == path + ".nowhere")
            #expect(!FileManager.default.fileExists(atPath: path + ".nowhere"))
            try await store.close()
        }
    }

    @Test func aCopyIsMadeWhileRecordsAreStored() async throws {
        try await self.withPath { path in
            let store = try SQLiteHistoryStore(path: path)
            _ = try await store.store(batch(points(1...5000)))
            async let more: Void = {
                for first in stride(from: UInt64(5001), through: 9901, by: 100) {
                    _ = try await store.store(batch(points(first...(first + 99))))
                }
            }()
            try await store.backup(to: path + ".copy")
            try await more
            let error = await #expect(throws: TrackingError.self) { try await store.backup(to: path + ".copy") }
            #expect(error?.code == .inputUnreadable)
            try await store.close()
            let copy = try SQLiteHistoryStore(path: path + ".copy")
            let count = try await copy.allPoints(limit: 1000).count
            #expect(count >= 5000 && count.isMultiple(of: 100))
            // The copy can be continued.
            #expect(try await copy.store(batch(points(1...10_000))).stored == 10_000 - count)
            let attributes = try FileManager.default.attributesOfItem(atPath: path + ".copy")
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            try await copy.close()
        }
    }

    @Test func aFullDiskIsAnErrorOfTheOneCall() async throws {
        try await self.withPath { path in
            let store = try SQLiteHistoryStore(path: path)
            _ = try await store.store(batch(points(1...10)))
            try await store.limitPages(to: 60)
            let error = await #expect(throws: TrackingError.self) {
                _ = try await store.store(batch(points(11...9000)))
            }
            #expect(error?.code == .storeFailed)
            try await store.limitPages(to: 1_000_000)
            #expect(try await store.store(batch(points(1...9000))).stored == 8990)
            #expect(try await store.allPoints(limit: 1000).count == 9000)
            try await store.close()
        }
    }
}
