import Foundation
import GRDB
import Testing
import TrackingCore

@testable import TrackingSpool

@Suite struct SpoolErasingTests {
    private static let secret = "52.71283641"

    private static func entries(
        _ seqs: ClosedRange<UInt64>, of trackable: String, in name: String, text: String
    ) throws -> [SpoolEntry] {
        try seqs.map { seq in
            let record = SpoolRecord(
                seq: seq, time: UnixTime(Double(1000 + seq)), kind: .point, tripID: nil,
                payload: Array("{\"place\":[-8.6,\(text)],\"seq\":\(seq)}".utf8))
            return SpoolEntry(record, of: try TrackableID(trackable), in: try stream(name))
        }
    }

    private static func filesHolding(_ text: String, in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).filter {
            try Data(contentsOf: $0).range(of: Data(text.utf8)) != nil
        }.map(\.lastPathComponent)
    }

    /// Without `overwritesRemoved`, the bytes of deleted rows stay in the free pages of the file.
    @Test func earlierDeletedRowsAreOverwritten() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let first = SQLiteSpool(path: path)
            _ = try await first.open(now: start)
            try await first.append(try Self.entries(1...3000, of: "van", in: "one", text: Self.secret))
            try await first.close()
            let queue = try DatabaseQueue(path: path)
            try await queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA secure_delete = OFF")
                try db.execute(sql: "DELETE FROM record")
            }
            try queue.close()
            #expect(try !Self.filesHolding(Self.secret, in: folder).isEmpty)
            let log = SQLiteSpool(path: path, overwritesRemoved: true)
            _ = try await log.open(now: start)
            try await log.erase(try TrackableID("van"), before: nil)
            #expect(try Self.filesHolding(Self.secret, in: folder).isEmpty)
            try await log.close()
            #expect(try await log.open(now: start).salvage == nil)
            try await log.close()
        }
    }

    /// The records are pending, sent but not deleted yet, or quarantined.
    @Test(arguments: [true, false]) func noByteOfAnErasedRecordIsLeft(overwritesRemoved: Bool) async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path, sweepPause: .seconds(3600), overwritesRemoved: overwritesRemoved)
            _ = try await log.open(now: start)
            try await log.append(try Self.entries(1...3000, of: "van", in: "one", text: Self.secret))
            try await log.append(try Self.entries(1...500, of: "bus", in: "two", text: "51.5"))
            try await log.remove(numbers(1...2000), of: try stream("one"))
            try await log.quarantine(2500, of: try stream("one"), reason: "no")
            #expect(try !Self.filesHolding(Self.secret, in: folder).isEmpty)
            try await log.erase(try TrackableID("van"), before: nil)
            #expect(try Self.filesHolding(Self.secret, in: folder).isEmpty)
            #expect(try await log.quarantined(after: 0, maximumCount: 9).isEmpty)
            #expect(try await log.readAll("one", 2001...3000).records.isEmpty)
            #expect(try await log.readAll("two", 1...500).records.count == 500)
            // The stream continues with the numbers that follow.
            try await log.append(try Self.entries(3001...3010, of: "van", in: "one", text: "50.1"))
            try await log.close()
            let contents = try await log.open(now: start)
            #expect(contents.salvage == nil && contents.damage == nil)
            #expect(contents.trackables[try TrackableID("van")]?.streams.first?.stored == numbers(3001...3010))
            #expect(contents.trackables[try TrackableID("bus")]?.streams.first?.stored == numbers(1...500))
            #expect(try Self.filesHolding(Self.secret, in: folder).isEmpty)
            try await log.close()
        }
    }

    @Test func laterRecordsRemain() async throws {
        try await withTemporaryFolder { folder in
            let log = SQLiteSpool(path: folder.appending(path: "log").path(), overwritesRemoved: true)
            _ = try await log.open(now: start)
            try await log.append(try Self.entries(1...100, of: "van", in: "one", text: Self.secret))
            try await log.append(try Self.entries(101...200, of: "van", in: "one", text: "50.1"))
            try await log.erase(try TrackableID("van"), before: UnixTime(1101))
            #expect(try await log.readAll("one", 1...200).records.count == 100)
            #expect(try Self.filesHolding(Self.secret, in: folder).isEmpty)
            try await log.close()
        }
    }
}
