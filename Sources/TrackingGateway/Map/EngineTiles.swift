package import AsyncHTTPClient
package import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import TrackingCore
import TrackingRuntime

/// The street map of a routing engine: vector tiles that the gateway fetches from the engine and caches on disk.
///
/// Several requests for the same tile at the same time make one request to the engine. While the engine does not
/// answer, cached tiles are served at any age.
package actor EngineTiles: Service {
    /// The reason for which there is no tile.
    enum Failure: Error, Hashable {
        /// The engine cannot be reached, or did not answer in time.
        case away(String)
        /// The engine's answer is no map tile.
        case wrong(String)
    }

    /// The zoom levels at which the engine has tiles. Its default configuration draws no road below 7 and rejects
    /// requests above 14.
    static let zooms = 7...14
    /// The largest number of bytes of a tile.
    static let maximumBytes = 2_097_152
    /// The age in seconds up to which a cached tile is served without a request to the engine.
    static let freshness = 1800.0

    private let engine: EngineURL
    private lazy var cache = TileCache(folder: self.folder)
    private let folder: String
    private let deadline: Duration
    private let logger: Logger
    private let clock = DeviceClock()
    private var client = Client.unused
    private var fetches: [TilePlace: Task<Result<[UInt8], Failure>, Never>] = [:]
    /// `true` after a request to the engine failed, until the next one succeeds.
    private var isFailing = false

    /// The HTTP client, which is made with the first request and shut down once.
    private enum Client {
        case unused
        case open(HTTPClient)
        case closed
    }

    /// Creates a source of tiles that has fetched nothing yet.
    ///
    /// - Parameters:
    ///   - engine: The address of the routing engine.
    ///   - folder: The path of the folder for cached tiles.
    ///   - deadline: The longest time for a whole answer of the engine.
    ///   - logger: The logger for an engine that fails.
    package init(
        engine: EngineURL, folder: String, deadline: Duration = .seconds(5),
        logger: Logger = Logger(label: "godwit.gateway")
    ) {
        self.engine = engine
        self.folder = folder
        self.deadline = deadline
        self.logger = logger
    }

    /// Waits for a graceful shutdown or cancellation, and then closes the connections to the engine.
    package func run() async throws {
        try? await gracefulShutdown()
        if case .open(let client) = self.client {
            self.client = .closed
            try await client.shutdown()
        }
        self.client = .closed
    }

    /// Returns the bytes of a tile from the cache or from the engine. A tile without roads has no bytes.
    func tile(_ place: TilePlace) async throws(Failure) -> [UInt8] {
        let cached = self.cache.tile(place)
        if let cached, self.isFresh(cached) { return cached.bytes }
        let fetch = self.fetches[place] ?? self.beginFetch(place)
        switch await fetch.value {
        case .success(let bytes): return bytes
        case .failure(let failure):
            guard let cached else { throw failure }
            return cached.bytes
        }
    }

    private func isFresh(_ cached: TileCache.Cached) -> Bool {
        let age = self.clock.moment.wall.seconds - cached.stored.seconds
        return (0..<Self.freshness).contains(age)
    }

    private func beginFetch(_ place: TilePlace) -> Task<Result<[UInt8], Failure>, Never> {
        // Unstructured: the answer serves every request for this tile, and the first one may end before it arrives.
        let fetch = Task {
            let result: Result<[UInt8], Failure>
            do throws(Failure) { result = .success(try await self.fetch(place)) } catch { result = .failure(error) }
            self.fetches[place] = nil
            self.ended(result, place)
            return result
        }
        self.fetches[place] = fetch
        return fetch
    }

    private func ended(_ result: Result<[UInt8], Failure>, _ place: TilePlace) {
        switch result {
        case .success(let bytes):
            if self.isFailing { self.logger.notice("Routing engine sends map tiles again") }
            self.isFailing = false
            do { try self.cache.store(bytes, at: place, now: self.clock.moment.wall) } catch {
                self.logger.warning(
                    "Map tile could not be stored in the cache",
                    metadata: ["folder": "\(self.folder)", "reason": "\(error)"])
            }
        case .failure(.away(let reason)), .failure(.wrong(let reason)):
            self.logger.log(
                level: self.isFailing ? .debug : .warning,
                "Routing engine sent no map tile; the map shows no streets until it does",
                metadata: ["engine": "\(self.engine)", "reason": "\(reason)"])
            self.isFailing = true
        }
    }

    // MARK: - Requests

    private func fetch(_ place: TilePlace) async throws(Failure) -> [UInt8] {
        guard let client = self.openClient() else { throw .away("the gateway is ending") }
        let request = HTTPClientRequest(url: self.engine.tile(place))
        let deadline = self.deadline
        let answer = await withTaskGroup(of: Result<[UInt8], Failure>.self) { group in
            group.addTask { await Self.answer(to: request, client, within: deadline) }
            group.addTask {
                try? await Task.sleep(for: deadline)
                return .failure(.away("no complete answer within \(deadline)"))
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(.away("no answer"))
        }
        return try answer.get()
    }

    private func openClient() -> HTTPClient? {
        switch self.client {
        case .open(let client): return client
        case .closed: return nil
        case .unused:
            let client = HTTPClient(configuration: .routingEngine)
            self.client = .open(client)
            return client
        }
    }

    private static func answer(
        to request: HTTPClientRequest, _ client: HTTPClient, within deadline: Duration
    ) async -> Result<[UInt8], Failure> {
        do {
            let response = try await client.execute(request, timeout: TimeAmount(deadline))
            guard response.status == .ok else { return .failure(.wrong("HTTP status \(response.status.code)")) }
            let body = try await response.body.collect(upTo: self.maximumBytes)
            let bytes = Array(body.readableBytesView)
            guard VectorTile.isWhole(bytes) else { return .failure(.wrong("the answer is no whole vector tile")) }
            return .success(bytes)
        } catch is NIOTooManyBytesError {
            return .failure(.wrong("the answer has more than \(self.maximumBytes) bytes"))
        } catch {
            return .failure(.away("\(error)"))
        }
    }
}

extension HTTPClient.Configuration {
    /// The HTTP configuration for a routing engine: few connections, because the engine also matches positions, and no
    /// redirects.
    package static var routingEngine: Self {
        var configuration = Self()
        configuration.redirectConfiguration = .disallow
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4
        // An engine that refuses connections is reported at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}
