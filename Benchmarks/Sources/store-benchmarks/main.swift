// The history in SQLite: the points a second that become durable, compared with bare GRDB with direct binding, the same
// table and the same rows in the same run; the time to read; and the growth of the time for a point.
//
// Run `store-benchmarks [PROGRAM]`, where PROGRAM is a release build of `godwit`, whose command `history` is measured
// as well; or `store-benchmarks growth` for a table of up to 10,000,000 points (about 2 GB, some minutes).

import BenchmarkSupport
import Foundation
import GRDB
import GRDBSQLite
import TrackingCore
import TrackingStore

let fleet = try (0..<2000).map { try TrackableID("van-\($0)") }
let stream = StreamID("k3f9q2wz")!  // a valid id
/// The number of points in one commit: those that arrive in 50 ms at 25,000 points a second.
let together = 1250
let start = 1_790_000_000.0

/// Makes the point with this index of one vehicle, with the values that a phone reports.
func makePoint(_ index: Int, of vehicle: Int) -> Location {
    let (north, east) = (Double(index % 10_000) * 1e-4, Double(vehicle % 100) * 0.1)
    var point = Location(
        coordinate: Coordinate(latitude: 50 + north, longitude: 5 + east)!,  // in range
        time: UnixTime(start + Double(index)))
    point.seq = UInt64(index + 1)
    point.stream = stream
    point.accuracyHorizontal = 4.1
    point.bearing = 187.5
    point.speed = 8.2
    point.batteryLevel = 0.83
    point.mode = .balanced
    point.source = .gps
    return point
}

/// Makes batches from messages with one point each, of all vehicles in turn.
func makeBatches(_ points: Range<Int>, together: Int = together, vehicles: Int = fleet.count) -> [RecordingBatch] {
    stride(from: points.lowerBound, to: points.upperBound, by: together).map { first in
        var batch = RecordingBatch()
        for number in first..<min(first + together, points.upperBound) {
            let (index, vehicle) = number.quotientAndRemainder(dividingBy: vehicles)
            var recording = Recording(of: fleet[vehicle], at: UnixTime(start + Double(index)))
            recording.points = [makePoint(index, of: vehicle)]
            batch.recordings.append(recording)
        }
        return batch
    }
}

func withFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder.path())
}

/// Measures the points a second that GRDB alone writes into the table of the store.
func bareInserts(_ count: Int, together: Int) async throws -> Double {
    try await withFolder { folder in
        try await SQLiteHistoryStore(path: folder + "/pattern").close()
        let table = try await DatabaseQueue(path: folder + "/pattern").read {
            try String.fetchOne($0, sql: "SELECT sql FROM sqlite_schema WHERE name = 'point'") ?? ""
        }
        let pool = try DatabasePool(path: folder + "/bare")
        try await pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try db.execute(sql: table)
        }
        let began = secondsNow()
        for first in stride(from: 0, to: count, by: together) {
            try await pool.write { db in
                let marks = Array(repeating: "?", count: 21).joined(separator: ", ")
                let statement = try db.cachedStatement(sql: "INSERT INTO point VALUES (\(marks))").sqliteStatement
                for number in first..<(first + together) {
                    let (index, vehicle) = number.quotientAndRemainder(dividingBy: fleet.count)
                    try insert(makePoint(index, of: vehicle), of: vehicle, statement)
                }
            }
        }
        return Double(count) / (secondsNow() - began)
    }
}

func insert(_ point: Location, of vehicle: Int, _ statement: OpaquePointer) throws {
    sqlite3_bind_int64(statement, 1, Int64(vehicle))
    sqlite3_bind_double(statement, 2, point.time.seconds)
    sqlite3_bind_int64(statement, 3, Int64(vehicle))
    sqlite3_bind_int64(statement, 4, Int64(point.seq ?? 0))
    sqlite3_bind_int64(statement, 5, 0)
    sqlite3_bind_double(statement, 6, point.coordinate.latitude)
    sqlite3_bind_double(statement, 7, point.coordinate.longitude)
    sqlite3_bind_double(statement, 9, point.accuracyHorizontal ?? 0)
    sqlite3_bind_double(statement, 11, point.bearing ?? 0)
    sqlite3_bind_double(statement, 13, point.speed ?? 0)
    sqlite3_bind_double(statement, 16, point.batteryLevel ?? 0)
    sqlite3_bind_int64(statement, 17, 2)
    sqlite3_bind_int64(statement, 20, 1)
    guard sqlite3_step(statement) == SQLITE_DONE else {
        throw BenchmarkError("SQLite did not write a row of the reference")
    }
    sqlite3_reset(statement)
}

/// Measures the points a second that the store writes from messages that are in memory already.
func stores(_ batches: [RecordingBatch]) async throws -> Double {
    try await withFolder { folder in
        let store = try SQLiteHistoryStore(path: folder + "/history")
        let began = secondsNow()
        var count = 0
        for batch in batches { count += try await store.store(batch).stored }
        let rate = Double(count) / (secondsNow() - began)
        try await store.close()
        return rate
    }
}

