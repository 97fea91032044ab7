package import Logging
import TrackingCore
import TrackingHTTP
import TrackingRuntime

/// The street map of a routing engine: vector tiles that the gateway fetches from the engine and caches on disk.
///
/// Several requests for the same tile at the same time make one request to the engine. While the engine does not
/// answer, cached tiles are served at any age.
package actor EngineTiles {
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
    /// Few connections, because the engine also matches positions.
    private let client = HTTPClient(connectionsPerHost: 4)
    private var fetches: [TilePlace: Task<Result<[UInt8], Failure>, Never>] = [:]
    /// `true` after a request to the engine failed, until the next one succeeds.
    private var isFailing = false

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
            if self.isFailing { self.logger.notice("Routing engine sends map tiles again: the map shows streets") }
            self.isFailing = false
            do { try self.cache.store(bytes, at: place, now: self.clock.moment.wall) } catch {
                self.logger.warning(
                    "Map tile could not be stored in the gateway's cache: the map shows the tile, and the gateway requests it from the routing engine again next time. Free space on the disk, or follow the reason",
                    metadata: ["folder": "\(self.folder)", "reason": "\(error)"])
            }
        case .failure(.away(let reason)), .failure(.wrong(let reason)):
            self.logger.log(
                level: self.isFailing ? .debug : .warning,
                "Routing engine sent no map tile: the map shows no streets there until the engine sends the tile. Check that the engine runs, and its address",
                metadata: ["engine": "\(self.engine)", "reason": "\(reason)"])
            self.isFailing = true
        }
    }

    // MARK: - Requests

    private func fetch(_ place: TilePlace) async throws(Failure) -> [UInt8] {
        let request = HTTPClient.Request(self.engine.tile(place))
        let answer: HTTPClient.Answer
        do {
            answer = try await self.client.exchange(request, within: self.deadline, upTo: Self.maximumBytes)
        } catch {
            throw .away("\(error)")
        }
        guard answer.status == 200 else { throw .wrong("HTTP status \(answer.status)") }
        switch answer.incompleteness {
        case .tooLong: throw .wrong("the answer has more than \(Self.maximumBytes) bytes")
        case .cut: throw .away("the answer ended within the tile, or lasted longer than \(self.deadline)")
        case nil: break
        }
        guard VectorTile.isWhole(answer.body) else { throw .wrong("the answer is no whole vector tile") }
        return answer.body
    }
}
