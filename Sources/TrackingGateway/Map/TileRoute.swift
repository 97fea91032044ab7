import HTTPTypes
import Hummingbird
import NIOCore
import TrackingCore

/// The HTTP route of the map tiles that the gateway serves: `/tiles/{z}/{x}/{y}` for images, and
/// `/tiles/{z}/{x}/{y}.mvt` for vector tiles.
struct TileRoute: Sendable {
    /// A map tile in the form in which a browser receives it.
    private struct Tile {
        var bytes: [UInt8]
        var mediaType: String
        /// The number of seconds for which a browser may use the tile without asking again.
        var maximumAge: Int
    }

    private let isVector: Bool
    private let tile: @Sendable (TilePlace) async throws -> Tile?

    /// Creates the route for the tiles of a file.
    init(file: TileFile) {
        self.isVector = file.isVector
        self.tile = { place in
            try await file.tile(place).map { Tile(bytes: $0, mediaType: file.mediaType, maximumAge: 86400) }
        }
    }

    /// Creates the route for the tiles of a routing engine.
    init(engine: EngineTiles) {
        self.isVector = true
        self.tile = { place in
            guard EngineTiles.zooms.contains(place.zoom) else { return nil }
            let bytes = try await engine.tile(place)
            return Tile(bytes: bytes, mediaType: VectorTile.mediaType, maximumAge: Int(EngineTiles.freshness))
        }
    }

    /// Adds the route to a router.
    func add(to router: Router<GatewayRequestContext>) {
        router.get("tiles/:z/:x/:y") { request, context in try await self.answer(request, context) }
    }

    private func answer(_ request: Request, _ context: GatewayRequestContext) async throws -> Response {
        let place = try self.place(context)
        if self.isVector { _ = try context.requireCaller() }
        do {
            guard let tile = try await self.tile(place), !tile.bytes.isEmpty else {
                return Response(status: .noContent)
            }
            return self.answer(with: tile, to: request)
        } catch let failure as EngineTiles.Failure {
            // The answer is not thrown as an error: the failure of the engine is in the log already.
            return Problem(failure).response(from: request, context: context)
        }
    }

    private func answer(with tile: Tile, to request: Request) -> Response {
        let tag = EntityTag.text(of: tile.bytes)
        var headers: HTTPFields = [
            .cacheControl: "\(self.isVector ? "private, " : "")max-age=\(tile.maximumAge)", .eTag: tag,
        ]
        if EntityTag.isNamed(tag, in: request.headers[values: .ifNoneMatch]) {
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = tile.mediaType
        // The vector tiles of an MBTiles file are compressed.
        if self.isVector, tile.bytes.starts(with: [0x1F, 0x8B]) { headers[.contentEncoding] = "gzip" }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: tile.bytes)))
    }

    private func place(_ context: GatewayRequestContext) throws(Problem) -> TilePlace {
        let suffix = self.isVector ? ".mvt" : ""
        guard var y = context.parameters.get("y"), y.hasSuffix(suffix) else { throw self.badPath }
        y.removeLast(suffix.count)
        let parts = [context.parameters.get("z"), context.parameters.get("x"), y].compactMap { $0.flatMap { Int($0) } }
        guard parts.count == 3, let place = TilePlace(zoom: parts[0], x: parts[1], y: parts[2]) else {
            throw self.badPath
        }
        return place
    }

    private var badPath: Problem {
        Problem(
            .badRequest,
            "The path of a map tile must be /tiles/{z}/{x}/{y}\(self.isVector ? ".mvt" : "") with the tile's zoom level, column and row."
        )
    }
}

extension Problem {
    /// Creates the answer to a request for a tile that the routing engine did not send. The cause is only in the
    /// gateway's log, because it names the engine's address.
    fileprivate init(_ failure: EngineTiles.Failure) {
        switch failure {
        case .away:
            self.init(
                .serviceUnavailable,
                "The routing engine does not answer, so the map has no streets: the operator must start the engine that --engine names."
            )
        case .wrong:
            self.init(
                .badGateway,
                "The routing engine's answer is not a map tile, so the map has no streets: the operator finds the cause in the gateway's log."
            )
        }
    }
}
