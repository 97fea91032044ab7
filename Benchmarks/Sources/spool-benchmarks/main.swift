// The durable log: the appends a second with synchronous=FULL, compared with bare GRDB with direct binding, the same
// tables and the same records in the same run; and the time and memory to open and read a log with 1,000,000 points, in
// a program of its own.
//
// Run `spool-benchmarks`; it runs `spool-benchmarks drain FILE` as that program.

import BenchmarkSupport
import Foundation
import GRDB
import GRDBSQLite
import TrackingCore
import TrackingSpool

let rounds = 3
let batch = 200_000
let queue = 1_000_000
let trackable = try TrackableID("van")
let payload = [UInt8](repeating: 0x61, count: 330)

func makeRecord(_ seq: UInt64) -> SpoolRecord {
    SpoolRecord(
        seq: seq, time: UnixTime(1_790_000_000 + Double(seq)), kind: .point, tripID: "5a0e7c31", payload: payload)
}

func withFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder.path())
}

/// Measures the points a second that GRDB alone writes, in transactions of `together` points.
func bareAppends(together: Int) async throws -> Double {
    try await withFolder { folder in
        let pattern = SQLiteSpool(path: folder + "/pattern")
        _ = try await pattern.open(now: UnixTime(0))
        try await pattern.close()
        let tables = try await DatabaseQueue(path: folder + "/pattern").read {
            try String.fetchAll($0, sql: "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
        }
        return try bareAppends(folder + "/bare", tables, together: together)
    }
}

func bareAppends(_ path: String, _ tables: [String], together: Int) throws -> Double {
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA journal_mode = WAL")
        try db.execute(sql: "PRAGMA synchronous = FULL")
        for table in tables { try db.execute(sql: table) }
    }
    let start = secondsNow()
    for first in stride(from: 1, through: batch, by: together) {
        try queue.write { db in
            let statement = try db.cachedStatement(sql: "INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
                .sqliteStatement
            for seq in first..<(first + together) { try insert(Int64(seq), statement) }
        }
    }
    return Double(batch) / (secondsNow() - start)
}

func insert(_ seq: Int64, _ statement: OpaquePointer) throws {
    sqlite3_bind_int64(statement, 1, seq)
    sqlite3_bind_int64(statement, 2, 1)
    sqlite3_bind_int64(statement, 3, seq)
    sqlite3_bind_int64(statement, 4, Int64(payload.count))
    sqlite3_bind_double(statement, 5, 1_790_000_000 + Double(seq))
    sqlite3_bind_int64(statement, 6, 0)
    sqlite3_bind_text(statement, 7, "5a0e7c31", 8, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    sqlite3_bind_int64(statement, 9, seq)
    try payload.withUnsafeBytes {
        sqlite3_bind_blob(statement, 8, $0.baseAddress, Int32($0.count), nil)
        guard sqlite3_step(statement) == SQLITE_DONE else {
            throw BenchmarkError("SQLite did not write a row of the reference")
        }
    }
    sqlite3_reset(statement)
}

/// Measures the points a second of `writers` simultaneous writers, which each wait for their own appends of `together`
/// records.
func appends(writers: Int, together: Int, count: Int = batch) async throws -> Double {
    try await withFolder { folder in
        let log = SQLiteSpool(path: folder + "/log")
        _ = try await log.open(now: UnixTime(0))
        let share = count / writers
        let start = secondsNow()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    let (first, stream) = (writer * share + 1, StreamID("k3f9q2wz")!)
                    for seq in stride(from: first, to: first + share, by: together) {
                        try await log.append(
                            (seq..<(seq + together)).map {
                                SpoolEntry(makeRecord(UInt64($0)), of: trackable, in: stream)
                            })
                    }
                }
            }
            try await group.waitForAll()
        }
        let rate = Double(count) / (secondsNow() - start)
        try await log.close()
        return rate
    }
}

/// Opens a log, reads all records in batches of 200 and removes them, and prints the times and the memory.
func drain(_ path: String) async throws {
    let before = KernelFiles.kibibytes("VmRSS", in: "/proc/self/status")
    let log = SQLiteSpool(path: path)
    let start = secondsNow()
    let contents = try await log.open(now: UnixTime(0))
    let opened = secondsNow()
    let idle = KernelFiles.kibibytes("VmRSS", in: "/proc/self/status")
    var count = 0
    for stream in contents.trackables[trackable]?.streams ?? [] {
        var rest = stream.stored
        while !rest.isEmpty {
            let reading = try await log.read(stream.id, rest.prefix(200), maximumCount: 200, maximumBytes: 112_000)
            let seqs = reading.records.seqs
            try await log.remove(seqs, of: stream.id)
            rest.subtract(seqs)
            count += seqs.count
        }
    }
    let drained = secondsNow()
    let most = KernelFiles.kibibytes("VmHWM", in: "/proc/self/status")
    try await log.close()
    print(opened - start, Double(count) / (drained - opened), idle / 1024, most / 1024, before / 1024)
}

func fill(_ path: String) async throws {
    let log = SQLiteSpool(path: path, durability: .normal)
    _ = try await log.open(now: UnixTime(0))
    for first in stride(from: 1, through: queue, by: 10_000) {
        try await log.append(
            (first..<(first + 10_000)).map {
                SpoolEntry(makeRecord(UInt64($0)), of: trackable, in: StreamID("k3f9q2wz")!)
            })
    }
    // The removed records leave gaps, as acknowledged live updates do.
    var gaps = SeqSet()
    for place in stride(from: UInt64(500), through: 500_000, by: 500) { gaps.insert(place...(place + 3)) }
    try await log.remove(gaps, of: StreamID("k3f9q2wz")!)
    try await log.close()
}

func run() async throws -> Bool {
    var report = Report()
    let together = try await alternate(
        rounds: rounds, { try await bareAppends(together: 1000) },
        { try await appends(writers: 10, together: 100) })
    report.compare(
        "appends of 100, ten writers; bare GRDB, 1,000 a transaction", reference: together.reference.median,
        measured: together.measured.median, "points/s", .atLeast(0.5))
    report.measure("the same", together.measured.median, "points/s", .atLeast(50_000))
    report.measure(
        "appends of 1, 1,000 writers", try await appends(writers: 1000, together: 1, count: 50_000), "points/s")
    report.measure("appends of 1, one writer", try await appends(writers: 1, together: 1, count: 2000), "points/s")
    try await withFolder { folder in
        try await fill(folder + "/log")
        let child = Process()
        let pipe = Pipe()
        child.executableURL = URL(filePath: CommandLine.arguments[0])
        child.arguments = ["drain", folder + "/log"]
        child.standardOutput = pipe
        try child.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        child.waitUntilExit()
        let values = String(decoding: output, as: UTF8.self).split(whereSeparator: \.isWhitespace).compactMap {
            Double($0)
        }
        guard values.count == 5 else { throw BenchmarkError("the program that drains the log failed") }
        report.measure("1,000,000 points queued, open", values[0], "s", .below(1))
        report.measure("1,000,000 points queued, read and removed", values[1], "points/s")
        report.measure("resident, open and idle (\(Int(values[4])) MB before)", values[2], "MB", .below(60))
        report.measure("resident at most, draining", values[3], "MB", .below(60))
    }
    return report.isMet
}

if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "drain" {
    try await drain(CommandLine.arguments[2])
} else if try await !run() {
    exit(1)
}
