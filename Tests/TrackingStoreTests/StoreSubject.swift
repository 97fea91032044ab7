import Foundation
import GRDB
import TestSupport
import TrackingCore

@testable import TrackingStore

/// The store implementations that share the tests.
enum StoreSubject: CaseIterable {
    case sqlite
    case postgres

    /// Runs a test on a new, empty store.
    func run(_ body: (StoreUnderTest) async throws -> Void) async throws {
        switch self {
        case .sqlite:
            try await withTemporaryFolder { folder in
                let path = folder.appending(path: "history.sqlite").path()
                let open: @Sendable () throws -> any HistoryStore = { try SQLiteHistoryStore(path: path) }
                try await body(StoreUnderTest(open: open))
            }
        case .postgres:
            let server = try await PostgresServer.shared()
            let address = try await server.makeDatabase()
            try await body(StoreUnderTest { try await PostgresHistoryStore(address: address) })
            withExtendedLifetime(server) {}
        }
    }
}

/// A store that can be opened more than once.
struct StoreUnderTest: Sendable {
    let open: @Sendable () async throws -> any HistoryStore

    init(open: @escaping @Sendable () async throws -> any HistoryStore) { self.open = open }

    /// Opens the store, and closes it after `body`.
    func use<Value>(_ body: (any HistoryStore) async throws -> Value) async throws -> Value {
        let store = try await self.open()
        let value = try await body(store)
        try await store.close()
        return value
    }
}

func withTemporaryFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
}

let now = UnixTime(1_790_000_000)

func trackable(_ name: String) throws -> TrackableID { try TrackableID(name) }

func stream(_ name: String) throws(TrackingError) -> StreamID {
    guard let id = StreamID(name) else { throw TrackingError(.invalidName, "no stream: \(name)") }
    return id
}

/// A point with members that follow from its number: one a second, northward by about 11 m.
func point(_ seq: UInt64, of name: String = "one", at time: Double? = nil) throws -> Location {
    let place = Coordinate(latitude: 52 + Double(seq) * 1e-4, longitude: -8.66)
    guard let place else { throw TrackingError(.invalidPayload, "the place is none") }
    var point = Location(coordinate: place, time: UnixTime(time ?? now.seconds + Double(seq)))
    point.seq = seq
    point.stream = try stream(name)
    return point
}

func points(_ seqs: ClosedRange<UInt64>, of name: String = "one") throws -> [Location] {
    try seqs.map { try point($0, of: name) }
}

/// A point with every member.
func fullPoint(_ seq: UInt64) throws -> Location {
    var full = try point(seq)
    full.altitude = 19.5
    full.accuracyHorizontal = 4.1
    full.accuracyVertical = 6
    full.bearing = 187.5
    full.accuracyBearing = 3
    full.speed = 8.2
    full.accuracySpeed = 0.4
    full.floor = -2
    full.batteryLevel = 0.83
    full.mode = .balanced
    full.motion = [.driving, .stationary]
    full.tripID = "trip-1"
    full.source = .gps
    full.extra = Array(#"{"name":"Ümläut","deep":[1,2]}"#.utf8)
    return full
}

func batch(
    _ points: [Location] = [], of name: String = "van", at receivedAt: UnixTime = now,
    _ change: (inout Recording) -> Void = { _ in }
) throws -> RecordingBatch {
    var recording = Recording(of: try TrackableID(name), at: receivedAt)
    recording.points = points
    change(&recording)
    var batch = RecordingBatch()
    batch.recordings = [recording]
    return batch
}

extension HistoryStore {
    /// Returns the trackables whose rows have the box of an open run.
    func openBoxes() async throws -> [String] {
        try await self.texts("SELECT id FROM trackable WHERE run_count IS NOT NULL OR run_west IS NOT NULL ORDER BY id")
    }

    /// Returns the number of runs in the spatial index.
    func runs() async throws -> Int {
        Int(try await self.texts("SELECT CAST(count(*) AS text) FROM run").first ?? "") ?? 0
    }

    private func texts(_ sql: String) async throws -> [String] {
        switch self {
        case let store as SQLiteHistoryStore: return try await store.read { try String.fetchAll($0, sql: sql) }
        case let store as PostgresHistoryStore:
            return try await store.reader.perform { connection throws(TrackingError) in
                let rows = try connection.run(sql)
                return (0..<rows.count).map { rows.text($0, 0) }
            }
        default: return []
        }
    }

    /// All points of a query, by pages of `limit`.
    func allPoints(_ query: PointQuery, limit: Int = 7) async throws -> [StoredPoint] {
        var all: [StoredPoint] = []
        var after: PointName?
        while true {
            let page = try await self.points(query, after: after, limit: limit)
            all += page.points
            guard let next = page.next else { return all }
            after = next
        }
    }

    func allPoints(of name: String = "van", limit: Int = 7) async throws -> [StoredPoint] {
        try await self.allPoints(PointQuery(try TrackableID(name)), limit: limit)
    }
}
