public import TrackingCore

/// The map tiles beneath the markers.
package enum MapTiles: Sendable {
    /// The tiles of a server, such as `https://tiles.example.org/{z}/{x}/{y}.png`, which the browser loads directly.
    case server(TileURL)
    /// The tiles of a file, which the gateway serves.
    case file(TileFile)

    /// The description of the tiles for the page.
    var description: JSONValue {
        switch self {
        case .server(let url): url.description
        case .file(let file):
            .object([
                "url": .text("/tiles/{z}/{x}/{y}"), "minZoom": .number(Double(file.zooms.lowerBound)),
                "maxZoom": .number(Double(file.zooms.upperBound)), "attribution": .text(file.attribution),
            ])
        }
    }

    /// The origin of tiles that do not come from the gateway; `nil` if all do.
    var origin: String? { if case .server(let url) = self { url.origin } else { nil } }
}

/// The address of a server's tiles.
public struct TileURL: Hashable, Sendable {
    /// The address with `{z}`, `{x}` and `{y}`; with `{r}` if the server has images for dense screens, and with `{s}.`
    /// in front of the host if the server has several names.
    public let template: String
    /// The origins of the tiles, in the syntax of a content security policy.
    let origin: String
    /// The attribution on the map, as HTML; `nil` if it is unknown.
    let attribution: String?

    /// Reads an address.
    ///
    /// - Throws: `invalidConfiguration` with the reason.
    public init(_ template: String) throws(TrackingError) {
        guard template.utf8.count <= 1000, let address = template.wholeMatch(of: Self.address) else {
            throw TrackingError(
                .invalidConfiguration,
                "the address of tiles is like https://tiles.example.org/{z}/{x}/{y}.png, not '\(template.prefix(200))'")
        }
        let path = String(address.path)
        let rest = Self.blanks.reduce(path) { $0.replacing($1, with: "") }
        guard Self.places.allSatisfy({ path.contains($0) }), !rest.contains("{"), !rest.contains("}") else {
            throw TrackingError(
                .invalidConfiguration,
                "the path of the address of tiles has {z}, {x} and {y}, may have {r}, and nothing else in braces; '{s}.' may be "
                    + "in front of the server's name: not '\(template.prefix(200))'")
        }
        self.template = template
        // `{s}.` stands for one of several names.
        self.origin = "\(address.scheme)//\(address.several == nil ? "" : "*.")\(address.host)\(address.port ?? "")"
        let isOpenStreetMap = ".\(address.host.lowercased())".hasSuffix(".openstreetmap.org")
        self.attribution = isOpenStreetMap ? Self.openStreetMap : nil
    }

    /// The description of the tiles for the page.
    var description: JSONValue {
        var members: [String: JSONValue] = ["url": .text(self.template)]
        members["attribution"] = self.attribution.map { .text($0) }
        return .object(members)
    }

    /// Matches the parts of an address. The host is restricted to names that are safe in a content security policy.
    private static var address:
        Regex<(Substring, scheme: Substring, several: Substring?, host: Substring, port: Substring?, path: Substring)>
    {
        #/(?<scheme>https?:)\/\/(?<several>\{s\}\.)?(?<host>[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)*)(?<port>:[0-9]{1,5})?\/(?<path>.*)/#
    }

    /// The placeholders that a path must have.
    private static let places = ["{z}", "{x}", "{y}"]
    /// The placeholders that the page fills in.
    private static let blanks = Self.places + ["{r}"]

    /// The attribution that OpenStreetMap requires.
    private static let openStreetMap =
        #"© <a href="https://www.openstreetmap.org/copyright">OpenStreetMap</a> contributors"#
}

/// The place of a tile.
package struct TilePlace: Hashable, Sendable {
    /// The zoom level, 0…24.
    package let zoom: Int
    /// The column from west, 0…2^zoom - 1.
    package let x: Int
    /// The row from north, 0…2^zoom - 1.
    package let y: Int

    /// Makes a place; `nil` if a value is out of range.
    package init?(zoom: Int, x: Int, y: Int) {
        guard (0...24).contains(zoom), (0..<(1 << zoom)).contains(x), (0..<(1 << zoom)).contains(y) else { return nil }
        self.zoom = zoom
        self.x = x
        self.y = y
    }

    /// The row from south, as MBTiles counts rows.
    var row: Int { (1 << self.zoom) - 1 - self.y }
}
