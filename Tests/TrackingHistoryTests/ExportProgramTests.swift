import Testing
import TrackingCore
import TrackingHistory

/// Every export opens in a program that people use for it. `scripts/setup` installs the programs.
@Suite struct ExportProgramTests {
    private let points: [Location] = {
        var points = Points.walk(700, seed: 11)
        for index in 0..<100 { points[index].altitude = nil }
        for index in 300..<700 { points[index].stream = StreamID("another") }
        return points
    }()

    private let name = "a<b> & \"c\", d"

    @Test func gpsbabelReadsGPX() async throws {
        for points in [self.points, []] {
            let printed = try await output(
                of: "gpsbabel", package: "gpsbabel",
                ["-t", "-i", "gpx", "-f", "FILE", "-o", "unicsv,utc=0", "-F", "-"],
                file: try written(points, .gpx, of: self.name), named: "history.gpx")
            let lines = printed.split(whereSeparator: \.isNewline)
            #expect(max(0, lines.count - 1) == points.count)
            if !points.isEmpty { #expect(lines[1].contains("52.629151") && lines[1].contains("-8.661746")) }
        }
    }

    @Test(arguments: [(HistoryFormat.geojson, "geojson"), (.kml, "kml"), (.gpx, "gpx"), (.mfjson, "json")])
    func ogrinfoReadsIt(format: HistoryFormat, ending: String) async throws {
        for points in [self.points, []] {
            let printed = try await output(
                of: "ogrinfo", package: "gdal-bin", ["-ro", "-al", "-so", "FILE"],
                file: try written(points, format, of: self.name), named: "history.\(ending)")
            #expect(printed.contains("successful") && !printed.contains("ERROR"), "\(printed)")
            guard format == .geojson, !points.isEmpty else { continue }
            #expect(
                printed.contains("Feature Count: 700") && printed.contains("accuracyHorizontal: Real"), "\(printed)")
        }
    }

    @Test func ogrinfoFindsTheTracksOfKML() async throws {
        let printed = try await output(
            of: "ogrinfo", package: "gdal-bin", ["-ro", "-al", "FILE"],
            file: try written(self.points, .kml, of: self.name), named: "history.kml")
        #expect(printed.contains("Feature Count: 2"), "\(printed.prefix(2000))")
        #expect(printed.contains("-8.661746") && printed.contains(self.name), "\(printed.prefix(2000))")
    }

    @Test func sqliteReadsCSV() async throws {
        let query = "select count(*), min(time), sum(extra like '%x,y%'), min(trackable) from h"
        let printed = try await output(
            of: "sqlite3", package: "sqlite3",
            [":memory:", "-cmd", ".import --csv FILE h", "-separator", "|", query],
            file: try written(self.points, .csv, of: self.name), named: "history.csv")
        #expect(printed == "700|2026-05-04T09:30:00.25Z|700|\(self.name)\n")
    }
}
