public import TrackingCore

/// The source of the map tiles below the markers of the map page.
package enum MapTiles: Sendable {
    /// A tile server, such as `https://tiles.example.org/{z}/{x}/{y}.png`, from which the browser loads the tiles
    /// directly.
    case server(TileURL)
    /// A file of map tiles, which the gateway serves to browsers.
    case file(TileFile)
    /// The streets of a routing engine, which the gateway fetches as vector tiles and serves to browsers.
    case engine(EngineTiles)

    /// The description of the tiles for the map page, as JSON: the address and the attribution. Tiles of the gateway
    /// also have zoom levels and, for vector tiles, the format `vector`.
    var description: JSONValue {
        switch self {
        case .server(let url): url.description
        case .file(let file):
            Self.description(isVector: file.isVector, zooms: file.zooms, attribution: file.attribution)
        case .engine:
            Self.description(isVector: true, zooms: EngineTiles.zooms, attribution: Self.openStreetMap)
        }
    }

    private static func description(isVector: Bool, zooms: ClosedRange<Int>, attribution: String) -> JSONValue {
        var members: [String: JSONValue] = [
            "url": .text(isVector ? "/tiles/{z}/{x}/{y}.mvt" : "/tiles/{z}/{x}/{y}"),
            "minZoom": .number(Double(zooms.lowerBound)), "maxZoom": .number(Double(zooms.upperBound)),
            "attribution": .text(attribution),
        ]
        if isVector { members["format"] = .text("vector") }
        return .object(members)
    }

    /// The origin of the tile server, for the page's content security policy; `nil` if the gateway itself serves the
    /// tiles.
    var origin: String? { if case .server(let url) = self { url.origin } else { nil } }

    /// The attribution that OpenStreetMap requires below its map, as HTML.
    static let openStreetMap =
        #"© <a href="https://www.openstreetmap.org/copyright">OpenStreetMap</a> contributors"#
}

/// The address of the map tiles on a tile server, with placeholders for zoom level, column and row.
public struct TileURL: Hashable, Sendable {
    /// The address with the placeholders `{z}`, `{x}` and `{y}`. It may also have `{r}`, for servers with images for
    /// high-resolution screens, and `{s}.` in front of the host, for servers with several names.
    public let template: String
    /// The origin that the browser loads tiles from, in the syntax of a content security policy. It includes all
    /// subdomains of the host if the address has `{s}.`.
    let origin: String
    /// The attribution that the map must show, as HTML. It is known only for OpenStreetMap's own servers; otherwise
    /// `nil`.
    let attribution: String?

    /// Reads the address of a tile server.
    ///
    /// - Throws: `invalidConfiguration` with the rule that the address breaks.
    public init(_ template: String) throws(TrackingError) {
        guard template.utf8.count <= 1000, let address = template.wholeMatch(of: Self.address) else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot use '\(template.prefix(200))' as the address of map tiles: it must be like https://tiles.example.org/{z}/{x}/{y}.png"
            )
        }
        let path = String(address.path)
        let rest = Self.blanks.reduce(path) { $0.replacing($1, with: "") }
        guard Self.places.allSatisfy({ path.contains($0) }), !rest.contains("{"), !rest.contains("}") else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot use '\(template.prefix(200))' as the address of map tiles: its path must have {z}, {x} and {y}, may have "
                    + "{r}, and nothing else in braces; '{s}.' may be in front of the server's name")
        }
        self.template = template
        // With `{s}.` the server has several names, so the policy allows all names below the host.
        self.origin = "\(address.scheme)//\(address.several == nil ? "" : "*.")\(address.host)\(address.port ?? "")"
        let isOpenStreetMap = ".\(address.host.lowercased())".hasSuffix(".openstreetmap.org")
        self.attribution = isOpenStreetMap ? MapTiles.openStreetMap : nil
    }

    /// The address and attribution of the tiles as JSON, for the map page.
    var description: JSONValue {
        var members: [String: JSONValue] = ["url": .text(self.template)]
        members["attribution"] = self.attribution.map { .text($0) }
        return .object(members)
    }

    /// Matches the parts of a tile server's address. The host is restricted to names that are safe in a content
    /// security policy.
    private static var address:
        Regex<(Substring, scheme: Substring, several: Substring?, host: Substring, port: Substring?, path: Substring)>
    {
        #/(?<scheme>https?:)\/\/(?<several>\{s\}\.)?(?<host>[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)*)(?<port>:[0-9]{1,5})?\/(?<path>.*)/#
    }

    /// The placeholders that the path of a tile server's address must have.
    private static let places = ["{z}", "{x}", "{y}"]
    /// All placeholders that the path of a tile server's address may have. The map page replaces them by values.
    private static let blanks = Self.places + ["{r}"]
}

/// The coordinates of a map tile: its zoom level, column and row.
package struct TilePlace: Hashable, Sendable {
    /// The zoom level of the tile, 0…24.
    package let zoom: Int
    /// The column of the tile, counted from west, 0…2^zoom - 1.
    package let x: Int
    /// The row of the tile, counted from north, 0…2^zoom - 1.
    package let y: Int

    /// Creates the place of a tile; `nil` if a value is out of range.
    package init?(zoom: Int, x: Int, y: Int) {
        guard (0...24).contains(zoom), (0..<(1 << zoom)).contains(x), (0..<(1 << zoom)).contains(y) else { return nil }
        self.zoom = zoom
        self.x = x
        self.y = y
    }

    /// The row of the tile, counted from south as in MBTiles files.
    var row: Int { (1 << self.zoom) - 1 - self.y }
}
