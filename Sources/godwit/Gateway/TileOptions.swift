import ArgumentParser
import TrackingCore
import TrackingGateway
import TrackingRoads

/// The options of `godwit serve` for the background of the map.
struct TileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Let browsers load map tiles from this server: https://tiles.example.org/{z}/{x}/{y}.png; or serve the tiles of this MBTiles file. Default: outlines of the countries, and a grid.",
            valueName: "url-or-path"))
    var tiles: String?

    @Option(
        help: ArgumentHelp(
            "Serve raster or vector map tiles from this MBTiles file, as --tiles does with a path.", valueName: "path"))
    var mbtiles: String?

    @Option(
        help: ArgumentHelp(
            "Draw the streets of this routing engine on the map, unless --tiles or --mbtiles is given, and let the API match recorded points with its roads: valhalla:http://127.0.0.1:8002.",
            valueName: "engine"))
    var engine: String?

    func validate() throws {
        do throws(TrackingError) {
            _ = try self.engine.map { (text) throws(TrackingError) in try EngineURL(text) }
            _ = try self.tiles.map { (text) throws(TrackingError) in try Self.source(text) }
        } catch {
            throw ValidationError(error.message)
        }
    }

    /// Returns the source of the map tiles; `nil` if there is none.
    ///
    /// - Throws: `invalidConfiguration` for an address that cannot be used, or options that exclude each other.
    func source() throws(TrackingError) -> GatewayConfiguration.Tiles? {
        guard self.tiles == nil || self.mbtiles == nil else {
            throw TrackingError(
                .invalidConfiguration, "--tiles and --mbtiles exclude each other. Leave one of them out")
        }
        if let path = self.mbtiles { return .file(path: path) }
        if let tiles = self.tiles { return try Self.source(tiles) }
        return try self.engine.map { (text) throws(TrackingError) in .engine(try EngineURL(text)) }
    }

    /// Returns the routing engine that matches recorded points with roads; `nil` without `--engine`, or if its address
    /// has a path.
    func roads() throws(TrackingError) -> ValhallaEngine? {
        guard let engine = self.engine.flatMap({ EngineAddress(argument: $0) }) else { return nil }
        return try ValhallaEngine(url: engine.url, timeout: RoadOptions.timeout)
    }

    /// Reads the value of `--tiles`: the path of an MBTiles file, or the address of a tile server.
    private static func source(_ tiles: String) throws(TrackingError) -> GatewayConfiguration.Tiles {
        if tiles.hasSuffix(".mbtiles"), !tiles.contains("://") { return .file(path: tiles) }
        return .server(try TileURL(tiles))
    }
}
