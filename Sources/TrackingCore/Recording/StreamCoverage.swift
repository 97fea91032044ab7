/// The state of every record number of a stream: stored, erased, quarantined, declared missing, or unknown.
///
/// The order and the repetition of messages do not matter: of two marks for one number, the lower ``Mark`` wins.
public struct StreamCoverage: Hashable, Sendable {
    /// The state of a number. The lower mark wins: a record that arrives after it was declared gone is stored.
    public enum Mark: Int, Hashable, Sendable, CaseIterable, Comparable {
        /// The record was erased for good, or its time is before an erasure. It is not accepted again.
        case erased = 0
        /// The record is stored.
        case stored = 1
        /// The record was received, but could not be accepted. It was quarantined with the reason.
        case refused = 2
        /// The device declared that it no longer has the record.
        case gone = 3
        /// The number is below the oldest number that the device declared.
        case belowOldest = 4

        /// Orders by precedence.
        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// A range of record numbers with the same mark.
    public struct Range: Hashable, Sendable {
        /// The mark.
        public var mark: Mark
        /// The record numbers of the range.
        public var seqs: ClosedRange<UInt64>

        /// Makes a range.
        public init(_ mark: Mark, _ seqs: ClosedRange<UInt64>) {
            self.mark = mark
            self.seqs = seqs
        }
    }

    private var sets = Array(repeating: SeqSet(), count: Mark.allCases.count)
    /// The highest number up to which every record from 1 on has a mark (stored, erased, quarantined or missing); 0
    /// when record 1 has none.
    public private(set) var handledThrough: UInt64 = 0
    /// The stream's last number, as declared; `nil` before the declaration.
    public private(set) var end: UInt64?

    /// The maximum number of ranges of a stream. Beyond it, a number that would begin another range is rejected.
    public static let maximumRanges = 65_536

    /// Makes a coverage in which all numbers are unknown.
    public init() {}

    /// Restores a coverage from its ``ranges``.
    public init(_ ranges: some Sequence<Range>, end: UInt64? = nil) {
        for range in ranges { self.sets[range.mark.rawValue].insert(range.seqs) }
        self.end = end
        self.advance()
    }

    /// The record numbers that have a given mark.
    public subscript(mark: Mark) -> SeqSet { self.sets[mark.rawValue] }

    /// All ranges of numbers with a mark. Each number is in at most one range.
    public var ranges: [Range] {
        Mark.allCases.flatMap { mark in self[mark].ranges.map { Range(mark, $0) } }
    }

    /// The number of ranges of all marks together.
    var rangeCount: Int { self.sets.reduce(0) { $0 + $1.ranges.count } }

    /// `true` when the stream has reached ``maximumRanges``.
    public var isFull: Bool { self.rangeCount >= Self.maximumRanges }

    /// Returns `true` when a record can be stored.
    ///
    /// In a full stream, only a record next to a stored one is accepted, or one that is alone between two known
    /// numbers. There are no more such numbers than ranges.
    func hasRoom(for seq: UInt64) -> Bool {
        let stored = self[.stored]
        return !self.isFull || stored.contains(seq) || stored.contains(seq &- 1) || stored.contains(seq &+ 1)
            || self.isBetweenKnown(seq...seq) && !self.isKnown(seq)
    }

    /// Returns the parts of a range whose numbers have no mark.
    private func unknown(in seqs: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        self.sets.reduce([seqs]) { free, set in free.flatMap { set.gaps(in: $0) } }
    }

    /// Returns `true` when the number before the range (unless the range begins at 1) and the number after it have a
    /// mark.
    private func isBetweenKnown(_ seqs: ClosedRange<UInt64>) -> Bool {
        (seqs.lowerBound <= 1 || self.isKnown(seqs.lowerBound - 1)) && self.isKnown(seqs.upperBound &+ 1)
    }

    /// Marks a number as stored. Returns `false` when it was stored or erased before.
    public mutating func store(_ seq: UInt64) -> Bool {
        let stored = Mark.stored.rawValue
        guard !self.sets[stored].contains(seq), !self[.erased].contains(seq) else { return false }
        self.sets[stored].insert(seq)
        for index in (stored + 1)..<self.sets.count where !self.sets[index].isEmpty {
            self.sets[index].remove(seq...seq)
        }
        self.advance()
        return true
    }

