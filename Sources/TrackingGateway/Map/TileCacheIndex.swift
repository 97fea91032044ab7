import TrackingCore

/// The index of the map tiles in a cache on disk. It decides which tiles to remove when the cache exceeds its limit:
/// those that were stored longest ago, even if they were used since.
struct TileCacheIndex: Sendable {
    /// The number of bytes that a file takes on disk at least. Even an empty tile counts as one block.
    static let block = 4096

    private struct Entry {
        var bytes: Int
        var stored: UnixTime
        /// The number of the entry in the order of storing.
        var number: Int
    }

    /// The largest number of bytes of all tiles together.
    let limit: Int
    /// The number of bytes of all tiles together, each rounded up to whole blocks.
    private(set) var bytes = 0
    private var entries: [TilePlace: Entry] = [:]
    /// The tiles in the order of storing, from the oldest at ``head``. A tile that was stored again or removed is also
    /// at its former position, with a number that its entry no longer has.
    private var queue: [(place: TilePlace, number: Int)] = []
    private var head = 0
    private var nextNumber = 0

    /// Creates the index of an empty cache.
    ///
    /// - Parameter limit: The largest number of bytes of all tiles together.
    init(limit: Int) { self.limit = limit }

    /// The number of tiles in the cache.
    var count: Int { self.entries.count }

    /// Returns the time at which a tile was stored; `nil` if the cache does not have it.
    func time(of place: TilePlace) -> UnixTime? { self.entries[place]?.stored }

    /// Records that a tile was stored, in place of an earlier version of it.
    ///
    /// - Parameters:
    ///   - size: The number of bytes of the tile, ≥ 0.
    ///   - time: The time of storing. Stored tiles must be added in the order of their times.
    /// - Returns: The tiles to remove from the disk, the oldest first. The index has forgotten them already.
    mutating func add(_ place: TilePlace, size: Int, at time: UnixTime) -> [TilePlace] {
        self.remove(place)
        let bytes = max(1, (size + Self.block - 1) / Self.block) * Self.block
        self.entries[place] = Entry(bytes: bytes, stored: time, number: self.nextNumber)
        self.queue.append((place, self.nextNumber))
        self.nextNumber += 1
        self.bytes += bytes
        var removed: [TilePlace] = []
        while self.bytes > self.limit, let oldest = self.popOldest() { removed.append(oldest) }
        self.compact()
        return removed
    }

    /// Records that a tile is not on the disk any more.
    mutating func remove(_ place: TilePlace) {
        guard let entry = self.entries.removeValue(forKey: place) else { return }
        self.bytes -= entry.bytes
    }

    private mutating func popOldest() -> TilePlace? {
        while self.head < self.queue.count {
            let (place, number) = self.queue[self.head]
            self.head += 1
            guard self.entries[place]?.number == number else { continue }
            self.remove(place)
            return place
        }
        return nil
    }

    /// Frees the memory of former positions in the queue, once they are more than half of it.
    private mutating func compact() {
        guard self.queue.count > 2 * self.entries.count + 64 else { return }
        self.queue = self.queue[self.head...].filter { self.entries[$0.place]?.number == $0.number }
        self.head = 0
    }
}
