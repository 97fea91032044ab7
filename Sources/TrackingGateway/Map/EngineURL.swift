public import TrackingCore

/// The address of a routing engine, such as `valhalla:http://127.0.0.1:8002`.
public struct EngineURL: Hashable, Sendable, CustomStringConvertible {
    /// The engine's HTTP address without a slash at the end, such as `http://127.0.0.1:8002`.
    let base: String

    /// The address with the name of the engine, as the user gave it: `valhalla:http://127.0.0.1:8002`.
    public var description: String { "valhalla:\(self.base)" }

    /// Reads the address of a routing engine.
    ///
    /// - Throws: `invalidConfiguration` for an unknown engine, or an address that is no HTTP address.
    public init(_ text: String) throws(TrackingError) {
        guard text.utf8.count <= 1000, let address = text.wholeMatch(of: Self.address) else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot use '\(text.prefix(200))' as the address of a routing engine: it must be like valhalla:http://127.0.0.1:8002, without user, password and query"
            )
        }
        self.base = String(address.base)
    }

    /// Matches the address of an engine: the engine's name, and an HTTP address.
    private static var address: Regex<(Substring, base: Substring)> {
        #/valhalla:(?<base>https?:\/\/(?:[A-Za-z0-9\-.]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:\/[A-Za-z0-9\-._~\/]*[A-Za-z0-9\-._~])?)\/?/#
    }

    /// Returns the address of a vector tile: the roads of the tile, with their class, use and tunnels.
    func tile(_ place: TilePlace) -> String {
        // The engine simplifies lines. The page enlarges the tiles of the highest zoom level, so they keep every point.
        let generalize = place.zoom == EngineTiles.zooms.upperBound ? #","generalize":1.0"# : ""
        let json =
            #"{"tile":{"z":\#(place.zoom),"x":\#(place.x),"y":\#(place.y)}\#(generalize),"#
            + #""tile_options":{"exclude_layers":["nodes","shortcuts","access_restrictions"]},"#
            + #""filters":{"attributes":["edge.use","edge.tunnel"],"action":"include"}}"#
        return "\(self.base)/tile?json=\(Self.escaped(json))"
    }

    /// Percent-encodes the characters of JSON that a query must not contain.
    private static func escaped(_ json: String) -> String {
        let codes: [Character: String] = [
            "{": "%7B", "}": "%7D", "\"": "%22", "[": "%5B", "]": "%5D", ":": "%3A", ",": "%2C",
        ]
        return json.map { codes[$0] ?? String($0) }.joined()
    }
}
