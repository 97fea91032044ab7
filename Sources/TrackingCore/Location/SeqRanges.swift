/// A set of the record numbers (`seq`) that were received from one stream of records. It is stored as a list of ranges
/// with a maximum length.
///
/// When the list becomes too long, its two lowest ranges are joined: the numbers between them count as received.
public struct SeqRanges: Hashable, Sendable {
    /// The received record numbers as ranges: ascending, and with at least one missing number between two ranges.
    public private(set) var ranges: [ClosedRange<UInt64>] = []
    /// The maximum number of ranges in which the set is stored, ≥ 1. Beyond this number, the two lowest ranges are
    /// joined.
    public let maximumRanges: Int

    /// Makes an empty set of received record numbers, stored in at most `maximumRanges` ranges (at least 1).
    public init(maximumRanges: Int = 64) { self.maximumRanges = max(1, maximumRanges) }

    /// Returns `true` when the record number `seq` was received, or counts as received because two ranges were joined.
    /// Costs O(log n) in the number of ranges.
    public func contains(_ seq: UInt64) -> Bool {
        let place = self.place(of: seq)
        return place > 0 && self.ranges[place - 1].contains(seq)
    }

    /// Inserts a record number that was received. Returns `false` when the number already counted as received.
    public mutating func insert(_ seq: UInt64) -> Bool {
        let place = self.place(of: seq)
        if place > 0, self.ranges[place - 1].contains(seq) { return false }
        // Neither sum overflows: the range before ends below `seq`, the one after begins above it.
        let joinsBefore = place > 0 && self.ranges[place - 1].upperBound + 1 == seq
        let joinsAfter = place < self.ranges.count && self.ranges[place].lowerBound == seq + 1
        let lower = joinsBefore ? self.ranges[place - 1].lowerBound : seq
        let upper = joinsAfter ? self.ranges[place].upperBound : seq
        let joined = (joinsBefore ? place - 1 : place)..<(joinsAfter ? place + 1 : place)
        self.ranges.replaceSubrange(joined, with: [lower...upper])
        self.closeLowestGap()
        return true
    }

    /// Returns the number of stored ranges that begin at or below the record number `seq`. Only the last of them can
    /// contain `seq`.
    private func place(of seq: UInt64) -> Int {
        var low = 0
        var high = self.ranges.count
        while low < high {
            let middle = (low + high) / 2
            if self.ranges[middle].lowerBound <= seq { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func closeLowestGap() {
        guard self.ranges.count > self.maximumRanges else { return }
        self.ranges.replaceSubrange(0..<2, with: [self.ranges[0].lowerBound...self.ranges[1].upperBound])
    }
}
