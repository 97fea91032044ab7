import FoundationEssentials
import TrackingCore

/// A folder with map tiles, as a cache with a size limit. One process uses it at a time.
struct TileCache {
    /// A tile of the cache.
    struct Cached: Equatable {
        /// The bytes of the tile.
        let bytes: [UInt8]
        /// The time at which the tile was stored.
        let stored: UnixTime
    }

    /// The default for the largest number of bytes of all tiles together: 256 MiB.
    static let limit = 268_435_456

    private let folder: String
    private var index: TileCacheIndex

    /// Opens a cache. Its folder is created with the first tile. Removes files that are no tiles, for example parts of
    /// tiles that a crash left behind.
    ///
    /// - Parameters:
    ///   - folder: The path of the folder.
    ///   - limit: The largest number of bytes of all tiles together.
    init(folder: String, limit: Int = Self.limit) {
        self.folder = folder
        self.index = TileCacheIndex(limit: limit)
        for (place, size, time) in self.found() { self.discard(self.index.add(place, size: size, at: time)) }
    }

    /// Returns a tile; `nil` if the cache does not have it.
    mutating func tile(_ place: TilePlace) -> Cached? {
        guard let stored = self.index.time(of: place) else { return nil }
        guard let data = try? Data(contentsOf: self.file(of: place)) else {
            self.index.remove(place)
            return nil
        }
        return Cached(bytes: Array(data), stored: stored)
    }

    /// Stores a tile, and removes the oldest tiles if the cache exceeds its limit.
    ///
    /// - Throws: An error of the file system, for example when the disk is full.
    mutating func store(_ bytes: [UInt8], at place: TilePlace, now: UnixTime) throws {
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        try Data(bytes).write(to: self.file(of: place), options: .atomic)
        self.discard(self.index.add(place, size: bytes.count, at: now))
    }

    private func discard(_ places: [TilePlace]) {
        for place in places { try? FileManager.default.removeItem(at: self.file(of: place)) }
    }

    private func file(of place: TilePlace) -> URL {
        URL(filePath: "\(self.folder)/\(place.zoom)-\(place.x)-\(place.y).mvt")
    }

    /// Returns the tiles in the folder with their sizes and times, the oldest first.
    private func found() -> [(place: TilePlace, size: Int, time: UnixTime)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: self.folder)) ?? []
        return names.compactMap { name -> (place: TilePlace, size: Int, time: UnixTime)? in
            let file = "\(self.folder)/\(name)"
            guard let place = Self.place(in: name), let facts = try? FileManager.default.attributesOfItem(atPath: file),
                let size = facts[.size] as? Int ?? (facts[.size] as? UInt64).map({ Int($0) }),
                let time = facts[.modificationDate] as? Date
            else {
                try? FileManager.default.removeItem(atPath: file)
                return nil
            }
            return (place, size, UnixTime(time.timeIntervalSince1970))
        }.sorted { $0.time < $1.time }
    }

    private static func place(in name: String) -> TilePlace? {
        guard name.hasSuffix(".mvt") else { return nil }
        let parts = name.dropLast(4).split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3 else { return nil }
        return TilePlace(zoom: parts[0], x: parts[1], y: parts[2])
    }
}
