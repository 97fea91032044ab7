import Foundation
import GodwitOptions
import TestSupport
import Testing
import TrackingCore
import TrackingHistory
import TrackingStore

@testable import godwit

/// A recorded drive gives the same export, byte for byte, in whatever order its messages come.
///
/// `GODWIT_DRILL_ORDERS` is how many orders are tried in SQLite, a fiftieth of them in PostgreSQL; `GODWIT_DRILL_SEED`
/// is where they begin.
@Suite(.serialized, .timeLimit(.minutes(240))) struct AnyOrderTests {
    private static let orders = Int(ProcessInfo.processInfo.environment["GODWIT_DRILL_ORDERS"] ?? "") ?? 50
    private static let seed = UInt64(ProcessInfo.processInfo.environment["GODWIT_DRILL_SEED"] ?? "") ?? 1

    @Test func aDriveInSQLite() async throws {
        let drive = try Drive()
        let inOrder = try await Self.withFolder { try await Self.sqlite(drive.inOrder, $0) }
        #expect(inOrder.points == drive.points.count)
        #expect(inOrder.isComplete)
        try await Self.tryOrders(Self.orders, of: drive, for: inOrder) { commits in
            try await Self.withFolder { try await Self.sqlite(commits, $0) }
        }
    }

    @Test func aDriveInPostgreSQL() async throws {
        let drive = try Drive()
        let server = try await PostgresServer.shared()
        let inOrder = try await Self.withFolder { try await Self.postgres(drive.inOrder, server, $0) }
        try await Self.tryOrders(max(3, Self.orders / 50), of: drive, for: inOrder) { commits in
            try await Self.withFolder { try await Self.postgres(commits, server, $0) }
        }
    }

    /// Stores the drive in several orders, as many at a time as there are cores.
    private static func tryOrders(
        _ count: Int, of drive: Drive, for expected: Found,
        _ store: @escaping @Sendable ([Commit]) async throws -> Found
    ) async throws {
        let seeds = (0..<UInt64(count)).map { Self.seed + $0 }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, seed) in seeds.enumerated() {
                if index >= ProcessInfo.processInfo.activeProcessorCount { try await group.next() }
                group.addTask {
                    var random = SplitMix64(seed: seed)
                    try Self.check(try await store(drive.anyOrder(&random)), expected, seed)
                }
            }
            try await group.waitForAll()
        }
    }

    private static func check(_ found: Found, _ expected: Found, _ seed: UInt64) throws {
        try #require(found == expected, "another export with GODWIT_DRILL_SEED=\(seed) GODWIT_DRILL_ORDERS=1")
    }

    // MARK: - What is stored

    /// The stored result of one order.
    private struct Found: Equatable, Sendable {
        var exports: [[UInt8]]
        var last: LastPosition?
        var points: Int
        var ranges: [[StreamCoverage.Range]]
        var isComplete: Bool
    }

    private static func sqlite(_ commits: [Commit], _ folder: URL) async throws -> Found {
        let path = folder.appending(path: "history.sqlite").path()
        let recorders = try [SQLiteHistoryStore(path: path), SQLiteHistoryStore(path: path)]
        return try await Self.found(commits, recorders, folder)
    }

    private static func postgres(_ commits: [Commit], _ server: PostgresServer, _ folder: URL) async throws -> Found {
        let address = try await server.makeDatabase()
        var recorders: [PostgresHistoryStore] = []
        for _ in 0..<2 { recorders.append(try await PostgresHistoryStore(address: address)) }
        return try await Self.found(commits, recorders, folder)
    }

    /// Stores everything, each commit by its recorder, and reads it again.
    private static func found(
        _ commits: [Commit], _ recorders: [any HistoryStore], _ folder: URL
    ) async throws -> Found {
        for commit in commits { _ = try await recorders[commit.recorder].store(commit.batch) }
        let store = recorders[0]
        var exports: [[UInt8]] = []
        for format in [HistoryFormat.json, .gpx] {
            let path = folder.appending(path: "export").path()
            let file = try OutputFile(path)
            var progress = ErrorProgress(isWanted: false)
            let export = HistoryExport(query: PointQuery(Drive.id), format: format, maximumPoints: nil)
            _ = try await export.run(store, to: file, &progress)
            try file.finish()
            exports.append(try [UInt8](Data(contentsOf: URL(filePath: path))))
        }
        let report = try #require(try await store.verify(Drive.id))
        let found = Found(
            exports: exports, last: try await store.lastPositions(of: [Drive.id]).first, points: report.points,
            ranges: report.streams.map(\.coverage.ranges), isComplete: report.isComplete)
        for recorder in recorders { try await recorder.close() }
        return found
    }

    private static func withFolder<Value>(_ body: (URL) async throws -> Value) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-order-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder)
    }
}

/// One commit of one of two recorders.
private struct Commit: Sendable {
    var recorder = 0
    var batch = RecordingBatch()
}

