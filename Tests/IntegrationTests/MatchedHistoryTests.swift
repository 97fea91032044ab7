import Foundation
import TestSupport
import Testing
import TrackingCore

/// `godwit history --matched` and `godwit trips --engine` with a real routing engine and the roads of a real town.
@Suite(
    .timeLimit(.minutes(10)), .serialized,
    .enabled(if: RoadsProcess.isAvailable, "the routing engine or the OpenStreetMap extract is absent"))
struct MatchedHistoryTests {
    /// A day of a vehicle is matched in runs, within the memory of a run.
    @Test func aDriveIsExportedOnTheRoad() async throws {
        let scene = try await Scene()
        let way = try await scene.way()
        let drive = Self.drive(way, laps: 4)
        try await scene.record(drive)
        #expect(drive.count > 2 * 2000, "several runs")
        let file = scene.path("matched.geojson")
        let result = try await scene.run(["history", "van", "--matched", "--format", "geojson", "--output", file])
        #expect(result.code == 0, "\(result.errors)")
        let bytes = try Data(contentsOf: URL(filePath: file))
        let features = try JSONValue(json: bytes, maximumBytes: 10_000_000)["features"]?.list ?? []
        let points = features.filter { $0["geometry"]?["type"]?.text == "Point" }
        #expect(points.count == drive.count)
        let matched = points.count { $0["properties"]?["confidence"]?.text != "off-road" }
        #expect(matched > points.count * 98 / 100)
        #expect(points.contains { $0["properties"]?["road"]?.text != nil })
        let line = features.filter { $0["geometry"]?["type"]?.text == "LineString" }
            .flatMap { $0["geometry"]?["coordinates"]?.list ?? [] }
        #expect(line.count > points.count / 2)
        let sample = stride(from: 0, to: line.count, by: 25).map { line[$0] }
        let far = try sample.filter { place in
            let coordinate = try #require(
                Coordinate(latitude: place.list?[1].number ?? 0, longitude: place.list?[0].number ?? 0))
            return !way.contains { $0.distance(to: coordinate).value < 25 }
        }
        #expect(far.count <= sample.count / 50, "\(far.count) of \(sample.count)")
    }

    @Test func everyFormatHasTheMatchedPositions() async throws {
        let scene = try await Scene()
        try await scene.record(Array(Self.drive(try await scene.way(), laps: 1).prefix(300)))
        for format in ["text", "json", "gpx", "kml", "csv", "mfjson"] {
            let recorded = try await scene.run(["history", "van", "--format", format])
            let matched = try await scene.run(["history", "van", "--format", format, "--matched"])
            #expect(matched.code == 0, "\(format): \(matched.errors)")
            #expect(matched.lines.count == recorded.lines.count, "\(format)")
            #expect(matched.output != recorded.output, "\(format)")
        }
    }

    @Test func tripsHaveTheDistanceAlongTheRoads() async throws {
        let scene = try await Scene()
        let way = try await scene.way()
        let drive = Self.drive(way, laps: 1)
        try await scene.record(drive)
        let length = zip(way, way.dropFirst()).reduce(0) { $0 + $1.0.distance(to: $1.1).value }
        let result = try await scene.run(["trips", "van", "--format", "json"])
        #expect(result.code == 0, "\(result.errors)")
        let trip = try JSONValue(json: Array(try #require(result.lines.first).utf8))
        let distance = try #require(trip["roadDistance"]?.number)
        #expect(abs(distance - length) < length / 50, "\(distance) of \(length)")
        #expect(distance < trip["distance"]?.number ?? 0, "without the noise of the receiver")
        #expect(try await scene.run(["trips", "van"]).lines[0].contains("by road"))
    }

    @Test func withoutAnEngineNothingIsWritten() async throws {
        let scene = try await Scene()
        try await scene.record(Array(Self.drive(try await scene.way(), laps: 1).prefix(100)))
        try await scene.roads.kill()
        let file = scene.path("absent.gpx")
        let away = try await scene.run(["history", "van", "--matched", "--format", "gpx", "--output", file])
        #expect(away.code == 69)
        #expect(away.errors.contains("cannot reach the routing engine at http://127.0.0.1:\(scene.roads.port)"))
        #expect(away.errors.contains("Start the engine"))
        let files = try FileManager.default.contentsOfDirectory(atPath: scene.path(""))
        #expect(files.allSatisfy { !$0.hasPrefix("absent") }, "\(files)")
        #expect(try await scene.run(["trips", "van"]).code == 69)
        let unnamed = try await Programs.run(
            "godwit", ["history", "van", "--matched"], environment: scene.environment(engine: nil))
        #expect(unnamed.code == 64 && unnamed.errors.contains("Name it with --engine valhalla:http://HOST:PORT"))
        // The option may come from the environment or the file, and has no effect on other exports.
        #expect(try await scene.run(["history", "van"]).code == 0)
    }

    // MARK: - Parts

    /// Fixes along a round trip, one a second, with noise.
    private static func drive(_ way: [Coordinate], laps: Int) -> [Location] {
        var dice = SplitMix64(seed: 7)
        let places = (0..<laps).flatMap { _ in way }
        return stride(from: 0, to: places.count, by: 7).enumerated().map { number, index in
            let noise = Meters(Double.random(in: 0...5, using: &dice))
            let place = places[index].destination(bearing: .random(in: 0..<360, using: &dice), distance: noise)
            var fix = Location(coordinate: place, time: UnixTime(1_790_000_000 + Double(number)))
            fix.accuracyHorizontal = 5
            return fix
        }
    }
}

/// A history of one trackable, and a routing engine.
private final class Scene: Sendable {
    let roads: RoadsProcess
    private let folder: URL

    init() async throws {
        self.roads = try await RoadsProcess.start()
        self.folder = FileManager.default.temporaryDirectory.appending(path: "godwit-matched-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    func path(_ name: String) -> String { self.folder.appending(path: name).path() }

    func environment(engine: String?) -> [String: String] {
        var environment = ["GODWIT_STORE": "sqlite:\(self.path("history.sqlite"))", "TZ": "UTC"]
        environment["GODWIT_ENGINE"] = engine
        return environment
    }

    /// Runs `godwit` on the history, with the engine.
    func run(_ arguments: [String]) async throws -> Programs.Result {
        try await Programs.run("godwit", arguments, environment: self.environment(engine: self.roads.address))
    }

    /// Imports fixes into the history.
    func record(_ fixes: [Location]) async throws {
        let rows = fixes.map {
            "\($0.time.seconds),\($0.coordinate.latitude),\($0.coordinate.longitude),\($0.accuracyHorizontal ?? 5)"
        }
        let file = self.path("drive.csv")
        try ("time,latitude,longitude,accuracy\n" + rows.joined(separator: "\n") + "\n")
            .write(toFile: file, atomically: true, encoding: .utf8)
        let result = try await self.run(["import", file, "--trackable", "van"])
        #expect(result.code == 0, "\(result.errors)")
    }

    /// Returns a round trip through the country, with a point at least every two metres.
    func way() async throws -> [Coordinate] {
        let answer = try await self.roads.request(
            "POST", "/route",
            #"{"locations":[{"lat":47.1410,"lon":9.5209},{"lat":47.2100,"lon":9.5250},{"lat":47.1410,"lon":9.5209}],"costing":"auto"}"#
        )
        let legs = try #require(try JSONValue(json: answer.body)["trip"]?["legs"]?.list)
        let shape = try legs.flatMap { leg throws -> [Coordinate] in
            let text = try #require(leg["shape"]?.text)
            let points = Polyline.decode(text, limit: 10_000)
            return try #require(points)
        }
        return zip(shape, shape.dropFirst()).flatMap { start, end in
            let steps = max(1, Int((start.distance(to: end).value / 2).rounded(.up)))
            return (0..<steps).map { start.interpolated(to: end, fraction: Double($0) / Double(steps)) }
        }
    }
}
