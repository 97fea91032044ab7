import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingStore

/// `godwit export`, and the conversion into Parquet that the how-to describes, read back with DuckDB.
@Suite(.timeLimit(.minutes(10))) final class DailyExportTests {
    /// 2026-05-05T00:00:00Z.
    private static let midnight = 1_777_939_200.0
    private static let header = "trackable,time,latitude,longitude,"

    private let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-days-\(UUID().uuidString)")
    private let store: String

    init() throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: false)
        self.store = "sqlite:\(self.folder.appending(path: "history.sqlite").path())"
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    /// One trackable drives over midnight, one drives before it, and one two days later. Their texts have commas,
    /// quotation marks and line ends.
    @Test func theFilesOfBothDatabasesHaveEveryPointOnItsDay() async throws {
        let fleet = [
            "van": try Self.drive(from: Self.midnight - 1000.25, 200),
            "a \"b\", c": try Self.drive(from: Self.midnight - 40_000, 50),
            "=2+3": try Self.drive(from: Self.midnight + 2 * 86_400, 30),
        ]
        try await self.fill(fleet)
        #expect(try await self.export() == "280 points of 3 trackables written to 3 files\n")
        #expect(try self.days() == ["2026-05-04.csv", "2026-05-05.csv", "2026-05-07.csv"])
        let expected = fleet.sorted { $0.key < $1.key }.flatMap { id, points in
            // An apostrophe prevents that a spreadsheet executes an id.
            points.map { Row($0, of: id.hasPrefix("=") ? "'\(id)" : id) }
        }
        let convert = try await self.shell(try Self.conversion())
        #expect(convert.code == 0, "\(convert.errors)")
        for source in ["read_csv('points/*.csv', types = {'seq': 'BIGINT'})", "'parquet/*/*.parquet'"] {
            let rows = try await self.rows(
                """
                SELECT trackable, epoch_us(time) AS time, latitude, longitude, seq, tripId, extra::VARCHAR AS extra
                FROM \(source) ORDER BY trackable, time
                """, as: Row.self)
            #expect(rows == expected, "\(source)")
        }
        let days = try await self.rows(
            "SELECT day::VARCHAR AS day, count(*) AS points FROM 'parquet/*/*.parquet' GROUP BY ALL ORDER BY day",
            as: Day.self)
        #expect(
            days == [
                Day(day: "2026-05-04", points: 151), Day(day: "2026-05-05", points: 99),
                Day(day: "2026-05-07", points: 30),
            ])
        let server = try await PostgresServer.shared()
        let database = try await server.makeDatabase()
        try await Self.fill(try await PostgresHistoryStore(address: database), fleet)
        _ = try await self.export(to: "others", from: database)
        for day in try self.days() { #expect(try self.text("others/\(day)") == self.text("points/\(day)")) }
        withExtendedLifetime(server) {}
    }

    @Test func aDayIsReplacedAsAWholeAndOtherDaysRemain() async throws {
        try await self.fill(["van": try Self.drive(from: Self.midnight - 500, 100)])
        _ = try await self.export()
        try "notes".write(to: self.folder.appending(path: "points/notes"), atomically: true, encoding: .utf8)
        let earlier = try self.text("points/2026-05-04.csv")
        // Points of a device that was offline arrive for both days.
        try await self.fill(["bus": try Self.drive(from: Self.midnight - 500, 100)])
        let hour = ["--from", "2026-05-05T10:00:00Z", "--to", "2026-05-05T11:00:00Z"]
        #expect(try await self.export(hour) == "100 points of 2 trackables written to 1 file\n")
        #expect(try self.text("points/2026-05-04.csv") == earlier)
        let lines = try self.text("points/2026-05-05.csv").split(separator: "\r\n")
        #expect(lines.count == 101 && lines[0].hasPrefix(Self.header))
        #expect(lines[1].hasPrefix("bus,2026-05-05T00:00:00Z,"))
        #expect(lines.dropFirst().map { $0.prefix(3) }.sorted() == lines.dropFirst().map { $0.prefix(3) })
        #expect(try await self.export(["--from", "2026-05-06T00:00:00Z"]) == "0 points written\n")
        #expect(try self.days() == ["2026-05-04.csv", "2026-05-05.csv", "notes"])
    }

    @Test func anExportThatFailsLeavesTheFilesAsTheyWere() async throws {
        try await self.fill(["van": try Self.drive(from: Self.midnight - 500, 100)])
        _ = try await self.export(["--to", "2026-05-05T00:00:00Z"])
        let earlier = try self.text("points/2026-05-04.csv")
        try await self.fill(["bus": try Self.drive(from: Self.midnight - 500, 100)])
        // A directory has the place of the second file.
        let obstacle = self.folder.appending(path: "points/2026-05-05.csv")
        try FileManager.default.createDirectory(at: obstacle, withIntermediateDirectories: false)
        let failed = try await self.run(["export", self.path("points"), "--from", "2026-05-05T00:00:00Z"])
        #expect(failed.code == 66 && failed.errors.contains("cannot write '\(obstacle.path())"), "\(failed.errors)")
        #expect(try self.text("points/2026-05-04.csv") == earlier)
        #expect(try self.days() == ["2026-05-04.csv", "2026-05-05.csv"])
        let unnamed = try await self.run(["export", "-"])
        #expect(unnamed.code == 64 && unnamed.errors.contains("standard output"), "\(unnamed.errors)")
        let missing = try await self.run(["export", self.path("none"), "--store", "sqlite:/nowhere/history.sqlite"])
        #expect(missing.code == 66 && !FileManager.default.fileExists(atPath: self.path("none")))
    }
}

