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
        case .server(let url): .object(["url": .text(url.template)])
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
    /// With `{z}`, `{x}` and `{y}`, and `{s}` where the server has several names.
    public let template: String
    /// The origins that pictures come from, as a content security policy has them.
    let origin: String

    /// Reads an address.
    ///
    /// - Throws: `invalidConfiguration` that says what is wrong.
    public init(_ template: String) throws(TrackingError) {
        let parts = template.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        let host = parts.count == 4 ? parts[2] : ""
        guard template.utf8.count <= 1000, ["http:", "https:"].contains(parts[0]), parts.count == 4, parts[1].isEmpty,
            !host.isEmpty, host.utf8.allSatisfy(Self.isHostByte),
            ["{z}", "{x}", "{y}"].allSatisfy({ parts[3].contains($0) })
        else {
            throw TrackingError(
                .invalidConfiguration,
                "the address of tiles is like https://tiles.example.org/{z}/{x}/{y}.png, not '\(template.prefix(200))'")
        }
        self.template = template
        // `{s}.` stands for one of several names.
        let name = host.hasPrefix("{s}.") ? "*.\(host.dropFirst(4))" : String(host)
        self.origin = "\(parts[0])//\(name)"
    }

    /// What a host may consist of here, so that nothing else gets into the policy.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-.:[]{}".utf8.contains(byte)
        }
    }
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