/// Measures the time to read one day from a year of one trackable.
func measureYear(_ report: inout Report) async throws {
    try await withFolder { folder in
        let count = 3_000_000
        let store = try SQLiteHistoryStore(path: folder + "/history")
        let began = secondsNow()
        for first in stride(from: 0, to: count, by: 10_000) {
            var recording = Recording(of: fleet[0], at: UnixTime(start + Double(first)))
            recording.points = (first..<(first + 10_000)).map { makePoint($0, of: 0) }
            var batch = RecordingBatch()
            batch.recordings = [recording]
            _ = try await store.store(batch)
        }
        report.measure("batches of 10,000 of one trackable", Double(count) / (secondsNow() - began), "points/s")
        try await store.close()

        let opened = try SQLiteHistoryStore(path: folder + "/history")
        let day = TimeSpan(from: UnixTime(start + 1_500_000), to: UnixTime(start + 1_586_400))
        let query = PointQuery(fleet[0], during: day)
        let asked = secondsNow()
        var page = try await opened.points(query, after: nil, limit: 500)
        report.measure("first 500 points of a day of 3,000,000", (secondsNow() - asked) * 1000, "ms", .atMost(20))
        let before = secondsNow()
        var read = 0
        let all = PointQuery(fleet[0])
        page = try await opened.points(all, after: nil, limit: 1000)
        while read < 100_000, let next = page.next {
            read += page.points.count
            for point in page.points { _ = LocationCodec.encodeFeature(point.location) }
            page = try await opened.points(all, after: next, limit: 1000)
        }
        report.measure("100,000 points read and written as Features", secondsNow() - before, "s", .below(1))
        let peak = KernelFiles.kibibytes("VmHWM", in: "/proc/self/status") / 1024
        report.measure("resident at most, up to here", peak, "MB")
        try await opened.close()
        if let program = CommandLine.arguments.dropFirst().first {
            try measureCommand(program, file: folder + "/history", day: day, &report)
        }
    }
}

/// Measures the time and memory of `godwit history`, from the start of the program.
func measureCommand(_ program: String, file: String, day: TimeSpan, _ report: inout Report) throws {
    func printed(_ times: TimeSpan) throws -> Printed {
        let arguments = [
            "history", fleet[0].rawValue, "--store", "sqlite:\(file)", "--format", "geojson", "--from",
            stamp(times.from), "--to", stamp(times.to),
        ]
        return try Printed(by: program, arguments, through: file + ".pipe")
    }
    let starts = try (0..<11).map { _ in try Printed(by: program, ["--help"], through: file + ".pipe").firstByte }
    let days = try (0..<11).map { _ in try printed(day).firstByte }
    report.measure("`godwit --help`: first byte, from its start", starts.median * 1000, "ms")
    report.measure("`godwit history` of a day of 3,000,000: first byte, from its start", days.median * 1000, "ms")
    report.measure("the same, above `--help`", (days.median - starts.median) * 1000, "ms", .atMost(20))
    let all = try printed(TimeSpan(from: UnixTime(start), to: UnixTime(start + 100_000)))
    guard all.bytes > 10_000_000 else {
        throw BenchmarkError("godwit history printed only \(all.bytes) bytes, which cannot be 100,000 points")
    }
    report.measure("`godwit history` of 100,000 points as GeoJSON", all.seconds, "s", .below(1))
    report.measure("the same: resident at most", all.peak, "MB", .below(50))
}

/// Returns a time as RFC 3339 text in UTC.
func stamp(_ time: UnixTime?) -> String {
    ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: time?.seconds ?? 0))
}

func measureLast(_ report: inout Report) async throws {
    try await withFolder { folder in
        let store = try SQLiteHistoryStore(path: folder + "/history")
        for first in stride(from: 0, to: 10_000, by: 1000) {
            var batch = RecordingBatch()
            for vehicle in first..<(first + 1000) {
                var recording = Recording(of: try TrackableID("van-\(vehicle)"), at: UnixTime(start))
                recording.points = (0..<50).map { makePoint($0, of: vehicle) }
                batch.recordings.append(recording)
            }
            _ = try await store.store(batch)
        }
        _ = try await store.lastPositions(of: nil)
        let began = secondsNow()
        let count = try await store.lastPositions(of: nil).count
        report.measure("last positions of \(count) trackables", (secondsNow() - began) * 1000, "ms", .atMost(50))
        try await store.close()
    }
}

/// Measures the time for a point while the history grows to 10,000,000 points.
func measureGrowth(_ report: inout Report) async throws {
    try await withFolder { folder in
        let store = try SQLiteHistoryStore(path: folder + "/history")
        var costs: [Int: Double] = [:]
        for million in 0..<10 {
            var spent = 0.0
            for part in 0..<10 {
                let first = million * 1_000_000 + part * 100_000
                let batches = makeBatches(first..<(first + 100_000))
                let began = secondsNow()
                for batch in batches { _ = try await store.store(batch) }
                if part == 9 { spent = secondsNow() - began }
            }
            costs[million + 1] = spent / 100_000 * 1e6
            report.measure("a point at \(million + 1),000,000 stored", spent / 100_000 * 1e6, "µs")
        }
        report.compare(
            "a point at 10,000,000; at 1,000,000", reference: costs[1] ?? 0, measured: costs[10] ?? 0, "µs",
            .atMost(1.5))
        let size = try FileManager.default.attributesOfItem(atPath: folder + "/history")[.size] as? Int ?? 0
        report.measure("bytes a point", Double(size) / 1e7, "B")
        try await store.close()
    }
}

func run() async throws -> Bool {
    var report = Report()
    if CommandLine.arguments.dropFirst().first == "growth" {
        try await measureGrowth(&report)
        return report.isMet
    }
    let count = 200_000
    for together in [500, together] {
        let batches = makeBatches(0..<count, together: together)
        let rates = try await alternate(
            rounds: 3, { try await bareInserts(count, together: together) }, { try await stores(batches) })
        report.compare(
            "one point a message, \(together) a commit; bare GRDB, \(together) a commit",
            reference: rates.reference.median, measured: rates.measured.median, "points/s", .atLeast(0.5))
        report.measure("the same", rates.measured.median, "points/s", .atLeast(25_000))
    }
    try await measureLast(&report)
    try await measureYear(&report)
    return report.isMet
}

if try await !run() { exit(1) }
