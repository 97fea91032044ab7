import TrackingCore

extension MapTiles {
    /// Opens the source of map tiles that the gateway's configuration names.
    ///
    /// - Throws: `inputUnreadable` for a file that cannot be read as MBTiles, or whose tiles have a format that the map
    ///   does not show.
    init(_ tiles: GatewayConfiguration.Tiles) throws(TrackingError) {
        switch tiles {
        case .server(let url): self = .server(url)
        case .file(let path): self = .file(try TileFile(path: path))
        }
    }
}