    /// Returns `true` when `seq` directly follows the highest number with a mark, and that number is stored.
    func isNext(_ seq: UInt64) -> Bool {
        seq > 0 && self[.stored].last == seq - 1 && self.sets.allSatisfy { ($0.last ?? 0) < seq }
    }

    /// Returns a copy of the coverage as it was before these numbers, the highest ones, were stored.
    func before(_ seqs: ClosedRange<UInt64>) -> StreamCoverage {
        var coverage = self
        coverage.sets[Mark.stored.rawValue].remove(seqs)
        coverage.handledThrough = min(self.handledThrough, seqs.lowerBound - 1)
        return coverage
    }

    /// Declares record numbers missing with a mark. Numbers that have a lower mark keep their mark.
    public mutating func declare(_ seqs: ClosedRange<UInt64>, _ mark: Mark) {
        if let only = self.mark(of: seqs), only <= mark { return }
        // Only overlapping ranges are examined: a message may declare thousands of ranges, and a stream may have more.
        var free = [seqs]
        for other in Mark.allCases where other < mark { free = free.flatMap { self[other].gaps(in: $0) } }
        let declared = SeqSet(free)
        self.sets[mark.rawValue].formUnion(declared)
        for other in Mark.allCases where other > mark { self.sets[other.rawValue].subtract(declared) }
        self.advance()
    }

    /// Declares numbers missing. In a full stream, only ranges that fill a gap between known numbers are accepted.
    ///
    /// - Returns: `true` when all numbers of the range are known afterwards.
    public mutating func declareWithinBounds(_ seqs: ClosedRange<UInt64>, _ mark: Mark) -> Bool {
        guard self.isFull else {
            self.declare(seqs, mark)
            return true
        }
        let unknown = self.unknown(in: seqs)
        let filling = unknown.filter(self.isBetweenKnown)
        for gap in filling { self.declare(gap, mark) }
        return filling.count == unknown.count
    }

    /// Applies the declaration of a batch. The greatest of several declared last numbers counts.
    ///
    /// - Returns: `true` when all numbers that it names are known afterwards.
    @discardableResult
    public mutating func declare(_ declaration: StreamDeclaration) -> Bool {
        var isTaken = true
        if declaration.oldest > 1 { self.declare(1...(declaration.oldest - 1), .belowOldest) }
        // Merging overlapping ranges first avoids examining the coverage repeatedly.
        let gone = SeqSet(declaration.gone.sorted { $0.lowerBound < $1.lowerBound })
        for range in gone.ranges where !self.declareWithinBounds(range, .gone) { isTaken = false }
        if let end = declaration.end { self.end = max(end, self.end ?? 0) }
        return isTaken
    }

    /// Returns `true` when a number has a mark.
    public func isKnown(_ seq: UInt64) -> Bool { self.sets.contains { $0.contains(seq) } }

    /// Changes all numbers with a mark to erased.
    public mutating func erase(_ mark: Mark) {
        for range in self[mark].ranges { self.declare(range, .erased) }
    }

    /// Returns the ranges of numbers without a mark below the highest known number or the declared last number, at most
    /// `limit` ranges.
    public func undeclaredGaps(limit: Int = .max) -> [ClosedRange<UInt64>] {
        let highest = max(self.end ?? 0, self.sets.compactMap(\.last).max() ?? 0)
        guard highest > self.handledThrough else { return [] }
        let known = SeqSet(self.ranges.map(\.seqs).sorted { $0.lowerBound < $1.lowerBound })
        return known.gaps(in: (self.handledThrough + 1)...highest, limit: limit)
    }

    /// Returns the mark that all numbers of a range share; `nil` when they share none.
    private func mark(of seqs: ClosedRange<UInt64>) -> Mark? {
        Mark.allCases.first { mark in
            self[mark].end(ofRangeWith: seqs.lowerBound).map { $0 >= seqs.upperBound } ?? false
        }
    }

    private mutating func advance() {
        while let end = self.end(ofRangeWith: self.handledThrough + 1) { self.handledThrough = end }
    }

    private func end(ofRangeWith seq: UInt64) -> UInt64? {
        // The range is nearly always a stored one.
        if let end = self[.stored].end(ofRangeWith: seq) { return end }
        return self.sets.lazy.compactMap { $0.end(ofRangeWith: seq) }.first
    }
}
