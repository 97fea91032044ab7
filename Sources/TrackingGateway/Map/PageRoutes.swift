import FoundationEssentials
import HTTPTypes
package import Hummingbird
import NIOCore
import TrackingCore

/// The HTTP routes of the map page: the page's own files, which are part of the program, Leaflet's files from a folder,
/// and optional map tiles.
///
/// The page's files and raster tiles need no token. Vector tiles and the data that the page shows need one.
package struct PageRoutes: Sendable {
    private let leaflet: String
    private let tiles: MapTiles?
    private let gatewayOperator: GatewayOperator?

    /// Creates the routes of the map page and of the page of share links.
    ///
    /// - Parameters:
    ///   - leaflet: The folder with `leaflet.js` and `leaflet.css`, as Debian installs them.
    ///   - tiles: The source of the map tiles; `nil` to show a grid instead of a map.
    ///   - gatewayOperator: The operator, whose name and logo the page of a share link shows; `nil` for none.
    package init(leaflet: String, tiles: MapTiles?, of gatewayOperator: GatewayOperator? = nil) {
        self.leaflet = leaflet
        self.tiles = tiles
        self.gatewayOperator = gatewayOperator
    }

    /// Returns `true` for `/` and for each path below `/s/`, `/map/`, `/leaflet/` and `/tiles/`. There are the pages
    /// for browsers, their files and the map tiles, which need no token. Vector tiles do need one: each can cost a
    /// request to the routing engine.
    static func isForEverybody(_ path: String) -> Bool {
        if path.hasPrefix("/tiles/") { return !path.hasSuffix(".mvt") }
        return path == "/" || ["/s/", "/map/", "/leaflet/"].contains { path.hasPrefix($0) }
    }

    /// Adds `/`, `/s/{secret}`, `/map/…`, `/leaflet/…` and, if the gateway serves the tiles, `/tiles/{z}/{x}/{y}` for
    /// images or `/tiles/{z}/{x}/{y}.mvt` for vector tiles.
    package func add(to router: Router<GatewayRequestContext>) {
        let page = self.file(PageFile.content("index.html"), "text/html; charset=utf-8")
        let shared = self.file(PageFile.content("share.html"), "text/html; charset=utf-8")
        router.get("/") { _, _ in page }
        router.get("s/:secret") { _, _ in shared }
        router.get("map/config") { _, _ in Response.json(.object(self.settings)) }
        router.get("map/logo") { _, _ in try self.logo() }
        router.get("map/:file") { _, context in try self.own(context.parameters.get("file") ?? "") }
        router.get("leaflet/:file") { _, context in try await self.library(context.parameters.get("file") ?? "") }
        switch self.tiles {
        case .file(let file): TileRoute(file: file).add(to: router)
        case .engine(let engine): TileRoute(engine: engine).add(to: router)
        case .server, nil: break
        }
    }

    /// The settings that the map page and the page of share links load from `/map/config`: the source of the tiles, and
    /// the operator.
    private var settings: [String: JSONValue] {
        var settings: [String: JSONValue] = [:]
        settings["tiles"] = self.tiles?.description
        guard let shown = self.gatewayOperator else { return settings }
        var members: [String: JSONValue] = [:]
        members["name"] = shown.name.map { .text($0) }
        members["logo"] = shown.logo.map { _ in .text("/map/logo") }
        settings["operator"] = .object(members)
        return settings
    }

    private func logo() throws(Problem) -> Response {
        guard let logo = self.gatewayOperator?.logo else { throw Problem(.notFound) }
        // A browser that opens an SVG file as a page must not run its scripts.
        let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        return Response(
            status: .ok,
            headers: [.contentType: logo.mediaType, .cacheControl: "no-cache", .contentSecurityPolicy: policy],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: logo.bytes)))
    }

    // MARK: - Files

    /// The page's script `text.js`, with the number of seconds of ``LivePosition/maximumAhead`` inserted: the time by
    /// which a position may be ahead of the clock.
    private static let textModule: [UInt8] = {
        let limit = "\(LivePosition.maximumAhead.components.seconds)"
        let source = String(decoding: PageFile.content("text.js"), as: UTF8.self)
        return Array(source.replacing("{maximum-ahead}", with: limit).utf8)
    }()

    private func own(_ name: String) throws(Problem) -> Response {
        guard let content = name == "text.js" ? Self.textModule : PageFile.all[name] else { throw Problem(.notFound) }
        if name.hasSuffix(".css") { return self.file(content, "text/css; charset=utf-8") }
        guard name.hasSuffix(".js") else { throw Problem(.notFound) }
        return self.file(content, "text/javascript; charset=utf-8")
    }

    private func file(_ bytes: [UInt8], _ type: String) -> Response {
        var headers: HTTPFields = [
            .contentType: type, .cacheControl: "no-cache", .contentSecurityPolicy: self.policy,
        ]
        // Tile servers such as OpenStreetMap's require a referrer. It names only the gateway: a page's path can be a
        // share link.
        if self.tiles?.origin != nil { headers[.referrerPolicy] = "strict-origin" }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// The content security policy of the files of the map page: everything comes from the gateway. Images may also be
    /// `data:` URLs or come from the configured tile server.
    private var policy: String {
        "default-src 'self'; img-src 'self' data:\(self.tiles?.origin.map { " \($0)" } ?? ""); object-src 'none'; "
            + "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    }

    /// The media types of the Leaflet files that the page loads. The gateway serves no other file of the folder.
    private static let library: [String: String] = [
        "leaflet.js": "text/javascript; charset=utf-8", "leaflet.css": "text/css; charset=utf-8",
    ]

    private func library(_ name: String) async throws -> Response {
        guard let type = Self.library[name] else { throw Problem(.notFound) }
        guard let data = try? Data(contentsOf: URL(filePath: self.leaflet).appending(path: name)) else {
            throw Problem(
                .notFound,
                "The map library Leaflet is not installed on the gateway: install the package libjs-leaflet, or give its folder with --leaflet."
            )
        }
        return Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "max-age=86400"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }
}