/// A recorded drive as the records of one device: two streams, as after a restart, with some records that it no longer
/// had.
private struct Drive: Sendable {
    static let id = try! TrackableID("bus")  // a name that keeps the rules
    private static let received = UnixTime(1_790_000_000)

    /// One message with its records.
    private enum Lane: CaseIterable { case live, recording }

    let points: [Location]
    /// The records of each stream in the order of their numbers.
    private let streams: [[Location]]
    private let gone: ClosedRange<UInt64> = 101...110

    /// The shared recording of a bus, or a generated one without it.
    init() throws {
        let fixes = try Tracks.folder.map { try Self.read($0) } ?? Self.made(2_000)
        let half = fixes.count / 2
        let gone = self.gone
        self.streams = [("before", fixes[..<half]), ("after", fixes[half...])].map { name, part in
            part.enumerated().compactMap { index, fix in
                var point = fix
                (point.stream, point.seq) = (StreamID(name), UInt64(index + 1))
                return gone.contains(UInt64(index + 1)) ? nil : point
            }
        }
        self.points = self.streams.flatMap { $0 }
    }

    private static func read(_ folder: URL) throws -> [Location] {
        var reader = HistoryReader(.gpx)
        let bytes = try [UInt8](Data(contentsOf: folder.appending(path: "limerick_bus/304_to_UL_2019-02-18.gpx")))
        return (reader.append(bytes[...]) + reader.finish()).compactMap {
            if case .fix(let fix) = $0 { fix } else { nil }
        }
    }

    private static func made(_ count: Int) -> [Location] {
        (0..<count).compactMap { index in
            // Two points a second at times, some of one time.
            Coordinate(latitude: 52 + Double(index) * 1e-4, longitude: -8.5 + Double(index % 7) * 1e-5)
                .map { Location(coordinate: $0, time: UnixTime(1_700_000_000 + Double(index / 3))) }
        }
    }

    /// The messages as one recorder receives them from one device, in batches.
    var inOrder: [Commit] {
        var commit = Commit()
        for stream in self.streams {
            for start in stride(from: 0, to: stream.count, by: 200) {
                self.receive(self.history(Array(stream[start...].prefix(200))), &commit.batch)
            }
        }
        return [commit]
    }

    /// Cut into messages of either lane of any length, some of them twice, shuffled, and dealt out to the commits of
    /// two recorders.
    func anyOrder(_ random: inout SplitMix64) -> [Commit] {
        var messages: [IncomingMessage] = []
        for stream in self.streams {
            var rest = stream[...]
            while !rest.isEmpty {
                let lane = Lane.allCases.randomElement(using: &random) ?? .live
                let most = lane == .live ? LocationUpdate.maximumSkipped : 200
                let part = Array(rest.prefix(.random(in: 1...most, using: &random)))
                rest = rest.dropFirst(part.count)
                let message = lane == .live ? self.update(part) : self.history(part)
                messages += Array(repeating: message, count: Int.random(in: 0..<4, using: &random) == 0 ? 2 : 1)
            }
            // Live records are sent again in batches of other lengths.
            let first = Int.random(in: 0..<stream.count, using: &random)
            messages.append(self.history(Array(stream[first...].prefix(300))))
        }
        messages.shuffle(using: &random)
        var commits: [Commit] = []
        while !messages.isEmpty {
            let count = min(messages.count, .random(in: 1...20, using: &random))
            var commit = Commit(recorder: .random(in: 0...1, using: &random))
            for message in messages.prefix(count) { self.receive(message, &commit.batch) }
            messages.removeFirst(count)
            commits.append(commit)
        }
        return commits
    }

    private func receive(_ message: IncomingMessage, _ batch: inout RecordingBatch) {
        batch.received(message, root: .standard, at: Self.received)
    }

    private func update(_ points: [Location]) -> IncomingMessage {
        let update = LocationUpdate(location: points[points.count - 1], skipped: Array(points.dropLast()))
        return self.message(.location(Self.id), (try? LocationCodec.encode(update)) ?? [])
    }

    private func history(_ points: [Location]) -> IncomingMessage {
        guard let stream = points.first?.stream else { return self.message(.history(Self.id), []) }
        var batch = HistoryBatch(id: "b", stream: stream, oldest: 1)
        batch.gone = [self.gone]
        batch.records = SpoolRecords(
            points.map { point in
                SpoolRecord(
                    seq: point.seq ?? 0, time: point.time, kind: .point,
                    payload: LocationCodec.encodeFeature(point, inheriting: stream))
            })
        return self.message(.history(Self.id), HistoryCodec.encode(batch))
    }

    private func message(_ topic: Topic, _ payload: [UInt8]) -> IncomingMessage {
        IncomingMessage(topic: TopicRoot.standard.path(topic), payload: payload[...], isRetained: false)
    }
}
