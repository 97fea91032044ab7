import Foundation
import GRDB
import TestSupport
import Testing
import TrackingCore

@testable import TrackingSpool

/// Removed records disappear at once. Their rows are deleted later.
@Suite struct SpoolSweepingTests {
    /// The number of rows of a closed log.
    private static func rows(_ path: String) async throws -> Int {
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        return try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM record") ?? 0 }
    }

    /// A log with 3,000 records of two streams. The first 2,000 and 10 others of the first stream are removed. No
    /// rows are deleted during the test.
    private static func withRemoved(_ body: (SQLiteSpool, _ path: String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path, sweepPause: .seconds(3600))
            _ = try await log.open(now: start)
            try await log.append(try entries(1...2500))
            try await log.append(try entries(1...500, of: "bus", in: "two"))
            try await log.remove(numbers(1...2000, 2101...2110), of: try stream("one"))
            try await body(log, path)
        }
    }

    private static let kept = numbers(2001...2100, 2111...2500)

    @Test func removedRecordsAreGoneThoughTheirRowsAreThere() async throws {
        try await Self.withRemoved { log, path in
            let one = try stream("one")
            #expect(try await log.rowsToSweep() == 2000)
            let reading = try await log.readAll("one", 1...2500)
            #expect(Array(reading.records) == Self.kept.ranges.joined().map { record($0) })
            let listed = try await log.waiting(after: 0, through: .max, maximumCount: .max).map(\.entry.record.seq)
            #expect(listed == Array(Self.kept.ranges.joined()) + Array(1...500))
            let expected = Self.kept.ranges.joined().map { record($0) }
            let van = try #require(try await log.summary().trackables[try TrackableID("van")])
            #expect(van.points == expected.count { $0.kind == .point })
            #expect(van.trips == expected.count { $0.kind == .trip })
            #expect(van.events == expected.count { $0.kind == .event })
            #expect(van.bytes == 100 * expected.count && van.oldest == expected[0].time)
            try await log.quarantine(100, of: one, reason: "it is gone")
            #expect(try await log.quarantined(after: 0, maximumCount: 9).isEmpty)
            try await log.close()
            #expect(try await Self.rows(path) == 2990)
        }
    }

    @Test func removedRecordsStayRemovedAfterReopening() async throws {
        try await Self.withRemoved { log, path in
            try await log.close()
            let contents = try await log.open(now: start)
            #expect(contents.salvage == nil)
            let held = try #require(contents.trackables[try TrackableID("van")]?.streams.first)
            #expect(held == StoredStream(id: try stream("one"), stored: Self.kept, last: 2500))
            #expect(try await log.rowsToSweep() == 2000)
            #expect(try await log.summary().total.bytes == 100 * 990)
            try await log.close()
        }
    }

    /// A killed program leaves the file and its write-ahead log.
    @Test func removedRecordsStayRemovedAfterAKill() async throws {
        try await Self.withRemoved { log, path in
            for end in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + end, toPath: path + "2" + end) }
            let killed = SQLiteSpool(path: path + "2", sweepPause: .milliseconds(1))
            let contents = try await killed.open(now: start)
            #expect(contents.salvage == nil)
            let held = try #require(contents.trackables[try TrackableID("van")]?.streams.first)
            #expect(held == StoredStream(id: try stream("one"), stored: Self.kept, last: 2500))
            try await waitUntil { try await killed.rowsToSweep() == 0 }
            #expect(try await killed.readAll("one", 1...2500).records.count == Self.kept.count)
            try await killed.close()
            #expect(try await Self.rows(path + "2") == 990)
            try await log.close()
        }
    }

    @Test func aSalvageRestoresNoRemovedRecord() async throws {
        try await Self.withRemoved { log, path in
            try await log.close()
            SpoolOpening.wantSalvage(of: path)
            let contents = try await log.open(now: start)
            #expect(contents.salvage?.count == 990)
            #expect(contents.trackables[try TrackableID("van")]?.streams.first?.stored == Self.kept)
            #expect(try await log.rowsToSweep() == 0)
            try await log.close()
            #expect(try await Self.rows(path) == 990)
        }
    }

    @Test func rowsAreDeletedWhileNothingIsRead() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path, sweepPause: .milliseconds(20))
            _ = try await log.open(now: start)
            try await log.append(try entries(1...5000))
            try await log.remove(numbers(1...4500), of: try stream("one"))
            try await waitUntil { try await log.rowsToSweep() == 0 }
            #expect(try await log.summary().total.bytes == 100 * 500)
            try await log.close()
            #expect(try await Self.rows(path) == 500)
        }
    }

    /// A device sends each point: removed rows make room for new records.
    @Test func removedRowsMakeRoomForAppends() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path, sweepPause: .seconds(3600))
            _ = try await log.open(now: start)
            for seq in UInt64(1)...300 {
                try await log.append(try entries(seq...seq, size: 3000))
                try await log.remove(numbers(seq...seq), of: try stream("one"))
                #expect(try await log.rowsToSweep() <= 2)
            }
            try await log.append(try entries(301...301))
            try await log.close()
            #expect(try await Self.rows(path) == 1)
            #expect(LogRows.size(of: path) < 40 * SpoolSchema.pageSize)
        }
    }

    /// The stream has many rows, which are deleted before the stream itself.
    @Test func aForgottenStreamIsDeletedAfterItsRows() async throws {
        try await Self.withRemoved { log, path in
            let (one, van) = (try stream("one"), try TrackableID("van"))
            try await log.append(try entries(1...5, in: "three"))
            try await log.remove(Self.kept, of: one)
            try await log.forget(one)
            #expect(try await log.rowsToSweep() > 0)
            #expect(try await log.summary().trackables[van]?.count == 5)
            try await log.close()
            #expect(try await log.open(now: start).trackables[van]?.streams.map(\.id.rawValue) == ["three"])
            try await log.append(try entries(6...1500, in: "three"))
            try await log.close()
            #expect(try await Self.rows(path) == 2000)
            let queue = try DatabaseQueue(path: path)
            let names = try await queue.read { try String.fetchAll($0, sql: "SELECT name FROM stream ORDER BY name") }
            #expect(names == ["three", "two"])
            try queue.close()
        }
    }

    @Test func aTrimIgnoresRemovedRecords() async throws {
        try await Self.withRemoved { log, path in
            let parts = try await log.trim(to: SpoolLimits(maximumCount: 900), now: start)
            #expect(parts.map(\.seqs) == [numbers(2001...2090)])
            #expect(try await log.rowsToSweep() == 0, "they were in the way")
            let next = try await log.trim(to: SpoolLimits(maximumBytes: 100 * 850), now: start)
            #expect(next.map(\.seqs) == [numbers(2091...2100, 2111...2150)])
            #expect(try await log.summary().total.count == 850)
            #expect(try await log.summary().dropped == 140)
            try await log.close()
            #expect(try await Self.rows(path) == 850)
        }
    }

    /// A trim has several transactions. Drops of the first ones are reported even if a later one fails.
    @Test func aTrimReportsItsDropsBeforeTheDamage() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path, checkedSize: 0)
            _ = try await log.open(now: start)
            try await log.append(try entries(1...25_000, size: 20))
            try await log.close()
            try spoilPage(of: 15_000, in: path)
            _ = try await log.open(now: start)
            let limits = SpoolLimits(maximumCount: 10)
            #expect(try await log.trim(to: limits, now: start).map(\.seqs) == [numbers(1...10_000)])
            let error = await #expect(throws: TrackingError.self) { _ = try await log.trim(to: limits, now: start) }
            #expect(error?.code == .spoolDamaged)
            try? await log.close()
        }
    }

    @Test func removedRecordsDoNotCountAgainstALimit() async throws {
        try await Self.withRemoved { log, _ in
            #expect(try await log.trim(to: SpoolLimits(maximumCount: 990, maximumBytes: 99_000), now: start).isEmpty)
            try await log.close()
        }
    }

    @Test func anyChangeOfARecordChangesItsChecksum() throws {
        let sum = RecordChecksum(try stream("one"))
        for size in [0, 1, 7, 8, 9, 31, 32, 33, 300] {
            let whole = record(9, size: size)
            let value = sum.value(of: whole)
            #expect(RecordChecksum(try stream("other")).value(of: whole) != value)
            for place in 0..<size {
                for bit in 0..<8 {
                    var changed = whole
                    changed.payload[place] ^= 1 << bit
                    #expect(sum.value(of: changed) != value)
                }
            }
            var changed = [whole, whole, whole, whole, whole, whole]
            changed[0].seq = 10
            changed[1].time = UnixTime(whole.time.seconds.nextUp)
            changed[2].kind = .trip
            changed[3].tripID = nil
            changed[4].tripID = "trip-1"
            changed[5].payload.append(0)
            #expect(Set(changed.map { sum.value(of: $0) }).subtracting([value]).count == 6)
        }
    }
}

func waitUntil(_ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try await !condition() {
        try #require(ContinuousClock.now < deadline, "it does not come true")
        try await Task.sleep(for: .milliseconds(5))  // the interval of polling
    }
}
