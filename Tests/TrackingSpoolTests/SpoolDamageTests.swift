import Foundation
import Testing
import TrackingCore

@testable import TrackingSpool

/// Damaged log files: every returned record was appended, every missing record is reported, and nothing crashes.
///
/// The environment variable `GODWIT_FLIPS` is the number of bits that each form of the test flips, one at a time. The
/// default is 100.
@Suite struct SpoolDamageTests {
    static let flips = ProcessInfo.processInfo.environment["GODWIT_FLIPS"].flatMap(Int.init) ?? 100
    static let last: UInt64 = 600

    /// The appended records, by number. They are made once, for thousands of damaged logs.
    private static let added = (0...Self.last).map { record($0, size: 280) }

    private static func isAdded(_ read: SpoolRecord) -> Bool {
        guard read.seq <= Self.last else { return false }
        return read == (read.payload.count == 280 ? Self.added[Int(read.seq)] : record(read.seq, size: 9000))
    }

    /// A row that could not be read is noted for the next start; that is not the start of a second program.
    @Test func aSecondProgramQuarantinesNothing() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try entries(1...3))
            SpoolOpening.wantSalvage(of: path)
            let second = SQLiteSpool(path: path)
            let error = await #expect(throws: TrackingError.self) { _ = try await second.open(now: start) }
            #expect(error?.code == .spoolFailed && error?.message.contains("another program") == true)
            try await log.append(try entries(4...5))
            try await log.close()
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path())
            #expect(!names.contains { $0.contains(".damaged-") }, "\(names)")
            let contents = try await second.open(now: start)
            #expect(contents.salvage?.count == 5)
            #expect(contents.trackables[try TrackableID("van")]?.streams.map(\.stored) == [numbers(1...5)])
            try await second.close()
        }
    }

    /// Neither earlier removals from its stream nor the rest of an interrupted quarantine affect a restored record.
    @Test(arguments: [false, true]) func restoredRecordsSurviveACrashAndASalvage(isReopened: Bool) async throws {
        try await withTemporaryFolder { folder in
            let (path, copy) = (folder.appending(path: "log").path(), folder.appending(path: "copy").path())
            let (van, one) = (try TrackableID("van"), try stream("one"))
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try entries(1...40))
            try await log.quarantine(3, of: one, reason: "too large")
            if isReopened {
                try await log.close()
                _ = try await log.open(now: start)
            }
            try await log.remove(numbers(1...20), of: one)
            let row = try #require(try await log.quarantined(after: 0, maximumCount: 1).first)
            try await log.putBack([PutBackRecord(place: row.place, record: record(41))], of: van, in: one)
            for name in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + name, toPath: copy + name) }
            SpoolOpening.wantSalvage(of: copy)
            let crashed = SQLiteSpool(path: copy)
            let contents = try await crashed.open(now: start)
            #expect(contents.salvage != nil)
            #expect(contents.trackables[van]?.streams.map(\.stored) == [numbers(21...41)])
            #expect(try await crashed.readAll("one", 41...41).records == [record(41)])
            try await crashed.close()
            try await log.close()
        }
    }

    /// The bytes of a log with two streams of a trackable and one of another, of about sixty pages.
    ///
    /// - Parameter isClosed: `true` for a log that was closed in order. Otherwise part of it is in its write-ahead log.
    static func log(isClosed: Bool) async throws -> (main: [UInt8], ahead: [UInt8]) {
        var bytes: (main: [UInt8], ahead: [UInt8]) = ([], [])
        try await inMemoryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            for first in stride(from: UInt64(1), through: Self.last, by: 20) {
                try await log.append(
                    try entries(first...(first + 19), size: 280), state: ["count": [UInt8(first / 20)]])
                if first == 301 {
                    try await log.append(try entries(1...30, of: "bus", in: "two", size: 280))
                    try await log.append(try entries(31...31, of: "bus", in: "two", size: 9000))
                    let first = isClosed ? numbers(1...30) : numbers(1...60)
                    try await log.remove(first, of: try stream("one"))
                    try await log.remove(numbers(100...110), of: try stream("one"))
                    try await log.quarantine(70, of: try stream("one"), reason: "too large")
                    if !isClosed {
                        try await log.close()
                        _ = try await log.open(now: start)
                    }
                }
            }
            if isClosed {
                // The rows of these records are not deleted yet.
                try await log.remove(numbers(31...60), of: try stream("one"))
                #expect(try await log.rowsToSweep() == 30)
                try await log.close()
            }
            bytes.main = Array(try Data(contentsOf: URL(filePath: path)))
            bytes.ahead = Array((try? Data(contentsOf: URL(filePath: path + "-wal"))) ?? Data())
            try await log.close()
        }
        return bytes
    }

    /// Reads everything from a log with these bytes, and expects that each record was appended.
    ///
    /// - Parameter checkedSize: 0 opens the log without a full check.
    static func contents(
        _ main: [UInt8], _ ahead: [UInt8], checkedSize: Int64 = 32 << 20
    ) async throws -> (streams: [StoredStream], salvage: SpoolSalvage?) {
        var streams: [StoredStream] = []
        var salvage: SpoolSalvage?
        try await inMemoryFolder { folder in
            let path = folder.appending(path: "log").path()
            try Data(main).write(to: URL(filePath: path))
            if !ahead.isEmpty { try Data(ahead).write(to: URL(filePath: path + "-wal")) }
            let log = SQLiteSpool(path: path, durability: .normal, checkedSize: checkedSize)
            // Damage that is found by a read is salvaged at the next opening. Then every record is
            // intact.
            for attempt in 0..<3 {
                let contents = try await log.open(now: start)
                salvage = contents.salvage ?? salvage
                var isWhole = false
                (streams, isWhole) = try await Self.everything(in: contents, of: log)
                do throws(TrackingError) {
                    try await log.close()
                } catch {
                    isWhole = false
                    #expect(error.code == .spoolDamaged, "\(error)")
                }
                if isWhole { break }
                #expect(attempt < 2, "the log is still damaged")
            }
            _ = try await log.open(now: start)
            let fresh = try entries(1...20, in: "new")
            do {
                try await log.append(fresh)
            } catch let error as TrackingError where error.code == .spoolDamaged {
                // The damage is on a page that no read has touched: the append reports it and stores nothing.
                try? await log.close()
                _ = try await log.open(now: start)
                try await log.append(fresh)
            }
            #expect(try await log.readAll("new", 1...20).records == SpoolRecords((1...20).map { record($0) }))
            try await log.close()
        }
        return (streams, salvage)
    }

    /// Reads every stream.
    private static func everything(
        in contents: SpoolContents, of log: SQLiteSpool
    ) async throws -> (streams: [StoredStream], isWhole: Bool) {
        var (streams, isWhole): ([StoredStream], Bool) = ([], true)
        for (trackable, held) in contents.trackables {
            #expect(["van", "bus"].contains(trackable.rawValue))
            for var stream in held.streams {
                #expect((trackable.rawValue == "van") == (stream.id.rawValue == "one"))
                do throws(TrackingError) {
                    let reading = try await log.read(
                        stream.id, stream.stored, maximumCount: .max, maximumBytes: .max)
                    let areAdded = reading.records.allSatisfy(Self.isAdded)
                    #expect(areAdded)
                    #expect(reading.missing.count + reading.records.count == stream.stored.count)
                    isWhole = isWhole && reading.missing.isEmpty
                    stream.stored.subtract(reading.missing)
                    streams.append(stream)
                } catch {
                    #expect(error.code == .spoolDamaged, "\(error)")
                    isWhole = false
                }
            }
        }
        return (streams, isWhole)
    }

    static func inMemoryFolder(_ body: (URL) async throws -> Void) async throws {
        let memory = URL(filePath: "/dev/shm")
        let parent =
            FileManager.default.isWritableFile(atPath: memory.path()) ? memory : FileManager.default.temporaryDirectory
        let folder = parent.appending(path: "godwit-spool-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    @Test func aWholeLogIsReturnedAsItWas() async throws {
        for isClosed in [true, false] {
            let log = try await Self.log(isClosed: isClosed)
            let found = try await Self.contents(log.main, log.ahead)
            #expect(found.salvage == nil)
            #expect(found.streams.map(\.stored.count).sorted() == [31, 528])
        }
    }

    @Test(.timeLimit(.minutes(5))) func aFileCutAtAnyPageIsSalvaged() async throws {
        let log = try await Self.log(isClosed: true)
        #expect(log.main.count / 4096 > 55)
        for pages in 0..<(log.main.count / 4096) {
            for checkedSize in [0, 32 << 20] {
                let found = try await Self.contents(
                    Array(log.main.prefix(pages * 4096)), [], checkedSize: Int64(checkedSize))
                #expect((found.salvage == nil) == (pages == 0), "\(pages) pages")
                // The rows of the streams are on the first pages.
                guard pages > 3 else { continue }
                let van = found.streams.first { $0.id.rawValue == "one" }
                #expect(van?.last == Self.last, "what is missing at the end is named")
                #expect(pages < 30 || van?.stored.count ?? 0 > 100)
                #expect(van?.stored.first ?? 61 > 60, "what was removed came back")
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func aCutWriteAheadLogLeavesAPrefix() async throws {
        let log = try await Self.log(isClosed: false)
        let whole = try await Self.contents(log.main, log.ahead).streams.first { $0.id.rawValue == "one" }
        #expect(whole?.stored.last == Self.last)
        var before = 0
        for cut in stride(from: 0, to: log.ahead.count, by: 4096) {
            let found = try await Self.contents(log.main, Array(log.ahead.prefix(cut)))
            let van = try #require(found.streams.first { $0.id.rawValue == "one" })
            #expect(found.salvage == nil)
            #expect(van.stored == whole?.stored.through(van.last), "cut after \(cut) bytes")
            #expect(van.stored.count >= before)
            before = van.stored.count
        }
    }

    @Test(.timeLimit(.minutes(30)), arguments: [Int64(0), 32 << 20])
    func aFlippedBitCostsAPageAtTheMost(checkedSize: Int64) async throws {
        var random = SplitMix64(seed: 42)
        let log = try await Self.log(isClosed: true)
        for _ in 0..<Self.flips {
            let bit = Int.random(in: 0..<(log.main.count * 8), using: &random)
            var main = log.main
            main[bit / 8] ^= 1 << UInt8(bit % 8)
            let found = try await Self.contents(main, [], checkedSize: checkedSize)
            let (van, bus) = (
                found.streams.first { $0.id.rawValue == "one" }, found.streams.first { $0.id.rawValue == "two" }
            )
            #expect(van?.last ?? 0 >= Self.last && bus?.last ?? 0 >= 31, "bit \(bit): what is missing is named")
            let count = (van?.stored.count ?? 0) + (bus?.stored.count ?? 0)
            #expect(count >= 559 - 15, "bit \(bit) cost \(559 - count) records")
            #expect(van?.stored.first ?? 61 > 60, "bit \(bit) brought back what was removed")
        }
    }

    @Test(.timeLimit(.minutes(30))) func aFlippedBitInTheWriteAheadLogCostsAPageAtTheMost() async throws {
        var random = SplitMix64(seed: 43)
        let log = try await Self.log(isClosed: false)
        for _ in 0..<Self.flips {
            let bit = Int.random(in: 0..<(log.ahead.count * 8), using: &random)
            var ahead = log.ahead
            ahead[bit / 8] ^= 1 << UInt8(bit % 8)
            let found = try await Self.contents(log.main, ahead)
            let van = try #require(found.streams.first { $0.id.rawValue == "one" })
            #expect(van.stored.count >= 528 - 15, "bit \(bit) cost \(528 - van.stored.count) records")
        }
    }

    /// SQLite treats the commit as the rest of an earlier round, and the log as ending before it.
    @Test(arguments: [8, 12]) func aFlippedSaltOfTheLastCommitCostsAPageAtTheMost(place: Int) async throws {
        let log = try await Self.log(isClosed: false)
        let frame = 24 + 4096
        let commits = stride(from: 32, through: log.ahead.count - frame, by: frame).filter { start in
            log.ahead[(start + 4)..<(start + 8)] != [0, 0, 0, 0]
                && log.ahead[(start + 8)..<(start + 16)] == log.ahead[16..<24]
        }
        var ahead = log.ahead
        ahead[try #require(commits.last) + place] ^= 1
        let found = try await Self.contents(log.main, ahead)
        #expect(found.salvage != nil)
        #expect(found.streams.first { $0.id.rawValue == "one" }?.stored.count ?? 0 >= 528 - 15)
    }

    @Test func pagesOfAnyContentAreReadWithoutHarm() async throws {
        var random = SplitMix64(seed: 44)
        let log = try await Self.log(isClosed: true).main
        for _ in 0..<2000 {
            let first = 4096 * Int.random(in: 1..<(log.count / 4096), using: &random)
            var page = Array(log[first..<(first + 4096)])
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                page[Int.random(in: 0..<(Bool.random(using: &random) ? 40 : 4096), using: &random)] = .random(
                    in: 0...255, using: &random)
            }
            let another = { (number: UInt32) -> [UInt8]? in number % 3 == 0 ? nil : page }
            _ = PageScan(page: page, overflow: another).eachRow { place, columns in
                _ = LogRow(place: place, columns)
            }
        }
    }
}
