import TrackingCore

extension MapTiles {
    /// Opens the configured tiles.
    ///
    /// - Throws: `inputUnreadable` for a file that cannot be read.
    init(_ tiles: GatewayConfiguration.Tiles) throws(TrackingError) {
        switch tiles {
        case .server(let url): self = .server(url)
        case .file(let path): self = .file(try TileFile(path: path))
        }
    }
}
