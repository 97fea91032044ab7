import Foundation
import GRDB
import Testing
import TrackingCore

@testable import TrackingSpool

/// A file that never was a log is left unchanged. A file that was a log is salvaged.
@Suite struct ForeignFileTests {
    /// Opens a file with these bytes as a log.
    ///
    /// - Returns: The outcome, and `true` if every file is unchanged.
    private func open(
        _ main: [UInt8], _ ahead: [UInt8] = []
    ) async throws -> (error: TrackingError?, salvage: SpoolSalvage?, isUntouched: Bool) {
        var result: (TrackingError?, SpoolSalvage?, Bool) = (nil, nil, false)
        try await SpoolDamageTests.inMemoryFolder { folder in
            let path = folder.appending(path: "log").path()
            try Data(main).write(to: URL(filePath: path))
            if !ahead.isEmpty { try Data(ahead).write(to: URL(filePath: path + "-wal")) }
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path()).sorted()
            let log = SQLiteSpool(path: path)
            do throws(TrackingError) {
                result.1 = try await log.open(now: start).salvage
                try await log.close()
            } catch {
                result.0 = error
            }
            let after = try FileManager.default.contentsOfDirectory(atPath: folder.path()).sorted()
            result.2 = after == names && FileManager.default.contents(atPath: path).map(Array.init) == main
        }
        return result
    }

    private func database(_ statements: [String]) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        try await SpoolDamageTests.inMemoryFolder { folder in
            let path = folder.appending(path: "other").path()
            let queue = try DatabaseQueue(path: path)
            try await queue.write { db in for statement in statements { try db.execute(sql: statement) } }
            try queue.close()
            bytes = Array(try Data(contentsOf: URL(filePath: path)))
        }
        return bytes
    }

    private func isLeftAlone(_ bytes: [UInt8]) async throws {
        let opened = try await self.open(bytes)
        #expect(opened.error?.code == .spoolFailed)
        #expect(opened.error?.message.contains("the file is not a log, and it was not changed") == true, "\(opened)")
        #expect(opened.isUntouched)
    }

    @Test func aLogWithoutAFolderNamesTheRemedy() async throws {
        try await SpoolDamageTests.inMemoryFolder { folder in
            let log = SQLiteSpool(path: folder.appending(path: "missing/log").path())
            let error = await #expect(throws: TrackingError.self) { try await log.open(now: start) }
            #expect(error?.code == .spoolFailed)
            #expect(error?.message.contains("Check that its folder exists and that this user may write there") == true)
        }
    }

    @Test func aConfigurationFileIsLeftAlone() async throws {
        try await self.isLeftAlone(Array("broker: mqtt://localhost\nid: van\n".utf8))
        try await self.isLeftAlone(Array(String(repeating: "No log at all. ", count: 1000).utf8))
    }

    @Test func anyBytesAreLeftAlone() async throws {
        var random = SplitMix64(seed: 7)
        for size in [1, 15, 100, 4095, 4096, 40_000] {
            try await self.isLeftAlone((0..<size).map { _ in .random(in: 1...255, using: &random) })
        }
    }

    @Test func anotherProgramsDatabaseIsLeftAlone() async throws {
        let bytes = try await self.database([
            "CREATE TABLE record (id INTEGER PRIMARY KEY, a, b, c, d, e, f, g, h)",
            "INSERT INTO record VALUES (1, 2, 3, 4, 5, 6, 7, 8, 9)",
        ])
        try await self.isLeftAlone(bytes)
    }

    /// The row has the columns of a record: the length of its text is in the column before, and the last column may be a
    /// checksum.
    @Test func aDatabaseWithRowsInTheFormOfRecordsIsLeftAlone() async throws {
        let bytes = try await self.database([
            "CREATE TABLE post (id INTEGER PRIMARY KEY, author, number, size, time, kind, tag, body, hash)",
            "INSERT INTO post VALUES (1, 3, 7, 5, 1.5, 1, NULL, 'hello', 99)",
        ])
        try await self.isLeftAlone(bytes)
    }

    /// Only rows of records are left, whose checksums cannot be verified without the row of their stream.
    @Test func aLogOfWhichOnlyRecordsAreLeftIsSalvaged() async throws {
        var main: [UInt8] = []
        try await SpoolDamageTests.inMemoryFolder { folder in
            let path = folder.appending(path: "made").path()
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            let batch = try entries(1...600).map { entry in
                var entry = entry
                entry.record.payload = Array(#"{"text":"\#(String(repeating: "a", count: 280))"}"#.utf8)
                return entry
            }
            try await log.append(batch)
            try await log.close()
            main = Array(try Data(contentsOf: URL(filePath: path)))
        }
        for place in 0..<(main.count / 2) { main[place] = 0xAA }
        #expect(try await self.open(main).salvage?.orphans ?? 0 > 100)
    }

    /// The file contains none of the other program's tables yet.
    @Test func anotherProgramsUnclosedDatabaseIsLeftAlone() async throws {
        try await SpoolDamageTests.inMemoryFolder { folder in
            let (path, other) = (folder.appending(path: "log").path(), folder.appending(path: "other").path())
            let pool = try DatabasePool(path: other)
            try await pool.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
                try db.execute(sql: "CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT)")
                try db.execute(sql: "INSERT INTO thing VALUES (1, 'one')")
            }
            for end in ["", "-wal"] { try FileManager.default.copyItem(atPath: other + end, toPath: path + end) }
            let error = await #expect(throws: TrackingError.self) {
                _ = try await SQLiteSpool(path: path).open(now: start)
            }
            #expect(error?.message.contains("is not a log") == true)
            let queue = try DatabaseQueue(path: path)
            #expect(try await queue.read { try String.fetchOne($0, sql: "SELECT name FROM thing") } == "one")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path())
            #expect(!names.contains { $0.contains("damaged") || $0.contains("salvage") }, "\(names)")
        }
    }

    @Test func anEmptyFileBecomesALog() async throws {
        for bytes in [[], try await self.database([])] {
            let opened = try await self.open(bytes)
            #expect(opened.error == nil && opened.salvage == nil)
        }
        for bytes in [[UInt8](repeating: 0, count: 20_000), Array("SQLite format 3\0".utf8)] {
            #expect(try await self.open(bytes).error == nil)
        }
    }

    @Test func aLogWhoseBeginningIsLostIsSalvaged() async throws {
        let log = try await SpoolDamageTests.log(isClosed: true).main
        var random = SplitMix64(seed: 8)
        for count in [16, 100, 512, 4096, 8192] {
            var main = log
            for place in 0..<count { main[place] = .random(in: 0...255, using: &random) }
            #expect(try await self.open(main).salvage?.count ?? 0 > 500, "\(count) bytes")
        }
    }

    @Test func anUnclosedLogIsSalvagedFromItsWriteAheadLog() async throws {
        let log = try await SpoolDamageTests.log(isClosed: false)
        let main = [UInt8](repeating: 0xAA, count: log.main.count)
        let opened = try await self.open(main, log.ahead)
        #expect(opened.salvage?.orphans ?? 0 > 200, "\(opened)")
    }

    /// The log never had a record, and its header is damaged.
    @Test func anEmptyLogIsSalvaged() async throws {
        var main = try await self.database(SpoolSchema.statements)
        main[3] ^= 1
        #expect(try await self.open(main).salvage != nil)
    }
}
