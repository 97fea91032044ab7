/// A set of record numbers, stored as ranges of consecutive numbers. Its memory depends on the number of ranges, not on
/// the number of elements.
public struct SeqSet: Hashable, Sendable {
    /// The record numbers of the set as ascending ranges. Consecutive numbers are always in the same range.
    public private(set) var ranges: [ClosedRange<UInt64>] = []
    /// The number of record numbers in the set.
    public private(set) var count = 0

    /// Makes an empty set of record numbers.
    public init() {}

    /// Makes a set of all numbers in the given ranges. The ranges may be unordered and may overlap.
    public init(_ ranges: some Sequence<ClosedRange<UInt64>>) {
        for range in ranges { self.insert(range) }
    }

    /// `true` when the set contains no record number.
    public var isEmpty: Bool { self.ranges.isEmpty }
    /// The lowest record number in the set; `nil` when the set is empty.
    public var first: UInt64? { self.ranges.first?.lowerBound }
    /// The highest record number in the set; `nil` when the set is empty.
    public var last: UInt64? { self.ranges.last?.upperBound }

    /// Returns `true` when the set contains `seq`. Costs O(log n) in the number of ranges.
    public func contains(_ seq: UInt64) -> Bool {
        let place = self.firstEnding(atOrAbove: seq)
        return place < self.ranges.count && self.ranges[place].contains(seq)
    }

    /// Returns the last number of the range in ``ranges`` that contains `seq`; `nil` when `seq` is not in the set.
    /// Costs O(log n) in the number of ranges.
    package func end(ofRangeWith seq: UInt64) -> UInt64? {
        let place = self.firstEnding(atOrAbove: seq)
        return place < self.ranges.count && self.ranges[place].contains(seq) ? self.ranges[place].upperBound : nil
    }

    /// Inserts one number into the set.
    public mutating func insert(_ seq: UInt64) { self.insert(seq...seq) }

    /// Inserts all numbers of a range into the set.
    public mutating func insert(_ range: ClosedRange<UInt64>) {
        if let last = self.ranges.last, range.lowerBound > last.upperBound {
            // Most numbers arrive in ascending order.
            self.append(range, after: last)
            return
        }
        // Ranges that touch are merged, including those that end just below or begin just above.
        let low = self.firstEnding(atOrAbove: range.lowerBound == 0 ? 0 : range.lowerBound - 1)
        var high = low
        var joined = range
        while high < self.ranges.count,
            range.upperBound == .max || self.ranges[high].lowerBound <= range.upperBound + 1
        {
            let other = self.ranges[high]
            joined = min(joined.lowerBound, other.lowerBound)...max(joined.upperBound, other.upperBound)
            self.count -= Self.size(other)
            high += 1
        }
        self.ranges.replaceSubrange(low..<high, with: CollectionOfOne(joined))
        self.count += Self.size(joined)
    }

    private mutating func append(_ range: ClosedRange<UInt64>, after last: ClosedRange<UInt64>) {
        if range.lowerBound == last.upperBound + 1 {
            self.ranges[self.ranges.count - 1] = last.lowerBound...range.upperBound
        } else {
            self.ranges.append(range)
        }
        self.count += Self.size(range)
    }

    /// Inserts all numbers of another set.
    public mutating func formUnion(_ other: SeqSet) { for range in other.ranges { self.insert(range) } }

    /// Removes all numbers of a range from the set.
    public mutating func remove(_ range: ClosedRange<UInt64>) {
        let low = self.firstEnding(atOrAbove: range.lowerBound)
        var high = low
        var left: [ClosedRange<UInt64>] = []
        while high < self.ranges.count, self.ranges[high].lowerBound <= range.upperBound {
            let other = self.ranges[high]
            self.count -= Self.size(other)
            if other.lowerBound < range.lowerBound { left.append(other.lowerBound...(range.lowerBound - 1)) }
            if other.upperBound > range.upperBound { left.append((range.upperBound + 1)...other.upperBound) }
            high += 1
        }
        for part in left { self.count += Self.size(part) }
        self.ranges.replaceSubrange(low..<high, with: left)
    }

    /// Removes from this set every record number that another set contains.
    public mutating func subtract(_ other: SeqSet) { for range in other.ranges { self.remove(range) } }

    /// Returns the set of the record numbers that both sets contain.
    public func intersection(_ other: SeqSet) -> SeqSet {
        var outside = self
        outside.subtract(other)
        var both = self
        both.subtract(outside)
        return both
    }

    /// Returns the set of those record numbers of this set that are at most `seq`.
    public func through(_ seq: UInt64) -> SeqSet {
        var part = self
        if seq < .max { part.remove((seq + 1)...UInt64.max) }
        return part
    }

    /// Returns the set of those record numbers of this set that are at least `seq`.
    public func from(_ seq: UInt64) -> SeqSet {
        var part = self
        if seq > 0 { part.remove(0...(seq - 1)) }
        return part
    }

    /// Returns the set of the lowest record numbers of this set, at most `count` of them.
    public func prefix(_ count: Int) -> SeqSet {
        var part = SeqSet()
        for range in self.ranges {
            let room = count - part.count
            guard room > 0 else { break }
            part.insert(range.lowerBound...min(range.upperBound, range.lowerBound + UInt64(room) - 1))
        }
        return part
    }

    /// Returns the ranges of numbers within `bounds` that are not in the set. Returns at most `limit` ranges, in
    /// ascending order.
    public func gaps(in bounds: ClosedRange<UInt64>, limit: Int = .max) -> [ClosedRange<UInt64>] {
        var gaps: [ClosedRange<UInt64>] = []
        var next = bounds.lowerBound
        for range in self.ranges[self.firstEnding(atOrAbove: bounds.lowerBound)...] {
            guard range.lowerBound <= bounds.upperBound, gaps.count < limit else { break }
            if range.lowerBound > next { gaps.append(next...(range.lowerBound - 1)) }
            guard range.upperBound < bounds.upperBound else { return gaps }
            next = range.upperBound + 1
        }
        if gaps.count < limit { gaps.append(next...bounds.upperBound) }
        return gaps
    }

    private static func size(_ range: ClosedRange<UInt64>) -> Int { Int(range.upperBound - range.lowerBound) + 1 }

    /// Returns the index in ``ranges`` of the first range whose highest number is at least `seq`; the number of ranges
    /// if there is none.
    private func firstEnding(atOrAbove seq: UInt64) -> Int {
        var low = 0
        var high = self.ranges.count
        while low < high {
            let middle = (low + high) / 2
            if self.ranges[middle].upperBound < seq { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
