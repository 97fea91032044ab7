import FoundationEssentials
import GRDB
package import TrackingCore

/// A file of raster or vector map tiles in the format MBTiles 1.3, opened read-only.
package struct TileFile: Sendable {
    private let database: DatabasePool
    /// The media type of the file's tiles, such as `image/png`.
    package let mediaType: String
    /// `true` if the tiles are vector tiles, which the map page draws.
    var isVector: Bool { self.mediaType == VectorTile.mediaType }
    /// The range from the lowest to the highest zoom level of the file's tiles.
    package let zooms: ClosedRange<Int>
    /// The attribution of the tiles that the map shows, without HTML tags. For vector tiles without an attribution it
    /// is that of OpenStreetMap.
    package let attribution: String

    /// Opens a file of map tiles.
    ///
    /// - Throws: `inputUnreadable` if the file cannot be read as MBTiles, or its tiles have a format that the map does
    ///   not show.
    package init(path: String) throws(TrackingError) {
        do {
            var configuration = Configuration()
            configuration.readonly = true
            let database = try DatabasePool(path: path, configuration: configuration)
            let (facts, zooms) = try database.read { database in
                let facts = try Row.fetchAll(database, sql: "SELECT name, value FROM metadata")
                    .reduce(into: [String: String]()) { $0[$1["name"] ?? ""] = $1["value"] }
                return (facts, try Self.zooms(facts, database))
            }
            let format = facts["format"] ?? "png"
            guard let type = Self.mediaTypes[format] else {
                throw TrackingError(
                    .inputUnreadable,
                    "cannot use the map tiles in \(path): they have the format \(format); the map shows png, jpg, webp and pbf"
                )
            }
            self.database = database
            self.mediaType = type
            self.zooms = zooms
            // The attribution becomes HTML in the page, so tags are removed.
            let named = (facts["attribution"] ?? "").replacing(#/<[^>]*>/#, with: "").replacing("<", with: "")
            // Programs such as tilemaker name no author, and make vector tiles from OpenStreetMap.
            let isUnnamedVector = named.isEmpty && type == VectorTile.mediaType
            self.attribution = isUnnamedVector ? MapTiles.openStreetMap : named
        } catch let error as TrackingError {
            throw error
        } catch {
            throw TrackingError(
                .inputUnreadable,
                "cannot read the map tiles in \(path) as MBTiles: \(error). Name an MBTiles file that this user may read"
            )
        }
    }

    /// Returns the zoom levels from the file's metadata, or from its tiles if the metadata has none.
    private static func zooms(_ facts: [String: String], _ database: Database) throws -> ClosedRange<Int> {
        func zoom(_ name: String, _ outermost: String) throws -> Int {
            if let reported = facts[name].flatMap({ Int($0) }) { return reported }
            return try Int.fetchOne(database, sql: "SELECT \(outermost)(zoom_level) FROM tiles") ?? 0
        }
        let first = try zoom("minzoom", "min")
        return first...max(first, try zoom("maxzoom", "max"))
    }

    private static let mediaTypes = [
        "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp",
        "pbf": VectorTile.mediaType,
    ]

    /// Returns the bytes of a map tile; `nil` if the file does not have it.
    func tile(_ place: TilePlace) async throws -> [UInt8]? {
        try await self.database.read { database in
            let data = try Data.fetchOne(
                database,
                sql: "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?",
                arguments: [place.zoom, place.x, place.row])
            return data.map { Array($0) }
        }
    }
}