// MARK: - What the tests need

extension DailyExportTests {
    /// A point as DuckDB reads it.
    private struct Row: Decodable, Equatable {
        var trackable: String
        /// The time in microseconds since 1970.
        var time: Int
        var latitude: Double
        var longitude: Double
        var seq: Int?
        var tripId: String?
        var extra: String?

        init(_ point: Location, of trackable: String) {
            self.trackable = trackable
            self.time = Int((point.time.seconds * 1e6).rounded())
            (self.latitude, self.longitude) = (point.coordinate.latitude, point.coordinate.longitude)
            self.seq = point.seq.map { Int($0) }
            // Control characters of texts are escaped.
            self.tripId = point.tripID?.replacing("\n", with: #"\u000a"#)
            self.extra = point.extra.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private struct Day: Decodable, Equatable {
        var day: String
        var points: Int
    }

    /// Returns points every 10 s, north-westward.
    private static func drive(from start: Double, _ count: Int) throws -> [Location] {
        try (0..<count).map { index in
            let place = Coordinate(
                latitude: 52 + Double(index) * 1.234_567_8e-5, longitude: -8.66 - Double(index) / 30_000)
            var point = Location(
                coordinate: try #require(place), time: UnixTime(start + Double(index) * 10))
            point.stream = StreamID("one")
            point.seq = UInt64(index + 1)
            point.tripID = "7, \"the\"\ntrip"
            point.extra = Array("{\"a\": \"x,\\\"y\",\n \"b\": [\(index), 2]}".utf8)
            return point
        }
    }

    private func fill(_ fleet: [String: [Location]]) async throws {
        try await Self.fill(try SQLiteHistoryStore(path: String(self.store.dropFirst("sqlite:".count))), fleet)
    }

    private static func fill(_ store: any HistoryStore, _ fleet: [String: [Location]]) async throws {
        var batch = RecordingBatch()
        batch.recordings = try fleet.map { id, points in
            var recording = Recording(of: try TrackableID(id), at: UnixTime(Self.midnight + 10 * 86_400))
            recording.points = points
            return recording
        }
        _ = try await store.store(batch)
        try await store.close()
    }

    private func path(_ name: String) -> String { self.folder.appending(path: name).path() }

    private func text(_ name: String) throws -> String { try String(contentsOfFile: self.path(name), encoding: .utf8) }

    /// The names of the files in the directory of the export.
    private func days() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self.path("points")).sorted()
    }

    private func run(_ arguments: [String], from store: String? = nil) async throws -> Programs.Result {
        try await Programs.run("godwit", arguments, environment: ["GODWIT_STORE": store ?? self.store])
    }

    /// Exports the history, and returns the output.
    private func export(
        _ arguments: [String] = [], to directory: String = "points", from store: String? = nil
    ) async throws -> String {
        let result = try await self.run(["export", self.path(directory)] + arguments, from: store)
        #expect(result.code == 0, "\(result.errors)")
        return result.output
    }

    /// Returns the script of the how-to.
    private static func conversion() throws -> String {
        let page = try String(
            contentsOf: Programs.root.appending(path: "docs/how-to/analyse-the-history.md"), encoding: .utf8)
        let script = page.components(separatedBy: "cat > to-parquet.sh <<'END'\n").dropFirst().first
        return try #require(script?.components(separatedBy: "\nEND\n").first)
    }

    /// Runs a shell script in the folder. It finds `duckdb`.
    private func shell(_ script: String, _ arguments: [String] = []) async throws -> Programs.Result {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache"
        let tools = "\(cache)/godwit/duckdb/duckdb_cli"
        guard FileManager.default.isExecutableFile(atPath: "\(tools)/duckdb") else {
            throw TestSupportError("cannot find DuckDB at \(tools)/duckdb. Install it with scripts/setup-tests")
        }
        return try await RunningProgram(
            executable: URL(filePath: "/bin/sh"),
            arguments: ["-c", "cd \"$0\"\n\(script)", self.folder.path()] + arguments,
            environment: ["PATH": "\(tools):/usr/bin:/bin"], input: "/dev/null"
        ).result(within: .seconds(60))
    }

    /// Returns the rows of a query in DuckDB.
    private func rows<Value: Decodable>(_ query: String, as type: Value.Type) async throws -> [Value] {
        let result = try await self.shell("exec duckdb -json -c \"$1\"", [query])
        #expect(result.code == 0, "\(result.errors)")
        return try JSONDecoder().decode([Value].self, from: Data(result.output.utf8))
    }
}
