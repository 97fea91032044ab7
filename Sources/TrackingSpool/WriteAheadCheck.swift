import FoundationEssentials

/// A check for a damaged write-ahead log. SQLite itself ignores everything after the damage, and does not report that.
///
/// A write-ahead log that was cut off at its end is not damaged: a power cut can end a transaction that was not
/// committed.
enum WriteAheadCheck {
    private static let header = 32
    private static let frame = 24 + SpoolSchema.pageSize

    /// Returns `true` if the write-ahead log at a path has a committed transaction at or after a damaged frame.
    static func isDamaged(_ path: String) -> Bool {
        guard let bytes = FileManager.default.contents(atPath: path).map(Array.init), bytes.count > self.header else {
            return false
        }
        let salts = bytes[16..<24]
        var sum = Sum(isBigEndian: bytes[3] & 1 == 1)
        sum.add(bytes[0..<24])
        let isHeaderWhole = Self.matches(sum, bytes[24..<32])
        var isWhole = isHeaderWhole
        for start in stride(from: self.header, through: bytes.count - self.frame, by: self.frame) {
            let head = bytes[start..<(start + 24)]
            let isCommit = head[(start + 4)..<(start + 8)].contains { $0 != 0 }
            if isWhole {
                // Frames of an earlier round may follow. Their content is in the file already.
                guard head[(start + 8)..<(start + 16)] == salts else {
                    if isCommit, Self.isOfThisRound(head[(start + 8)..<(start + 16)], salts) { return true }
                    isWhole = false
                    continue
                }
                sum.add(bytes[start..<(start + 8)])
                sum.add(bytes[(start + 24)..<(start + self.frame)])
                isWhole = Self.matches(sum, bytes[(start + 16)..<(start + 24)])
                if !isWhole, isCommit { return true }
            } else if isCommit, Self.isOfThisRound(head[(start + 8)..<(start + 16)], salts) || !isHeaderWhole {
                return true
            }
        }
        return false
    }

    /// Returns `true` if a frame (one page in the write-ahead log) belongs to the log's current content, not to
    /// overwritten older content. One of the frame's two salts must agree with the header's, because damage rarely
    /// changes both.
    private static func isOfThisRound(_ found: ArraySlice<UInt8>, _ salts: ArraySlice<UInt8>) -> Bool {
        found.prefix(4) == salts.prefix(4) || found.suffix(4) == salts.suffix(4)
    }

    private static func matches(_ sum: Sum, _ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.reduce(0) { $0 << 8 | UInt64($1) } == UInt64(sum.first) << 32 | UInt64(sum.second)
    }

    /// A running checksum over bytes, as the format of SQLite's write-ahead log defines it.
    private struct Sum {
        let isBigEndian: Bool
        var first: UInt32 = 0
        var second: UInt32 = 0

        init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

        mutating func add(_ bytes: ArraySlice<UInt8>) {
            bytes.withUnsafeBytes { raw in
                for place in stride(from: 0, to: raw.count - 7, by: 8) {
                    self.first &+= self.word(raw, place) &+ self.second
                    self.second &+= self.word(raw, place + 4) &+ self.first
                }
            }
        }

        private func word(_ raw: UnsafeRawBufferPointer, _ place: Int) -> UInt32 {
            let value = raw.loadUnaligned(fromByteOffset: place, as: UInt32.self)
            return self.isBigEndian ? UInt32(bigEndian: value) : UInt32(littleEndian: value)
        }
    }
}
