import Foundation
import TrackingCore
import TrackingGateway
import TrackingMQTT
import TrackingTesting

extension DemoStage {
    /// The zoom levels of the town's tiles. The map enlarges the last ones.
    private static let zooms = 8...14

    /// The endpoint of the private broker.
    var endpoint: MQTTEndpoint { MQTTEndpoint(host: "127.0.0.1", port: self.port) }

    /// Makes a client at the private broker.
    func client(_ name: String) throws -> MQTTClient {
        try MQTTClient(configuration: MQTTConfiguration(endpoints: [self.endpoint], client: try ClientID(name)))
    }

    /// Starts the agent with a drive as the recording that it replays.
    ///
    /// - Throws: `inputUnreadable` if there is no agent.
    func startAgent(replaying drive: DemoRoadsDrive) throws {
        let file = self.path("drive.jsonl")
        try Data(drive.recording).write(to: URL(filePath: file))
        try self.startAgent(
            ["--broker", self.address, "--source", "jsonl:\(file)", "--battery", "none"], output: FileHandle.nullDevice)
    }

    /// Writes the tiles of a town to a file, and returns the options with which the gateway shows them.
    ///
    /// - Throws: `inputUnreadable` if the file cannot be written.
    func writeTiles(of town: SyntheticRoads) throws -> [String] {
        var tiles: [TilePlace: [UInt8]] = [:]
        for tile in town.tiles(zooms: Self.zooms) {
            guard let place = TilePlace(zoom: tile.zoom, x: tile.column, y: tile.row) else { continue }
            tiles[place] = tile.bytes
        }
        let file = self.path("town.mbtiles")
        try TileFile.write(to: file, attribution: "A generated town", tiles: tiles)
        return ["--tiles", file]
    }
}
