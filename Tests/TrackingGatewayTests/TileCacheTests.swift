import Foundation
import Testing
import TrackingCore

@testable import TrackingGateway

/// The cache of map tiles: its bookkeeping, which decides what is removed, and its folder.
@Suite struct TileCacheTests {
    private func place(_ x: Int) -> TilePlace { TilePlace(zoom: 14, x: x, y: 5753)! }  // in range

    @Test func theOldestTilesAreRemoved() {
        var index = TileCacheIndex(limit: 3 * 4096)
        #expect(index.add(self.place(1), size: 4096, at: UnixTime(1)) == [])
        #expect(index.add(self.place(2), size: 0, at: UnixTime(2)) == [])
        #expect(index.bytes == 2 * 4096)
        // A tile that is stored again is not the oldest any more.
        #expect(index.add(self.place(1), size: 10, at: UnixTime(3)) == [])
        #expect(index.add(self.place(3), size: 4097, at: UnixTime(4)) == [self.place(2)])
        #expect(index.bytes == 3 * 4096 && index.count == 2)
        #expect(index.time(of: self.place(1)) == UnixTime(3) && index.time(of: self.place(2)) == nil)
        // A removed tile makes room.
        index.remove(self.place(3))
        #expect(index.bytes == 4096 && index.add(self.place(4), size: 8000, at: UnixTime(5)) == [])
        // A tile that is larger than the limit removes all others and itself.
        #expect(
            index.add(self.place(5), size: 20_000, at: UnixTime(6)) == [self.place(1), self.place(4), self.place(5)])
        #expect(index.bytes == 0 && index.count == 0)
    }

    @Test func manyTilesNeverExceedTheLimit() {
        var index = TileCacheIndex(limit: 100 * 4096)
        var isWrong = false
        for step in 0..<50_000 {
            let removed = index.add(self.place(step % 16_384), size: step % 9000, at: UnixTime(Double(step)))
            isWrong = isWrong || index.bytes > index.limit || removed.contains { index.time(of: $0) != nil }
        }
        #expect(!isWrong && index.count > 30)
    }

    @Test func aCacheIsFoundAgainWithItsLimit() throws {
        let folder = TemporaryFolder()
        let path = folder.url.appending(path: "tiles").path()
        var cache = TileCache(folder: path)
        #expect(cache.tile(self.place(1)) == nil)
        for x in 1...3 {
            try cache.store([UInt8](repeating: UInt8(x), count: 10), at: self.place(x), now: UnixTime(1e9))
        }
        #expect(cache.tile(self.place(2))?.bytes == [UInt8](repeating: 2, count: 10))
        // The oldest by the times of the files is removed; so is a file that is no tile.
        for x in 1...3 {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: Double(100 - x))],
                ofItemAtPath: "\(path)/14-\(x)-5753.mvt")
        }
        try Data([1]).write(to: URL(filePath: "\(path)/14-1-5753.mvt.part"))
        var reopened = TileCache(folder: path, limit: 2 * 4096)
        #expect(reopened.tile(self.place(3)) == nil)
        #expect(reopened.tile(self.place(1))?.stored == UnixTime(99))
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).count == 2)
        // A file that disappeared is not in the cache any more.
        try FileManager.default.removeItem(atPath: "\(path)/14-1-5753.mvt")
        #expect(reopened.tile(self.place(1)) == nil)
    }

    @Test func aVectorTileIsASequenceOfWholeLayers() {
        let layer: [UInt8] = [0x1A, 0x03, 1, 2, 3]
        for whole in [[], layer, layer + layer, [0x1A, 0x80, 0x00], [0x1A, 0]] as [[UInt8]] {
            #expect(VectorTile.isWhole(whole), "\(whole)")
        }
        for other in [
            [0x1A], [0x1A, 0x80], layer.dropLast(), layer + [0x1A, 4, 0], Array("<html>".utf8), Array("{}".utf8),
            [0x1A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], [0x1A, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
        ] as [[UInt8]] {
            #expect(!VectorTile.isWhole(Array(other)), "\(other)")
        }
    }
}
