import FoundationEssentials
import GRDB
package import TrackingCore

/// Raster tiles in a file, as MBTiles 1.3 has them. It is only read.
package struct TileFile: Sendable {
    private let database: DatabasePool
    /// What its pictures are.
    package let mediaType: String
    /// The zoom levels that it has.
    package let zooms: ClosedRange<Int>
    /// Whom to name on the map.
    package let attribution: String

    /// Opens a file.
    ///
    /// - Throws: `inputUnreadable` that says what is wrong with it.
    package init(path: String) throws(TrackingError) {
        do {
            var configuration = Configuration()
            configuration.readonly = true
            let database = try DatabasePool(path: path, configuration: configuration)
            let facts = try database.read { database in
                try Row.fetchAll(database, sql: "SELECT name, value FROM metadata").reduce(into: [String: String]()) {
                    $0[$1["name"] ?? ""] = $1["value"]
                }
            }
            let format = facts["format"] ?? "png"
            guard let type = Self.mediaTypes[format] else {
                throw TrackingError(
                    .inputUnreadable, "\(path) has tiles of format \(format); the map shows png, jpg and webp")
            }
            self.database = database
            self.mediaType = type
            let first = facts["minzoom"].flatMap { Int($0) } ?? 0
            self.zooms = first...max(first, facts["maxzoom"].flatMap { Int($0) } ?? 19)
            // It goes into the page as HTML: no more than its text.
            self.attribution = (facts["attribution"] ?? "").replacing(#/<[^>]*>/#, with: "").replacing("<", with: "")
        } catch let error as TrackingError {
            throw error
        } catch {
            throw TrackingError(.inputUnreadable, "\(path) cannot be read as MBTiles: \(error)")
        }
    }

    private static let mediaTypes = [
        "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp",
    ]

    /// The picture of a place; `nil` where it has none.
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
