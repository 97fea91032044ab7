import FoundationEssentials
import Logging
import TrackingCore

extension MapTiles {
    /// Opens the source of map tiles that the gateway's configuration names.
    ///
    /// - Parameters:
    ///   - database: The path of the gateway's own database. Cached tiles are in the folder `tiles` beside it.
    ///   - logger: The logger for a routing engine that fails.
    /// - Throws: `inputUnreadable` for a file that cannot be read as MBTiles, or whose tiles have a format that the map
    ///   does not show.
    init(_ tiles: GatewayConfiguration.Tiles, beside database: String, logger: Logger) throws(TrackingError) {
        switch tiles {
        case .server(let url): self = .server(url)
        case .file(let path): self = .file(try TileFile(path: path))
        case .engine(let engine):
            let folder = URL(filePath: database).deletingLastPathComponent().appending(path: "tiles")
            self = .engine(EngineTiles(engine: engine, folder: folder.path(percentEncoded: false), logger: logger))
        }
    }
}
