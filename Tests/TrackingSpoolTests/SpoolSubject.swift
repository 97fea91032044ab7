import Foundation
import Testing
import TrackingCore
import TrackingTesting

@testable import TrackingSpool

/// The log implementations that share the tests.
enum SpoolSubject: CaseIterable {
    case memory
    case file

    /// Runs a test on a new log, which is not open yet.
    func run(_ body: (SpoolUnderTest) async throws -> Void) async throws {
        switch self {
        case .memory: try await body(SpoolUnderTest(storage: InMemorySpool(), folder: nil))
        case .file:
            try await withTemporaryFolder { folder in
                let storage = SQLiteSpool(path: folder.appending(path: "log.sqlite").path())
                try await body(SpoolUnderTest(storage: storage, folder: folder))
                try await storage.close()
            }
        }
    }
}

struct SpoolUnderTest {
    let storage: any SpoolStorage
    let folder: URL?

    /// Damages a record of stream `one`. A log in a file is closed meanwhile.
    func damage(_ seq: UInt64) async throws {
        if let memory = self.storage as? InMemorySpool { return memory.damage(seq, of: try stream("one")) }
        guard let folder else { return }
        try await self.storage.close()
        try flip(seq, in: folder.appending(path: "log.sqlite").path())
        _ = try await self.storage.open(now: start)
    }

    /// The log after a program ended without closing it.
    func afterCrash() async throws -> any SpoolStorage {
        if let memory = self.storage as? InMemorySpool {
            memory.crash()
            return memory
        }
        guard let folder else { return self.storage }
        let copy = folder.appending(path: "crashed")
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: false)
        for name in ["log.sqlite", "log.sqlite-wal"] {
            try FileManager.default.copyItem(at: folder.appending(path: name), to: copy.appending(path: name))
        }
        return SQLiteSpool(path: copy.appending(path: "log.sqlite").path())
    }
}

func withTemporaryFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-spool-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
}

/// Flips a bit in the payload of the record with this number, in a closed log.
func flip(_ seq: UInt64, in path: String) throws {
    try change(50, behind: Data(record(seq).payload), in: path) { $0 ^ 0x10 }
}

/// Redirects the index entry of a record of the first stream, 2…127, to the place of another, in a closed log.
func misdirect(_ seq: UInt8, to place: UInt8, in path: String) throws {
    // The entry has the record format of <https://www.sqlite.org/fileformat2.html>: its sizes, its types, then seq,
    // size and place.
    try change(8, behind: Data([8, 5, 9, 1, 1, 1, seq, 100, seq]), in: path) { _ in place }
}

/// Overwrites the type of the page with the record at a place, so that SQLite cannot read it.
func spoilPage(of place: Int64, in path: String) throws {
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    let pages = stride(from: 0, to: bytes.count, by: SpoolSchema.pageSize)
    let start = try #require(
        pages.first { start in
            var isThere = false
            let page = PageScan(page: Array(bytes[start..<(start + SpoolSchema.pageSize)]), overflow: { _ in nil })
            _ = page.eachRow { own, columns in
                isThere = isThere || (own == place && columns.count == SpoolSchema.Columns.record)
            }
            return isThere
        })
    bytes[start] = 0
    try Data(bytes).write(to: URL(filePath: path), options: [])
}

/// Changes the byte of a file at an offset behind the start of `found`.
private func change(_ offset: Int, behind found: Data, in path: String, _ change: (UInt8) -> UInt8) throws {
    var bytes = try Data(contentsOf: URL(filePath: path))
    let place = try #require(bytes.firstRange(of: found)).lowerBound + offset
    bytes[place] = change(bytes[place])
    try bytes.write(to: URL(filePath: path), options: [])
}

let start = UnixTime(1_790_000_000)

func stream(_ name: String) throws(TrackingError) -> StreamID {
    guard let id = StreamID(name) else { throw TrackingError(.invalidName, "no stream: \(name)") }
    return id
}

/// A record with members that follow from its number.
func record(_ seq: UInt64, size: Int = 100) -> SpoolRecord {
    SpoolRecord(
        seq: seq, time: UnixTime(start.seconds + Double(seq)),
        kind: SpoolRecord.Kind(rawValue: UInt8(seq % 3)) ?? .point,
        tripID: seq % 4 == 0 ? nil : "trip-\(seq / 100)",
        payload: (0..<size).map { UInt8(truncatingIfNeeded: UInt64($0) &* 31 &+ seq) })
}

func entries(
    _ seqs: ClosedRange<UInt64>, of trackable: String = "van", in name: String = "one", size: Int = 100
) throws -> [SpoolEntry] {
    let (trackable, stream) = (try TrackableID(trackable), try stream(name))
    return seqs.map { SpoolEntry(record($0, size: size), of: trackable, in: stream) }
}

/// Returns entries with marks.
func marked(_ seqs: ClosedRange<UInt64>, in name: String = "one") throws -> [SpoolEntry] {
    try entries(seqs, in: name).map { entry in
        var entry = entry
        entry.mark = try mark(entry.record.seq)
        return entry
    }
}

/// Returns the mark of the record with this number.
func mark(_ seq: UInt64) throws(TrackingError) -> RecordMark {
    guard let digest = RecordDigest([UInt8](repeating: UInt8(truncatingIfNeeded: seq &* 37), count: 32)) else {
        throw TrackingError(.invalidPayload, "no digest")
    }
    return RecordMark(time: record(seq).time, digest: digest)
}

func numbers(_ ranges: ClosedRange<UInt64>...) -> SeqSet { SeqSet(ranges) }

extension SpoolStorage {
    func readAll(_ name: String, _ seqs: ClosedRange<UInt64>) async throws -> SpoolReading {
        try await self.read(
            try stream(name), numbers(seqs), maximumCount: .max, maximumBytes: .max)
    }
}
