/// Which numbers of a stream were seen, as ranges. It holds a bounded number of them: beyond that the lowest gap closes, and
/// what was missing there counts as seen.
public struct SeqRanges: Hashable, Sendable {
    /// The numbers seen: disjoint, not touching, ascending.
    public private(set) var ranges: [ClosedRange<UInt64>] = []
    /// The most ranges that are held, ≥ 1.
    public let maximumRanges: Int

    /// Makes a set in which nothing was seen; at most `maximumRanges` (at least 1) are held.
    public init(maximumRanges: Int = 64) { self.maximumRanges = max(1, maximumRanges) }

    /// Whether `seq` was seen. Costs O(log n) in the number of ranges.
    public func contains(_ seq: UInt64) -> Bool {
        let place = self.place(of: seq)
        return place > 0 && self.ranges[place - 1].contains(seq)
    }

    /// Notes that `seq` was seen; `false` when it was before.
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

    /// How many ranges begin at or below `seq`.
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
