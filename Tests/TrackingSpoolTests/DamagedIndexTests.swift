import Foundation
import GRDB
import Testing
import TrackingCore

@testable import TrackingSpool

/// A damaged index: an entry leads to another record's row. Nothing else reveals the damage.
@Suite struct DamagedIndexTests {
    /// Opens a log with the records 1…40 without a full check. Its index entry of `seq` leads to `place`.
    private static func withMisdirected(
        _ seq: UInt8, to place: UInt8, _ body: (SQLiteSpool, _ path: String) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path, checkedSize: 0, sweepPause: .seconds(3600))
            _ = try await log.open(now: start)
            try await log.append(try entries(1...40))
            try await log.close()
            try misdirect(seq, to: place, in: path)
            #expect(try await log.open(now: start).salvage == nil, "nobody has noticed yet")
            try await body(log, path)
            try await log.close()
        }
    }

    /// Returns the records of the stream after the log was closed and salvaged.
    private static func salvaged(_ log: SQLiteSpool) async throws -> SeqSet? {
        try await log.close()
        let contents = try await log.open(now: start)
        #expect(contents.salvage != nil, "the damage was noted")
        return contents.trackables[try TrackableID("van")]?.streams.first?.stored
    }

    @Test func aRecordThatTheIndexMissesIsReadAllTheSame() async throws {
        try await Self.withMisdirected(3, to: 25) { log, _ in
            let reading = try await log.readAll("one", 2...9)
            #expect(Array(reading.records) == (2...9).map { record($0) } && reading.missing.isEmpty)
            let few = try await log.read(
                try stream("one"), numbers(2...9), maximumCount: 4, maximumBytes: 399)
            #expect(few.records.map(\.seq) == [2, 3, 4] && few.missing.isEmpty, "within the same limits")
            #expect(try await Self.salvaged(log) == numbers(1...40))
        }
    }

    /// The oldest record of a queue that drains is not removed together with the older ones.
    @Test func theOldestPendingRecordIsNotSkipped() async throws {
        try await Self.withMisdirected(3, to: 25) { log, _ in
            try await log.remove(numbers(1...2), of: try stream("one"))
            #expect(try await log.readAll("one", 3...10).records.map(\.seq) == Array(3...10))
            #expect(try await Self.salvaged(log) == numbers(3...40))
        }
    }

    @Test func removalsBesideADamagedEntryStillApply() async throws {
        try await Self.withMisdirected(3, to: 25) { log, path in
            try await log.close()
            try flip(7, in: path)
            _ = try await log.open(now: start)
            let reading = try await log.readAll("one", 2...9)
            #expect(reading.records.map(\.seq) == [2, 3, 4, 5, 6, 8, 9] && reading.missing == numbers(7...7))
            #expect(try await log.summary().total.count == 39)
        }
    }

    @Test func sweepingDeletesNoOtherRecord() async throws {
        try await Self.withMisdirected(3, to: 25) { log, _ in
            try await log.remove(numbers(1...10), of: try stream("one"))
            try await log.append(try entries(1...20, of: "bus", in: "two"))
            #expect(try await log.rowsToSweep() == 0)
            #expect(try await log.readAll("one", 11...40).missing.isEmpty)
            #expect(try await Self.salvaged(log) == numbers(11...40))
        }
    }

    @Test func removingDeletesNoOtherRecord() async throws {
        try await Self.withMisdirected(3, to: 25) { log, _ in
            try await log.remove(numbers(2...5), of: try stream("one"))
            #expect(try await log.readAll("one", 6...40).missing.isEmpty)
            #expect(try await Self.salvaged(log)?.contains(25) == true)
        }
    }

    /// Nothing is quarantined when the record is not found. The log is salvaged, and the quarantine is tried again.
    @Test func quarantiningARecordDeletesNoOther() async throws {
        try await Self.withMisdirected(3, to: 25) { log, _ in
            let one = try stream("one")
            let error = await #expect(throws: TrackingError.self) {
                try await log.quarantine(3, of: one, reason: "refused")
            }
            #expect(error?.code == .spoolDamaged)
            #expect(try await Self.salvaged(log) == numbers(1...40))
            try await log.quarantine(3, of: one, reason: "refused")
            #expect(try await log.quarantined(after: 0, maximumCount: 9).map(\.entry.record) == [record(3)])
        }
    }

    /// The disk lost the write of one page: the page is intact, and contains an earlier state of the index.
    @Test func anOutdatedIndexIsNoticedInAClosedLog() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path, checkedSize: 0)
            _ = try await log.open(now: start)
            try await log.append(try entries(1...40))
            try await log.close()
            let root = try await Self.rootOfIndex(path)
            let old = try Data(contentsOf: URL(filePath: path)).dropFirst((root - 1) * SpoolSchema.pageSize)
            _ = try await log.open(now: start)
            try await log.append(try entries(41...60))
            try await log.close()

            let closing = ClosingMark(log: path).take()
            let handle = try FileHandle(forWritingTo: URL(filePath: path))
            try handle.seek(toOffset: UInt64((root - 1) * SpoolSchema.pageSize))
            try handle.write(contentsOf: old.prefix(SpoolSchema.pageSize))
            try handle.close()
            ClosingMark(log: path).leave(try #require(closing))
            let contents = try await log.open(now: start)
            #expect(contents.salvage?.count == 60)
            #expect(contents.trackables[try TrackableID("van")]?.streams.first?.stored == numbers(1...60))
            try await log.close()
        }
    }

    /// The page number of the record index, which has only one page here.
    private static func rootOfIndex(_ path: String) async throws -> Int {
        let queue = try DatabaseQueue(path: path)
        let root = try await queue.read {
            try Int.fetchOne($0, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'record_order'")
        }
        try queue.close()
        return try #require(root)
    }

    /// After any sequence of additions, removals and quarantines, an intact log is not taken for a damaged one.
    @Test func anIntactLogIsNeverSalvaged() async throws {
        var random = SplitMix64(seed: 45)
        try await withTemporaryFolder { folder in
            let log = SQLiteSpool(path: folder.appending(path: "log").path(), sweepPause: .milliseconds(1))
            var next: [String: UInt64] = [:]
            for round in 1...30 {
                #expect(try await log.open(now: start).salvage == nil, "round \(round)")
                for _ in 0..<20 {
                    let name = ["one", "two", "three"][Int.random(in: 0..<3, using: &random)]
                    let first = next[name] ?? 1
                    switch Int.random(in: 0..<6, using: &random) {
                    case 0...1:
                        let last = first + .random(in: 0...80, using: &random)
                        try await log.append(try entries(first...last, of: name, in: name, size: 10))
                        next[name] = last + 1
                    case 2...3:
                        let low = UInt64.random(in: 1...first, using: &random)
                        try await log.remove(numbers(low...(low + 60)), of: try stream(name))
                    case 4:
                        try await log.quarantine(
                            .random(in: 1...first, using: &random), of: try stream(name), reason: "")
                    default: _ = try await log.trim(to: SpoolLimits(maximumCount: 200), now: start)
                    }
                }
                if round % 5 == 0 {
                    for row in try await log.quarantined(after: 0, maximumCount: 5) {
                        let id = row.entry.trackable
                        var record = row.entry.record
                        record.seq = next[id.rawValue] ?? 1
                        next[id.rawValue] = record.seq + 1
                        try await log.putBack(
                            [PutBackRecord(place: row.place, record: record)], of: id, in: row.entry.stream)
                    }
                }
                try await log.close()
            }
        }
    }
}
