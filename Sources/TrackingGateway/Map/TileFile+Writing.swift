import FoundationEssentials
import GRDB
package import TrackingCore

extension TileFile {
    /// Writes a new file with vector tiles in the format MBTiles 1.3.
    ///
    /// - Parameters:
    ///   - path: The path of the file, which must not exist.
    ///   - attribution: The attribution of the tiles that the map shows.
    ///   - tiles: The tiles by their places.
    /// - Throws: `inputUnreadable` if the file cannot be written.
    package static func write(
        to path: String, attribution: String, tiles: [TilePlace: [UInt8]]
    ) throws(TrackingError) {
        do {
            let file = try DatabaseQueue(path: path)
            try file.write { database in
                try database.execute(
                    sql: """
                        CREATE TABLE metadata (name TEXT, value TEXT);
                        CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
                        CREATE UNIQUE INDEX tile ON tiles (zoom_level, tile_column, tile_row);
                        """)
                let facts = [("format", "pbf"), ("attribution", attribution)]
                for (name, value) in facts {
                    try database.execute(sql: "INSERT INTO metadata VALUES (?, ?)", arguments: [name, value])
                }
                for (place, bytes) in tiles {
                    try database.execute(
                        sql: "INSERT INTO tiles VALUES (?, ?, ?, ?)",
                        arguments: [place.zoom, place.x, place.row, Data(bytes)])
                }
            }
            try file.close()
        } catch {
            throw TrackingError(
                .inputUnreadable,
                "cannot write the map tiles to \(path): \(error). Free space on the disk, or check the permissions of the folder"
            )
        }
    }
}
