/// What is known of every number of a stream: stored, declared missing, or not known.
///
/// The order in which it is told does not matter, nor how often: of two things said of one number, the one with the lower
/// ``Mark`` counts.
public struct StreamCoverage: Hashable, Sendable {
    /// What is known of a number. The lower one counts: a record that comes after it was declared gone is kept.
    public enum Mark: Int, Hashable, Sendable, CaseIterable, Comparable {
        /// It was erased for good, or is of a time that was: it is not taken again.
        case erased = 0
        /// The record is stored.
        case stored = 1
        /// It came, and cannot be accepted: it was set aside with the reason.
        case refused = 2
        /// The device declared that it no longer has it.
        case gone = 3
        /// It is below the oldest that the device had.
        case belowOldest = 4

        /// Orders by what counts.
        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Numbers of which the same is known.
    public struct Range: Hashable, Sendable {
        /// What is known.
        public var mark: Mark
        /// Of which numbers.
        public var seqs: ClosedRange<UInt64>

        /// Makes a range.
        public init(_ mark: Mark, _ seqs: ClosedRange<UInt64>) {
            self.mark = mark
            self.seqs = seqs
        }
    }

    private var sets = Array(repeating: SeqSet(), count: Mark.allCases.count)
    /// Every record up to and including this number, from 1 on, is stored or declared missing; 0 while that is not so of 1.
    public private(set) var handledThrough: UInt64 = 0
    /// The stream's last number, once that was declared.
    public private(set) var end: UInt64?

    /// So many ranges a stream may have before a number that would begin another is not taken.
    public static let maximumRanges = 65_536

    /// Nothing is known.
    public init() {}

    /// What was known, as ``ranges`` gave it.
    public init(_ ranges: some Sequence<Range>, end: UInt64? = nil) {
        for range in ranges { self.sets[range.mark.rawValue].insert(range.seqs) }
        self.end = end
        self.advance()
    }

    /// The numbers with one mark.
    public subscript(mark: Mark) -> SeqSet { self.sets[mark.rawValue] }

    /// Everything that is known, each number once.
    public var ranges: [Range] {
        Mark.allCases.flatMap { mark in self[mark].ranges.map { Range(mark, $0) } }
    }

    /// How many ranges there are.
    var rangeCount: Int { self.sets.reduce(0) { $0 + $1.ranges.count } }

    /// Whether the stream has as many ranges as it may.
    public var isFull: Bool { self.rangeCount >= Self.maximumRanges }

    /// Whether a record can be stored of which it is not known that it is: where the stream has as many ranges as it may, one next
    /// to a stored one, or the only one between what is known. There are no more such than ranges.
    func hasRoom(for seq: UInt64) -> Bool {
        let stored = self[.stored]
        return !self.isFull || stored.contains(seq) || stored.contains(seq &- 1) || stored.contains(seq &+ 1)
            || self.isBetweenKnown(seq...seq) && !self.isKnown(seq)
    }

    /// The numbers of which nothing is known.
    private func unknown(in seqs: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        self.sets.reduce([seqs]) { free, set in free.flatMap { set.gaps(in: $0) } }
    }

    /// Whether the numbers just before and just after are known, or there are none before.
    private func isBetweenKnown(_ seqs: ClosedRange<UInt64>) -> Bool {
        (seqs.lowerBound <= 1 || self.isKnown(seqs.lowerBound - 1)) && self.isKnown(seqs.upperBound &+ 1)
    }

    /// A record came; `false` when it is stored already, or was erased.
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

    /// Whether `seq` is the one after the highest number of which anything is known, and that one is stored.
    func isNext(_ seq: UInt64) -> Bool {
        seq > 0 && self[.stored].last == seq - 1 && self.sets.allSatisfy { ($0.last ?? 0) < seq }
    }

    /// What was known before the highest numbers were stored.
    func before(_ seqs: ClosedRange<UInt64>) -> StreamCoverage {
        var coverage = self
        coverage.sets[Mark.stored.rawValue].remove(seqs)
        coverage.handledThrough = min(self.handledThrough, seqs.lowerBound - 1)
        return coverage
    }

    /// Numbers were declared missing; what counts more stays.
    public mutating func declare(_ seqs: ClosedRange<UInt64>, _ mark: Mark) {
        if let only = self.mark(of: seqs), only <= mark { return }
        // Only what overlaps is looked at: a message may declare thousands of ranges, and a stream have more.
        var free = [seqs]
        for other in Mark.allCases where other < mark { free = free.flatMap { self[other].gaps(in: $0) } }
        let declared = SeqSet(free)
        self.sets[mark.rawValue].formUnion(declared)
        for other in Mark.allCases where other > mark { self.sets[other.rawValue].subtract(declared) }
        self.advance()
    }

    /// Numbers were declared missing; where the stream has as many ranges as it may, what fills a gap between known ones is taken.
    ///
    /// - Returns: Whether something is known of all of them now.
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

    /// A batch told of its stream. Of several last numbers the greatest counts.
    ///
    /// - Returns: Whether something is known now of all that it named.
    @discardableResult
    public mutating func declare(_ declaration: StreamDeclaration) -> Bool {
        var isTaken = true
        if declaration.oldest > 1 { self.declare(1...(declaration.oldest - 1), .belowOldest) }
        // Those that overlap are one: what is known is looked at once.
        let gone = SeqSet(declaration.gone.sorted { $0.lowerBound < $1.lowerBound })
        for range in gone.ranges where !self.declareWithinBounds(range, .gone) { isTaken = false }
        if let end = declaration.end { self.end = max(end, self.end ?? 0) }
        return isTaken
    }

    /// Whether anything is known of a number.
    public func isKnown(_ seq: UInt64) -> Bool { self.sets.contains { $0.contains(seq) } }

    /// What has a mark was erased.
    public mutating func erase(_ mark: Mark) {
        for range in self[mark].ranges { self.declare(range, .erased) }
    }

    /// The numbers below the highest known, or up to the declared end, of which nothing is known; at most `limit` ranges.
    public func undeclaredGaps(limit: Int = .max) -> [ClosedRange<UInt64>] {
        let highest = max(self.end ?? 0, self.sets.compactMap(\.last).max() ?? 0)
        guard highest > self.handledThrough else { return [] }
        let known = SeqSet(self.ranges.map(\.seqs).sorted { $0.lowerBound < $1.lowerBound })
        return known.gaps(in: (self.handledThrough + 1)...highest, limit: limit)
    }

    /// The mark that all of `seqs` have in common.
    private func mark(of seqs: ClosedRange<UInt64>) -> Mark? {
        Mark.allCases.first { mark in
            self[mark].end(ofRangeWith: seqs.lowerBound).map { $0 >= seqs.upperBound } ?? false
        }
    }

    private mutating func advance() {
        while let end = self.end(ofRangeWith: self.handledThrough + 1) { self.handledThrough = end }
    }

    private func end(ofRangeWith seq: UInt64) -> UInt64? {
        // Nearly always it is a stored one.
        if let end = self[.stored].end(ofRangeWith: seq) { return end }
        return self.sets.lazy.compactMap { $0.end(ofRangeWith: seq) }.first
    }
}
