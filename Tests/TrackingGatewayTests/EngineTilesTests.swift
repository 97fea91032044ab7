import Foundation
import GRDB
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import Testing
import TrackingCore

@testable import TrackingGateway

/// The streets of a routing engine: the route, the requests to the engine, and engines that fail.
@Suite(.timeLimit(.minutes(5))) struct EngineTilesTests {
    private static let layer: [UInt8] = [0x1A, 0x02, 7, 7]

    /// A routing engine that counts its requests.
    private final class Engine: Sendable {
        let requests = Mutex<[String]>([])
        private let answer: @Sendable (String) async throws -> Response

        init(_ answer: @escaping @Sendable (String) async throws -> Response) { self.answer = answer }

        func run(_ port: @escaping @Sendable (Int) async -> Void) async throws {
            let router = Router()
            router.get("tile") { request, _ in
                let text = request.uri.queryParameters["json"].map { String($0) } ?? ""
                self.requests.withLock { $0.append(text) }
                return try await self.answer(text)
            }
            let server = Application(
                router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { await port($0.localAddress?.port ?? 0) })
            try await server.run()
        }
    }

    /// Runs `body` with an engine, and ends the engine. `body` receives the engine's address.
    private func withEngine(
        _ engine: Engine, _ body: (EngineURL) async throws -> Void
    ) async throws {
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let serving = Task { try await engine.run { port.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        let found = try #require(await iterator.next())
        try await body(try EngineURL("valhalla:http://127.0.0.1:\(found)"))
        serving.cancel()
        _ = try? await serving.value
    }

    private static func tile(_ bytes: [UInt8], _ status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    // MARK: - The route

    @Test func aSignedInCallerGetsTheTilesOfTheEngine() async throws {
        let engine = Engine { $0.contains(#""x":1,"#) ? Self.tile(Self.layer) : Self.tile([]) }
        try await self.withEngine(engine) { address in
            let gateway = try TestGateway { $0.tiles = .engine(address) }
            let token = HTTPFields.bearer(try await gateway.token())
            let link = HTTPFields.bearer(
                try await gateway.access.share(try TrackableID("van"), from: TestGateway.now, for: .seconds(600)).text)
            try await gateway.test { client in
                let config = try await client.execute(uri: "/map/config", method: .get).json?["tiles"]
                #expect(config?["format"]?.text == "vector" && config?["url"]?.text == "/tiles/{z}/{x}/{y}.mvt")
                #expect(
                    config?["maxZoom"]?.count == 14 && config?["attribution"]?.text?.contains("OpenStreetMap") == true)
                // Another spelling of the path does not avoid the check of the token.
                for (path, status) in [("/tiles/14/1/2.mvt", 401), ("/tiles/14/1/2%2Emvt", 400)] {
                    #expect(try await client.execute(uri: path, method: .get).status.code == status)
                }
                let tile = try await client.execute(uri: "/tiles/14/1/2.mvt", method: .get, headers: link)
                #expect(tile.status == .ok && Array(tile.body.readableBytesView) == Self.layer)
                #expect(tile.headers[.contentType] == "application/vnd.mapbox-vector-tile")
                #expect(tile.headers[.cacheControl] == "private, max-age=1800")
                // A browser that has the tile gets no body.
                var again = token
                again[.ifNoneMatch] = tile.headers[.eTag]
                #expect(
                    try await client.execute(uri: "/tiles/14/1/2.mvt", method: .get, headers: again).status
                        == .notModified)
                let empty = try await client.execute(uri: "/tiles/14/3/2.mvt", method: .get, headers: token)
                #expect(empty.status == .noContent)
                // The engine has no tiles of these zoom levels.
                for path in ["/tiles/6/1/2.mvt", "/tiles/15/1/2.mvt"] {
                    #expect(try await client.execute(uri: path, method: .get, headers: token).status == .noContent)
                }
                for path in ["/tiles/14/1/2", "/tiles/14/99999/2.mvt", "/tiles/14/1/x.mvt", "/tiles/14/1/.mvt"] {
                    #expect(try await client.execute(uri: path, method: .get, headers: token).status == .badRequest)
                }
            }
            #expect(engine.requests.withLock { $0.count } == 2)
            let asked = try #require(engine.requests.withLock { $0.first })
            let json = try JSONValue(json: asked.utf8)
            #expect(json["tile"] == .object(["z": .number(14), "x": .number(1), "y": .number(2)]))
        }
    }

    @Test func anEngineThatIsAwayIsReportedAndCachedTilesRemain() async throws {
        let engine = Engine { _ in Self.tile(Self.layer) }
        let state = TemporaryFolder()
        let token = Mutex(HTTPFields())
        let serve = { @Sendable (address: EngineURL) throws -> TestGateway in
            try TestGateway {
                $0.tiles = .engine(address)
                $0.database = state.url.appending(path: "gateway.sqlite").path()
            }
        }
        let last = Mutex<EngineURL?>(nil)
        try await self.withEngine(engine) { address in
            let gateway = try serve(address)
            let made = HTTPFields.bearer(try await gateway.token())
            token.withLock { $0 = made }
            last.withLock { $0 = address }
            try await gateway.test { client in
                let tile = try await client.execute(uri: "/tiles/14/1/2.mvt", method: .get, headers: made)
                #expect(tile.status == .ok)
            }
        }
        let gateway = try serve(try #require(last.withLock { $0 }))
        let headers = token.withLock { $0 }
        try await gateway.test { client in
            #expect(try await client.execute(uri: "/tiles/14/1/2.mvt", method: .get, headers: headers).status == .ok)
            let other = try await client.execute(uri: "/tiles/14/1/3.mvt", method: .get, headers: headers)
            #expect(other.status == .serviceUnavailable && other.text.contains("--engine"))
            #expect(!other.text.contains("127.0.0.1"))
        }
    }

    // MARK: - Requests to the engine

    @Test func equalRequestsAreOne() async throws {
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let engine = Engine { _ in
            for await _ in gate { break }
            return Self.tile(Self.layer)
        }
        let folder = TemporaryFolder()
        try await self.withEngine(engine) { address in
            try await self.withTiles(address, in: folder) { tiles in
                let place = TilePlace(zoom: 14, x: 1, y: 2)!  // in range
                let all = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                    for _ in 0..<20 { group.addTask { try await tiles.tile(place) } }
                    opener.yield()
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(all.count == 20 && all.allSatisfy { $0 == Self.layer })
            }
        }
        #expect(engine.requests.withLock { $0.count } == 1)
    }

    /// The answers of an engine, or of another server at its address, that are no tiles.
    private enum Wrong: CaseIterable {
        case error, page, cut, endless, large
    }

    @Test func anAnswerThatIsNoTileIsAnErrorAndNotCached() async throws {
        for wrong in Wrong.allCases {
            let engine = Engine { _ in
                switch wrong {
                case .error: Self.tile(Self.layer, .internalServerError)
                case .page: Self.tile(Array("<html>".utf8))
                case .cut: Self.tile(Self.layer.dropLast())
                case .endless, .large:
                    Response(
                        status: .ok, headers: wrong == .large ? [.contentLength: "104857600"] : [:],
                        body: ResponseBody { writer in
                            let piece = ByteBuffer(repeating: 0, count: 1_048_576)
                            for _ in 0..<100 { try await writer.write(piece) }
                            try await writer.finish(nil)
                        })
                }
            }
            let folder = TemporaryFolder()
            try await self.withEngine(engine) { address in
                try await self.withTiles(address, in: folder) { tiles in
                    let failure = await #expect(throws: EngineTiles.Failure.self) {
                        try await tiles.tile(TilePlace(zoom: 14, x: 1, y: 2)!)  // in range
                    }
                    guard case .wrong = failure else {
                        Issue.record("\(wrong): \(String(describing: failure))"); return
                    }
                }
            }
            let cached = try? FileManager.default.contentsOfDirectory(
                atPath: folder.url.appending(path: "tiles").path())
            #expect((cached ?? []).isEmpty)
        }
    }

    @Test func anEngineThatDoesNotAnswerIsAwayAfterTheDeadline() async throws {
        let engine = Engine { _ in
            try await Task.sleep(for: .seconds(3600))
            return Self.tile(Self.layer)
        }
        // The second engine sends the head of its answer, but not the body.
        let halting = Engine { _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    try await writer.write(ByteBuffer(bytes: [0x1A]))
                    try await Task.sleep(for: .seconds(3600))
                    try await writer.finish(nil)
                })
        }
        for slow in [engine, halting] {
            let folder = TemporaryFolder()
            try await self.withEngine(slow) { address in
                try await self.withTiles(address, in: folder, deadline: .milliseconds(200)) { tiles in
                    let failure = await #expect(throws: EngineTiles.Failure.self) {
                        try await tiles.tile(TilePlace(zoom: 14, x: 1, y: 2)!)  // in range
                    }
                    guard case .away = failure else { Issue.record("\(String(describing: failure))"); return }
                }
            }
        }
    }

    private func withTiles(
        _ address: EngineURL, in folder: TemporaryFolder, deadline: Duration = .seconds(60),
        _ body: (EngineTiles) async throws -> Void
    ) async throws {
        let tiles = EngineTiles(
            engine: address, folder: folder.url.appending(path: "tiles").path(), deadline: deadline)
        try await body(tiles)
    }

    @Test(arguments: [
        "http://127.0.0.1:8002", "osrm:http://127.0.0.1", "valhalla:127.0.0.1:8002", "valhalla:ftp://127.0.0.1",
        "valhalla:http://user:secret@host", "valhalla:http://host/?a=b", "valhalla:http://", "valhalla:http://a b",
    ])
    func anAddressOfAnEngineThatIsNoneIsRefused(_ text: String) {
        #expect(throws: TrackingError.self) { try EngineURL(text) }
    }

    @Test func anAddressOfAnEngineMayHaveAPath() throws {
        for (text, base) in [
            ("valhalla:http://127.0.0.1:8002", "http://127.0.0.1:8002"),
            ("valhalla:http://[::1]:8002/", "http://[::1]:8002"),
            ("valhalla:https://example.org/engine/", "https://example.org/engine"),
        ] {
            let url = try EngineURL(text)
            #expect(url.base == base && "\(url)" == "valhalla:\(base)")
            let place = TilePlace(zoom: 7, x: 1, y: 2)!  // in range
            #expect(url.tile(place).hasPrefix("\(base)/tile?json=%7B%22tile%22%3A"))
        }
    }

    // MARK: - Files

    @Test func aWrittenFileHasItsTiles() async throws {
        let folder = TemporaryFolder()
        let path = folder.url.appending(path: "town.mbtiles").path()
        let tiles = [TilePlace(zoom: 2, x: 1, y: 0)!: [UInt8](1...3), TilePlace(zoom: 5, x: 9, y: 9)!: [4]]  // in range
        try TileFile.write(to: path, attribution: "A town", tiles: tiles)
        let file = try TileFile(path: path)
        #expect(file.isVector && file.zooms == 2...5 && file.attribution == "A town")
        for (place, bytes) in tiles { #expect(try await file.tile(place) == bytes) }
        #expect(throws: TrackingError.self) { try TileFile.write(to: path, attribution: "A town", tiles: tiles) }
    }

    @Test func vectorTilesOfAFileAreServedCompressedToSignedInCallers() async throws {
        let folder = TemporaryFolder()
        let path = folder.url.appending(path: "land.mbtiles").path()
        try await DatabaseQueue(path: path).write { database in
            try database.execute(
                sql: """
                    CREATE TABLE metadata (name TEXT, value TEXT);
                    CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
                    INSERT INTO metadata VALUES ('format', 'pbf'), ('minzoom', '0'), ('maxzoom', '14');
                    INSERT INTO tiles VALUES (1, 0, 1, x'1F8B0800');
                    """)
        }
        let gateway = try TestGateway { $0.tiles = .file(path: path) }
        let token = HTTPFields.bearer(try await gateway.token())
        try await gateway.test { client in
            #expect(try await client.execute(uri: "/tiles/1/0/0.mvt", method: .get).status == .unauthorized)
            let tile = try await client.execute(uri: "/tiles/1/0/0.mvt", method: .get, headers: token)
            #expect(tile.status == .ok && tile.headers[.contentEncoding] == "gzip")
            #expect(Array(tile.body.readableBytesView) == [0x1F, 0x8B, 8, 0])
            let config = try await client.execute(uri: "/map/config", method: .get).json?["tiles"]
            #expect(config?["format"]?.text == "vector" && config?["minZoom"]?.count == 0)
            #expect(config?["attribution"]?.text?.contains("OpenStreetMap") == true)
        }
    }
}
