import Foundation
import Testing
import TrackingCore
import TrackingTesting

@Suite struct SyntheticTilesTests {
    private static let fixture = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Fixtures/Tiles/town-14-8214-8168.mvt")

    /// The tests of the page decode the same tile. With `GODWIT_REWRITE_SCENARIOS=1` in the environment, a run replaces
    /// the file.
    @Test func theTileIsTheOneThatThePageDecodes() throws {
        let tile = try #require(
            SyntheticRoads().tiles(zooms: 14...14).first { $0.column == 8214 && $0.row == 8168 })
        if ProcessInfo.processInfo.environment["GODWIT_REWRITE_SCENARIOS"] == "1" {
            try Data(tile.bytes).write(to: Self.fixture)
        }
        #expect(try Data(contentsOf: Self.fixture) == Data(tile.bytes))
    }

    @Test func everyZoomLevelShowsTheTown() {
        let tiles = SyntheticRoads().tiles(zooms: 8...14)
        #expect(Set(tiles.map(\.zoom)) == Set(8...14))
        for tile in tiles { #expect(tile.bytes.first == 0x1A && tile.bytes.count < 20_000, "\(tile.zoom)") }
        // The town is smaller than a tile of each of these levels, and may be at the corner of four.
        for zoom in 8...14 { #expect((1...4).contains(tiles.count { $0.zoom == zoom })) }
        let places = tiles.map { [$0.zoom, $0.column, $0.row] }
        #expect(Set(places).count == places.count)
    }
}
