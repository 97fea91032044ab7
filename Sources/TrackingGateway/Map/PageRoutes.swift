import FoundationEssentials
import HTTPTypes
package import Hummingbird
import NIOCore
import TrackingCore

/// The map page: its own files, which are part of the program, Leaflet's files from a folder, and optional tiles.
///
/// The files need no token; the data that they show do.
package struct PageRoutes: Sendable {
    private let leaflet: String
    private let tiles: MapTiles?

    /// Makes the routes.
    ///
    /// - Parameters:
    ///   - leaflet: The folder of `leaflet.js` and of markercluster's files, as Debian installs them.
    ///   - tiles: The tiles beneath the markers; `nil` for a grid.
    package init(leaflet: String, tiles: MapTiles?) {
        self.leaflet = leaflet
        self.tiles = tiles
    }

    /// Returns `true` if a path belongs to the page, which needs no token.
    static func isForEverybody(_ path: String) -> Bool {
        path == "/" || ["/s/", "/map/", "/leaflet/", "/tiles/"].contains { path.hasPrefix($0) }
    }

    /// Adds `/`, `/s/{secret}`, `/map/…`, `/leaflet/…` and, with tiles of our own, `/tiles/{z}/{x}/{y}`.
    package func add(to router: Router<GatewayRequestContext>) {
        let page = self.file(PackageResources.index_html, "text/html; charset=utf-8")
        let shared = page
        router.get("/") { _, _ in page }
        router.get("s/:secret") { _, _ in shared }
        router.get("map/config") { _, _ in Response.json(.object(self.tiles.map { ["tiles": $0.description] } ?? [:])) }
        router.get("map/:file") { _, context in try self.own(context.parameters.get("file") ?? "") }
        router.get("leaflet/:file") { _, context in try await self.library(context.parameters.get("file") ?? "") }
        if case .file(let file) = self.tiles {
            router.get("tiles/:z/:x/:y") { _, context in try await Self.tile(of: file, context) }
        }
    }

    // MARK: - Files

    private static let scripts: [String: [UInt8]] = [
        "animator.js": PackageResources.animator_js, "app.js": PackageResources.app_js,
        "camera.js": PackageResources.camera_js, "clusters.js": PackageResources.clusters_js,
        "door.js": PackageResources.door_js, "fleet.js": PackageResources.fleet_js,
        "history.js": PackageResources.history_js,
        "layers.js": PackageResources.layers_js, "list.js": PackageResources.list_js,
        "live.js": PackageResources.live_js, "names.js": PackageResources.names_js,
        "panel.js": PackageResources.panel_js,
        "session.js": PackageResources.session_js, "text.js": Self.textModule,
    ]

    /// The module `text.js` with the limit of ``LivePosition`` filled in.
    private static var textModule: [UInt8] {
        let limit = "\(LivePosition.maximumAhead.components.seconds)"
        let source = String(decoding: PackageResources.text_js, as: UTF8.self)
        return Array(source.replacing("{maximum-ahead}", with: limit).utf8)
    }

    private func own(_ name: String) throws(Problem) -> Response {
        if name == "style.css" { return self.file(PackageResources.style_css, "text/css; charset=utf-8") }
        guard let script = Self.scripts[name] else { throw Problem(.notFound) }
        return self.file(script, "text/javascript; charset=utf-8")
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

    /// The content security policy: everything comes from the gateway, images also from the configured tile server.
    private var policy: String {
        "default-src 'self'; img-src 'self' data:\(self.tiles?.origin.map { " \($0)" } ?? ""); object-src 'none'; "
            + "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    }

    /// The files of Leaflet that the page loads; no other name is looked for in the folder.
    private static let library: [String: String] = [
        "leaflet.js": "text/javascript; charset=utf-8", "leaflet.markercluster.js": "text/javascript; charset=utf-8",
        "leaflet.css": "text/css; charset=utf-8", "MarkerCluster.css": "text/css; charset=utf-8",
    ]

    private func library(_ name: String) async throws -> Response {
        guard let type = Self.library[name] else { throw Problem(.notFound) }
        guard let data = try? Data(contentsOf: URL(filePath: self.leaflet).appending(path: name)) else {
            throw Problem(
                .notFound,
                "Leaflet is not on the gateway: install libjs-leaflet and libjs-leaflet.markercluster, or name its folder with --leaflet."
            )
        }
        return Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "max-age=86400"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: data)))
    }

    // MARK: - Tiles

    private static func tile(of file: TileFile, _ context: GatewayRequestContext) async throws -> Response {
        let parts = ["z", "x", "y"].compactMap { context.parameters.get($0).flatMap { Int($0) } }
        guard parts.count == 3, let place = TilePlace(zoom: parts[0], x: parts[1], y: parts[2]) else {
            throw Problem(.badRequest, "A tile is /tiles/{z}/{x}/{y}.")
        }
        guard let bytes = try await file.tile(place) else { return Response(status: .noContent) }
        return Response(
            status: .ok, headers: [.contentType: file.mediaType, .cacheControl: "max-age=86400"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
