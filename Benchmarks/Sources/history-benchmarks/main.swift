// The history of a large fleet, in SQLite and PostgreSQL: the time to read the last position of each of 100,000
// trackables, and the points a second that `godwit export` writes. The references are programs of the databases that
// print rows of the same table in its order: `psql` and `sqlite3`.
//
// Run `history-benchmarks PROGRAM`, where PROGRAM is a release build of `godwit`.

import BenchmarkSupport
import Foundation
import TrackingCore
import TrackingStore

guard CommandLine.arguments.count == 2 else {
    print("usage: history-benchmarks PROGRAM")
    exit(64)
}
let program = CommandLine.arguments[1]

/// The trackables of a history, and the times of their points.
struct Fleet {
    var trackables: Int
    /// The number of points of each trackable.
    var points: Int
    /// The seconds between two points of a trackable.
    var interval: Double
    /// Every tenth trackable has only the first half of its points.
    var isPartlyOld = false

    /// A fleet of 100,000, with points in five weeks.
    static let large = Fleet(trackables: 100_000, points: 10, interval: 3 * 86_400, isPartlyOld: true)
    /// One day of 1,000 trackables, with a point every 86 s. A trackable of the large fleet has as many points a day.
    static let day = Fleet(trackables: 1_000, points: 1_000, interval: 86)

    /// Stores the points of the fleet, in the order of their times, 5,000 in a commit.
    ///
    /// - Returns: The number of points.
    func fill(_ store: any HistoryStore) async throws -> Int {
        var stored = 0
        let ids = try (0..<self.trackables).map { try TrackableID("van-\($0)") }
        for index in 0..<self.points {
            for first in stride(from: 0, to: self.trackables, by: 5_000) {
                var batch = RecordingBatch()
                for vehicle in first..<min(first + 5_000, self.trackables) {
                    if self.isPartlyOld, vehicle % 10 == 0, index >= self.points / 2 { continue }
                    let point = self.point(index, of: vehicle)
                    var recording = Recording(of: ids[vehicle], at: point.time)
                    recording.points = [point]
                    batch.recordings.append(recording)
                }
                stored += try await store.store(batch).stored
            }
        }
        return stored
    }

    /// Makes a point with the values that a phone reports.
    private func point(_ index: Int, of vehicle: Int) -> Location {
        let (north, east) = (Double(index) * 1e-4, Double(vehicle % 100) * 0.1)
        var point = Location(
            coordinate: Coordinate(latitude: 50 + north, longitude: 5 + east)!,  // in range
            // 2026-09-07, a Monday
            time: UnixTime(1_788_739_200 + Double(index) * self.interval + Double(vehicle % 80)))
        point.seq = UInt64(index + 1)
        point.stream = StreamID("k3f9q2wz")!  // a valid id
        point.accuracyHorizontal = 4.1
        point.bearing = 187.5
        point.speed = 8.2
        point.batteryLevel = 0.83
        point.mode = .balanced
        point.source = .gps
        return point
    }
}

/// A database engine with empty histories.
struct Engine {
    var name: String
    /// The address of an empty history, for `--store`.
    var makeHistory: () throws -> String
    /// The arguments of the program that prints the rows of the table `point`, at most as many as given.
    var plainRead: (_ history: String, _ limit: Int) -> [String]

    /// Opens a history.
    func open(_ history: String) async throws -> any HistoryStore {
        guard history.hasPrefix("sqlite:") else { return try await PostgresHistoryStore(address: history) }
        return try SQLiteHistoryStore(path: String(history.dropFirst("sqlite:".count)))
    }
}

let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-bench-\(UUID().uuidString)").path()
let pipe = folder + "/pipe"

func printed(_ arguments: [String]) throws -> Printed {
    try Printed(by: arguments[0], Array(arguments.dropFirst()), through: pipe)
}

/// Measures the last positions of 100,000 trackables, read by the store and printed by `godwit last`.
@MainActor func measureLast(_ engine: Engine) async throws {
    let fleet = Fleet.large
    let history = try engine.makeHistory()
    let store = try await engine.open(history)
    _ = try await fleet.fill(store)
    guard try await store.lastPositions(of: nil).count == fleet.trackables else {
        throw BenchmarkError("the history does not have a last position of each trackable")
    }
    let times = try await alternate(rounds: 5, { try printed(engine.plainRead(history, fleet.trackables)).seconds }) {
        let began = secondsNow()
        _ = try await store.lastPositions(of: nil)
        return secondsNow() - began
    }
    let commands = try (0..<5).map { _ in
        try printed([program, "last", "--store", history, "--format", "json"]).seconds
    }
    try await store.close()
    report.compare(
        "\(engine.name): last positions of \(fleet.trackables); as many rows of `point` printed",
        reference: times.reference.median * 1000, measured: times.measured.median * 1000, "ms")
    report.measure("\(engine.name): the same", times.measured.median, "s", .atMost(0.5))
    report.compare(
        "\(engine.name): the same, printed by `godwit last` as JSON", reference: times.reference.median * 1000,
        measured: commands.median * 1000, "ms")
}

/// Measures the points a second that `godwit export` writes, and those that the database's program prints.
@MainActor func measureExport(_ engine: Engine) async throws {
    let history = try engine.makeHistory()
    let store = try await engine.open(history)
    let points = try await Fleet.day.fill(store)
    try await store.close()
    let rates = try await alternate(
        rounds: 3, { Double(points) / (try printed(engine.plainRead(history, points)).seconds) }
    ) {
        let days = "\(folder)/days-\(UInt32.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: days) }
        return Double(points) / (try printed([program, "export", days, "--store", history]).seconds)
    }
    report.compare(
        "\(engine.name): `godwit export`; all rows of `point` printed", reference: rates.reference.median,
        measured: rates.measured.median, "points/s")
}

try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
let postgres = try PrivatePostgres()
let engines = [
    Engine(
        name: "SQLite", makeHistory: { "sqlite:\(folder)/\(UInt32.random(in: 0 ... .max)).sqlite" },
        plainRead: { history, limit in
            let file = String(history.dropFirst("sqlite:".count))
            return ["sqlite3", "-readonly", file, "SELECT * FROM point LIMIT \(limit)"]
        }),
    Engine(
        name: "PostgreSQL", makeHistory: { try postgres.database() },
        plainRead: { history, limit in
            let copy = "COPY (SELECT * FROM godwit.point LIMIT \(limit)) TO STDOUT (FORMAT csv)"
            return ["psql", "-d", history, "-q", "-c", copy]
        }),
]
var report = Report()
for engine in engines {
    try await measureLast(engine)
    try await measureExport(engine)
}
try postgres.end()
try FileManager.default.removeItem(atPath: folder)
if !report.isMet { exit(1) }
