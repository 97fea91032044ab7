import Foundation
import GRDB
import TestSupport
import Testing
import TrackingCore
import TrackingSQLite

@testable import TrackingSpool

/// The behaviour of a log in a file alone.
@Suite struct SpoolFileTests {
    @Test func aCopyOrARestoredFileBeginsANewStream() async throws {
        try await withTemporaryFolder { folder in
            let (path, copy) = (folder.appending(path: "log").path(), folder.appending(path: "copy").path())
            let van = try TrackableID("van")
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try entries(1...5))
            try await log.close()
            for end in ["", ".closed"] { try FileManager.default.copyItem(atPath: path + end, toPath: copy + end) }

            let second = SQLiteSpool(path: copy)
            let copied = try await second.open(now: start).trackables[van]
            #expect(copied?.current == nil && copied?.streams.map(\.stored) == [numbers(1...5)])
            try await second.close()

            #expect(try await log.open(now: start).trackables[van]?.current?.rawValue == "one")
            try await log.append(try entries(6...9))
            try await log.close()
            // The old content in the same file, as `cp` restores it.
            try Data(contentsOf: URL(filePath: copy)).write(to: URL(filePath: path), options: [])
            let restored = try await log.open(now: start).trackables[van]
            #expect(restored?.current == nil && restored?.streams.map(\.stored) == [numbers(1...5)])
            try await log.close()
        }
    }

    @Test(arguments: [2, 99]) func aLogOfAnotherVersionIsRefusedAndUnchanged(version: Int) async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try entries(1...20))
            try await log.close()
            let queue = try DatabaseQueue(path: path)
            try await queue.writeWithoutTransaction { db in
                try db.execute(sql: "ALTER TABLE record ADD COLUMN more TEXT")
                try db.execute(sql: "PRAGMA user_version = \(version)")
            }
            try queue.close()
            let error = await #expect(throws: TrackingError.self) { _ = try await log.open(now: start) }
            #expect(error?.code == .spoolFailed)
            for part in [path, "version \(version)", "expects version 1", "name another file"] {
                #expect(error?.message.contains(part) == true, "\(error?.message ?? "") lacks '\(part)'")
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path())
            #expect(!names.contains { $0.contains("damaged") || $0.contains("salvage") }, "\(names)")
        }
    }

    /// A durable transaction outlives a power cut: FULL is 2.
    @Test func aDurableTransactionIsOnTheDiskWhenItReturns() async throws {
        try await withTemporaryFolder { folder in
            let file = try SpoolFile(path: folder.appending(path: "log").path(), isOrderly: false, checkedSize: 0)
            for isDurable in [true, false, true] {
                let level = try file.transaction(isDurable: isDurable) {
                    try $0.integer("PRAGMA synchronous")
                }
                #expect(level == (isDurable ? 2 : 1))
            }
            try file.close()
        }
    }

    @Test func theOldestOfManyMarksAreRemoved() async throws {
        try await withTemporaryFolder { folder in
            let file = try SpoolFile(path: folder.appending(path: "log").path(), isOrderly: false, checkedSize: 0)
            file.markLimit = 100
            let van = try TrackableID("van")
            func known(_ seqs: ClosedRange<UInt64>) throws -> Int {
                try file.use { db in try file.known(try seqs.map { try mark($0) }, of: van, db).count }
            }
            for seqs: ClosedRange<UInt64> in [1...60, 61...100] {
                try file.transaction(isDurable: false) { try file.append(try marked(seqs), state: [:], now: start, $0) }
            }
            #expect(try known(1...100) == 100)
            try file.transaction(isDurable: false) {
                try file.append(try marked(101...130), state: [:], now: start, $0)
            }
            #expect(try known(1...30) == 0)
            #expect(try known(31...130) == 100)
            try file.close()
        }
    }

    /// Otherwise every repetition by a phone would be a new record.
    @Test func aDamagedMarkIsReplaced() async throws {
        try await withTemporaryFolder { folder in
            let file = try SpoolFile(path: folder.appending(path: "log").path(), isOrderly: false, checkedSize: 0)
            let van = try TrackableID("van")
            func append(_ seq: UInt64) throws {
                var entry = try entries(seq...seq)[0]
                entry.mark = try mark(1)
                try file.transaction(isDurable: false) { try file.append([entry], state: [:], now: start, $0) }
            }
            func known() throws -> UInt64? {
                try file.use { db in try file.known([try mark(1)], of: van, db)[try mark(1)]?.seq }
            }
            try append(1)
            try file.use { try $0.execute("UPDATE mark SET checksum = checksum + 1") }
            #expect(try known() == nil)
            try append(2)
            #expect(try known() == 2)
            try file.close()
        }
    }

    @Test func aDamagedRecordThatIsRefusedIsNotKnown() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path, checkedSize: 0)
            _ = try await log.open(now: start)
            try await log.append(try marked(1...5), state: [:], now: start)
            try await log.close()
            try flip(3, in: path)
            _ = try await log.open(now: start)
            try await log.quarantine(3, of: try stream("one"), reason: "refused")
            #expect(try await log.quarantined(after: 0, maximumCount: 9).isEmpty)
            #expect(try await log.known([try mark(3), try mark(4)], of: try TrackableID("van")).count == 1)
            try await log.close()
        }
    }

    @Test func marksOfADamagedLogAreSalvaged() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let (van, one) = (try TrackableID("van"), try stream("one"))
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try marked(1...40), state: [:], now: start)
            try await log.remove(numbers(1...5), of: one)
            try await log.close()
            try flip(17, in: path)
            _ = try await log.open(now: start)
            _ = try await log.readAll("one", 6...40)
            try await log.close()

            #expect(try await log.open(now: start).salvage != nil)
            let known = try await log.known(try (1...40).map { try mark($0) }, of: van)
            #expect(Set(known.values.map(\.seq)) == Set(1...40).subtracting([17]), "what was lost may come again")
            try await log.close()
        }
    }

    /// A record that left the log long ago is not reported as missing.
    @Test func aSalvageReportsNoAcknowledgedRecord() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let (one, van) = (try stream("one"), try TrackableID("van"))
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try entries(1...40))
            try await log.remove(numbers(1...20), of: one)
            // The second salvage reads the file that the first one created.
            for _ in 1...2 {
                try await log.close()
                SpoolOpening.wantSalvage(of: path)
                let contents = try await log.open(now: start)
                #expect(contents.salvage?.count == 20 && contents.salvage?.missing == [])
                let held = StoredStream(id: one, stored: numbers(21...40), last: 40)
                #expect(contents.trackables[van]?.streams == [held])
            }
            try await log.remove(numbers(21...40), of: one)
            try await log.close()
            SpoolOpening.wantSalvage(of: path)
            #expect(try await log.open(now: start).salvage?.missing == [], "nothing is left")
            try await log.close()
        }
    }

    /// Both rows of a stream are damaged: its records are not salvaged, and must not be known by their marks either.
    @Test func marksOfOrphansAreNotSalvaged() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let van = try TrackableID("van")
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try marked(1...20), state: [:], now: start)
            try await log.remove(numbers(1...20), of: try stream("one"))
            try await log.append(try marked(41...60, in: "two"), state: [:], now: start)
            try await log.forget(try stream("one"))
            try await log.close()
            let queue = try DatabaseQueue(path: path)
            try await queue.writeWithoutTransaction { db in
                // Removed records leave no rows that look like orphans.
                try db.execute(sql: "VACUUM")
                try db.execute(sql: "UPDATE stream SET last = last + 1; UPDATE stream_copy SET last = last + 1")
            }
            try queue.close()
            let salvage = try await log.open(now: start).salvage
            #expect(salvage?.count == 0 && salvage?.orphans == 20)
            let known = try await log.known(try (1...60).map { try mark($0) }, of: van)
            #expect(Set(known.values.map(\.seq)) == Set(1...20), "what was safe is known")
            try await log.close()
        }
    }

    @Test func oneProgramAtATime() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let (first, second) = (SQLiteSpool(path: path), SQLiteSpool(path: path))
            _ = try await first.open(now: start)
            let error = await #expect(throws: TrackingError.self) { _ = try await second.open(now: start) }
            #expect(error?.code == .spoolFailed)
            try await first.append(try entries(1...5))
            try await first.close()
            #expect(try await second.open(now: start).salvage == nil)
            try await second.close()
        }
    }

    /// Until a child process executes its program, it has duplicates of all open files of its parent, including the
    /// lock.
    @Test func aClosedLogIsUnlockedWhileAnotherProgramStarts() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
            let descriptor = try #require(
                open.first {
                    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
                    return target == path + ".lock"
                })
            let inherited = dup(descriptor)
            defer { close(inherited) }
            await #expect(throws: TrackingError.self) { _ = try await SQLiteSpool(path: path).open(now: start) }
            try await log.close()
            let next = SQLiteSpool(path: path)
            #expect(try await next.open(now: start).salvage == nil)
            try await next.close()
        }
    }

    @Test func aRecordThatChangedIsMissingAndTheRestIsSalvaged() async throws {
        try await withTemporaryFolder { root in
            let folder = root.appending(path: "the log é")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            let path = folder.appending(path: "log").path(percentEncoded: false)
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try entries(1...40))
            try await log.close()
            try flip(17, in: path)
            let size = LogRows.size(of: path)

            #expect(try await log.open(now: start).salvage == nil)
            let reading = try await log.readAll("one", 1...40)
            #expect(reading.missing == numbers(17...17))
            #expect(Array(reading.records) == (1...40).filter { $0 != 17 }.map { record($0) })
            #expect(try await log.summary().total.count == 39)
            try await log.close()
            let contents = try await log.open(now: start)
            let part = SpoolPart(trackable: try TrackableID("van"), stream: try stream("one"), seqs: numbers(17...17))
            #expect(contents.salvage?.missing == [part])
            #expect(contents.salvage?.count == 39)
            #expect(contents.salvage?.keptFiles == 1)
            #expect(contents.salvage?.keptBytes == size)
            #expect(FileManager.default.fileExists(atPath: contents.salvage?.path ?? ""))
            #expect(contents.trackables[try TrackableID("van")]?.current == nil)
            try await log.close()
            #expect(try await log.open(now: start).salvage == nil, "once")
            try await log.close()
        }
    }

    @Test(.timeLimit(.minutes(5))) func aSalvageCutShortBeginsAnew() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try entries(1...40))
            try await log.close()
            // The program ends before the new log replaces the damaged one.
            SpoolOpening.wantSalvage(of: path)
            try Data("half a log".utf8).write(to: URL(filePath: path + ".draft"))
            try Data("half a log".utf8).write(to: URL(filePath: path + ".new"))
            var contents = try await log.open(now: start)
            #expect(contents.salvage?.count == 40)
            try await log.close()
            // The program ends after the damaged log was removed.
            try FileManager.default.moveItem(atPath: path, toPath: path + ".new")
            contents = try await log.open(now: start)
            #expect(contents.salvage == nil)
            #expect(try await log.readAll("one", 1...40).records.count == 40)
            try await log.close()
        }
    }

    @Test(.timeLimit(.minutes(5))) func appendedRecordsSurviveAKill() async throws {
        try await withTemporaryFolder { folder in
            let (path, output) = (folder.appending(path: "log").path(), folder.appending(path: "out").path())
            let program = try Self.writer()
            var random = SplitMix64(seed: 7)
            for _ in 0..<10 {
                let child = try ChildProcess(program, [path, "200"], output: output)
                // The program is killed a random number of records after the first one.
                let wanted = (try? Data(contentsOf: URL(filePath: output)).count) ?? 0
                let more = Int.random(in: 100...20_000, using: &random)
                let deadline = ContinuousClock.now + .seconds(60)
                while LogRows.size(of: output) < wanted + more, ContinuousClock.now < deadline {
                    try await Task.sleep(for: .milliseconds(1))
                }
                child.signal(SIGKILL)
                try await child.waitForEnd()
            }
            var reported: [String: SeqSet] = [:]
            for line in try String(contentsOf: URL(filePath: output), encoding: .utf8).split(separator: "\n") {
                let words = line.split(separator: " ")
                guard words.count == 2, let seq = UInt64(words[1]) else { continue }
                reported[String(words[0]), default: SeqSet()].insert(seq)
            }
            #expect(reported.count == 10)
            let log = SQLiteSpool(path: path)
            let contents = try await log.open(now: start)
            // A kill between the header of a frame and its page looks like damage. In that case every record is
            // salvaged.
            #expect([nil, "its write-ahead log is damaged"].contains(contents.salvage?.reason))
            let streams = try #require(contents.trackables[try TrackableID("van")]?.streams)
            for (name, seqs) in reported {
                let stored = try #require(streams.first { $0.id.rawValue == name }?.stored)
                #expect(seqs.intersection(stored) == seqs, "every append that returned")
                let reading = try await log.read(
                    try stream(name), stored, maximumCount: .max, maximumBytes: .max)
                #expect(reading.missing.isEmpty)
            }
            try await log.close()
        }
    }

    /// The writer's path, which is beside the test program.
    static func writer() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let program = root.appending(path: ".build/debug/spool-writer").path()
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw TestSupportError("\(program) is missing; build it with `swift build --build-tests`")
        }
        return program
    }

    /// Runs `body` with a separate small file system.
    private static func withDisk(ofMegabytes size: Int, _ body: (URL) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let disk = folder.appending(path: "disk")
            try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: false)
            try await ChildProcess.run("/bin/mount", ["-t", "tmpfs", "-o", "size=\(size)m", "tmpfs", disk.path()])
            do {
                try await body(disk)
            } catch {
                try await ChildProcess.run("/bin/umount", ["-l", disk.path()])
                throw error
            }
            try await ChildProcess.run("/bin/umount", ["-l", disk.path()])
        }
    }

    @Test(.enabled(if: getuid() == 0, "a file system of its own needs root"), .timeLimit(.minutes(5)))
    func aFullDiskEndsByItself() async throws { try await Self.withDisk(ofMegabytes: 16) { try await Self.fill($0) } }

    /// A salvage needs as much space again as the log.
    @Test(.enabled(if: getuid() == 0, "a file system of its own needs root"), .timeLimit(.minutes(5)))
    func aDamagedLogOnAFullDiskIsUsedWithoutASalvage() async throws {
        try await Self.withDisk(ofMegabytes: 24) { disk in
            let (path, other) = (disk.appending(path: "log").path(), disk.appending(path: "other"))
            let (one, van) = (try stream("one"), try TrackableID("van"))
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try entries(1...2000, size: 4000))
            try await log.remove(numbers(1...1000), of: one)
            try await log.append(try entries(2001...2001))
            try await log.close()
            try Self.fillUp(other)
            SpoolOpening.wantSalvage(of: path)

            var contents = try await log.open(now: start)
            #expect(contents.salvage == nil && contents.damage?.contains("parts of it could not be read") == true)
            let held = contents.trackables[van]
            #expect(held?.streams == [StoredStream(id: one, stored: numbers(1001...2001), last: 2001)])
            #expect(held?.current == nil, "it is not known what it has given out")
            #expect(try await log.readAll("one", 1001...1010).records.count == 10)
            try await log.append(try entries(1...5, in: "two"))
            try await log.close()

            try FileManager.default.removeItem(at: other)
            contents = try await log.open(now: start)
            #expect(contents.salvage?.count == 1006 && contents.damage == nil, "there is room")
            try await log.close()
        }
    }

    /// Using the damaged log would lose more than the damaged records.
    @Test(.enabled(if: getuid() == 0, "a file system of its own needs root"), .timeLimit(.minutes(5)))
    func aLogWithDamagedPagesFailsToOpenOnAFullDisk() async throws {
        try await Self.withDisk(ofMegabytes: 24) { disk in
            let (path, other) = (disk.appending(path: "log").path(), disk.appending(path: "other"))
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try entries(1...1500, size: 4000))
            try await log.remove(numbers(1...500), of: try stream("one"))
            try await log.append(try entries(1501...1501))
            try await log.close()
            try spoilPage(of: 1200, in: path)
            try Self.fillUp(other)
            SpoolOpening.wantSalvage(of: path)
            let before = try FileManager.default.contentsOfDirectory(atPath: disk.path()).sorted()
            let error = await #expect(throws: TrackingError.self) { _ = try await log.open(now: start) }
            #expect(error?.code == .spoolFailed)
            let after = try FileManager.default.contentsOfDirectory(atPath: disk.path()).sorted()
            #expect(after == before.filter { !$0.hasSuffix(".closed") }, "nothing takes the last room")

            try FileManager.default.removeItem(at: other)
            #expect(try await log.open(now: start).salvage?.count ?? 0 >= 1000)
            try await log.close()
        }
    }

    /// Leaves less free space than the size of the log.
    private static func fillUp(_ file: URL) throws {
        let descriptor = open(file.path(), O_WRONLY | O_CREAT, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let block = [UInt8](repeating: 1, count: 1 << 16)
        while write(descriptor, block, block.count) == block.count {}
    }

    private static func fill(_ disk: URL) async throws {
        let log = SQLiteSpool(path: disk.appending(path: "log").path())
        _ = try await log.open(now: start)
        let other = disk.appending(path: "other")
        try Data(count: 1 << 20).write(to: other)
        let one = try stream("one")
        var (seq, kept) = (UInt64(0), SeqSet())
        func add() async throws(TrackingError) {
            seq += 1
            try await log.append([SpoolEntry(record(seq, size: 4000), of: TrackableID("van"), in: one)])
            kept.insert(seq)
        }
        func addUntilFull() async throws {
            var failures = 0
            while failures < 3 {
                try #require(seq < 10_000, "the disk is never full")
                do throws(TrackingError) { try await add() } catch {
                    #expect(error.code == .spoolFailed)
                    failures += 1
                }
            }
        }
        try await addUntilFull()
        #expect(kept.count > 100)
        #expect(try await log.read(one, kept, maximumCount: .max, maximumBytes: .max).missing.isEmpty)
        // The removal of sent records makes room.
        try await log.remove(numbers(1...50), of: one)
        kept.remove(1...50)
        for _ in 0..<20 { try await add() }
        try await addUntilFull()
        // Space that other programs free makes room as well.
        try FileManager.default.removeItem(at: other)
        try await log.remove(numbers(51...70), of: one)
        kept.remove(51...70)
        for _ in 0..<10 { try await add() }
        try await log.close()
        let stored = try #require(try await log.open(now: start).trackables[TrackableID("van")]?.streams.first)
        #expect(stored == StoredStream(id: one, stored: kept, last: seq))
        #expect(try await log.read(one, kept, maximumCount: .max, maximumBytes: .max).missing.isEmpty)
        try await log.close()
    }
}
