public import TrackingCore

/// What is drawn beneath the markers.
package enum MapTiles: Sendable {
    /// A server's tiles, as `https://tiles.example.org/{z}/{x}/{y}.png`: the browser asks it.
    case server(TileURL)
    /// A file's tiles: the gateway serves them.
    case file(TileFile)

    /// Opens what was configured.
    ///
    /// - Throws: `inputUnreadable` for a file that cannot be read.
    init(_ tiles: GatewayConfiguration.Tiles) throws(TrackingError) {
        switch tiles {
        case .server(let url): self = .server(url)
        case .file(let path): self = .file(try TileFile(path: path))
        }
    }

    /// What the page is told.
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

    /// Where else than from the gateway pictures come; `nil` for nowhere.
    var origin: String? { if case .server(let url) = self { url.origin } else { nil } }
}

/// The address of a server's tiles.
public struct TileURL: Hashable, Sendable {
    /// With `{z}`, `{x}` and `{y}`, `{r}` where it has pictures for dense screens, and `{s}.` in front where the server has several
    /// names.
    public let template: String
    /// The origins that pictures come from, as a content security policy has them.
    let origin: String
    /// Whom to name on the map, as HTML; `nil` where that is not known.
    let attribution: String?

    /// Reads an address.
    ///
    /// - Throws: `invalidConfiguration` that says what is wrong.
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

    /// What the page is told.
    var description: JSONValue {
        var members: [String: JSONValue] = ["url": .text(self.template)]
        members["attribution"] = self.attribution.map { .text($0) }
        return .object(members)
    }

    /// A host as a content security policy can name it, so that nothing else gets into one, and what stands around it.
    private static var address:
        Regex<(Substring, scheme: Substring, several: Substring?, host: Substring, port: Substring?, path: Substring)>
    {
        #/(?<scheme>https?:)\/\/(?<several>\{s\}\.)?(?<host>[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)*)(?<port>:[0-9]{1,5})?\/(?<path>.*)/#
    }

    /// What a path must have.
    private static let places = ["{z}", "{x}", "{y}"]
    /// What the page fills in.
    private static let blanks = Self.places + ["{r}"]

    /// What everyone who shows these maps is asked to say.
    private static let openStreetMap =
        #"© <a href="https://www.openstreetmap.org/copyright">OpenStreetMap</a> contributors"#
}

/// Which tile: `x` from west, `y` from north.
package struct TilePlace: Hashable, Sendable {
    /// How far in, 0…24.
    package let zoom: Int
    /// From west, 0…2^zoom - 1.
    package let x: Int
    /// From north, 0…2^zoom - 1.
    package let y: Int

    /// Makes a place; `nil` where there is none.
    package init?(zoom: Int, x: Int, y: Int) {
        guard (0...24).contains(zoom), (0..<(1 << zoom)).contains(x), (0..<(1 << zoom)).contains(y) else { return nil }
        self.zoom = zoom
        self.x = x
        self.y = y
    }

    /// From south, as MBTiles counts rows.
    var row: Int { (1 << self.zoom) - 1 - self.y }
}
