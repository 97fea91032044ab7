/// The states of the record numbers of one stream, which is one life of a device's log for one trackable.
///
/// A number is stored, erased, quarantined, declared missing, or unknown. A ``Mark`` names the known state of a number.
/// If messages give one number two marks, the mark with the lower raw value counts. Therefore the order and the
/// repetition of messages do not matter.
public struct StreamCoverage: Hashable, Sendable {
    /// The known state of a record number, ordered by precedence. If a number could have two marks, the one with the
    /// lower raw value counts. For example, a record that arrives after it was declared gone is stored.
    public enum Mark: Int, Hashable, Sendable, CaseIterable, Comparable {
        /// The record was erased from the history for good, or its time lies in a period that was erased. A copy that
        /// arrives again is not accepted.
        case erased = 0
        /// The record with this number is stored in the history.
        case stored = 1
        /// The record was received, but the history could not accept it. The record was quarantined: set aside with the
        /// reason.
        case refused = 2
        /// The device declared that it no longer has the record with this number.
        case gone = 3
        /// The device declared a lowest number that its log still has, and this record number is below it. The record
        /// is missing, as with ``gone``.
        case belowOldest = 4

        /// Returns `true` when `left` takes precedence over `right`, because its raw value is lower. A record number
        /// that could have both marks gets `left`.
        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// A range of consecutive record numbers that all have the same mark.
    public struct Range: Hashable, Sendable {
        /// The known state that all record numbers of the range have, such as stored or quarantined.
        public var mark: Mark
        /// The first and the last record number of the range, with all numbers between them.
        public var seqs: ClosedRange<UInt64>

        /// Makes a range of record numbers with the given mark.
        public init(_ mark: Mark, _ seqs: ClosedRange<UInt64>) {
            self.mark = mark
            self.seqs = seqs
        }
    }

    private var sets = Array(repeating: SeqSet(), count: Mark.allCases.count)
    /// The last number of the unbroken sequence of known record numbers that begins with 1. Every record up to this
    /// number is stored, erased, quarantined or missing. The value is 0 while number 1 is unknown.
    public private(set) var handledThrough: UInt64 = 0
    /// The last record number of the stream, as the device declared it when the stream ended; `nil` before that
    /// declaration.
    public private(set) var end: UInt64?

    /// The number of ranges at which a coverage counts as full: 65,536. A range consists of consecutive record numbers
    /// with the same mark. A full coverage rejects numbers with a gap before them, unless they extend a stored range or
    /// close a gap.
    public static let maximumRanges = 65_536

    /// Makes a coverage, the states of a stream's record numbers. All numbers are unknown.
    public init() {}

    /// Restores a saved coverage, the states of a stream's record numbers, from its ``ranges`` and from the last number
    /// of the stream.
    public init(_ ranges: some Sequence<Range>, end: UInt64? = nil) {
        for range in ranges { self.sets[range.mark.rawValue].insert(range.seqs) }
        self.end = end
        self.advance()
    }

    /// The set of all record numbers of the stream that have the given known state.
    public subscript(mark: Mark) -> SeqSet { self.sets[mark.rawValue] }

    /// All ranges of record numbers whose state is known, each with that state. Each number is in at most one range.
    public var ranges: [Range] {
        Mark.allCases.flatMap { mark in self[mark].ranges.map { Range(mark, $0) } }
    }

    /// The number of ranges of known record numbers, summed over all marks.
    var rangeCount: Int { self.sets.reduce(0) { $0 + $1.ranges.count } }

    /// `true` when the record numbers with a known state form ``maximumRanges`` ranges or more. Then only few further
    /// numbers are accepted.
    public var isFull: Bool { self.rangeCount >= Self.maximumRanges }

    /// Returns `true` when the record with this number may be stored.
    ///
    /// With fewer than ``maximumRanges`` ranges of known numbers, every number is accepted. Otherwise, a number is
    /// accepted if it is stored already or adjacent to a stored one. A single unknown number between two known numbers
    /// is accepted too, and so is the number directly after ``handledThrough``: without it, no acknowledgement of the
    /// stream could ever advance.
    func hasRoom(for seq: UInt64) -> Bool {
        let stored = self[.stored]
        return !self.isFull || stored.contains(seq) || stored.contains(seq &- 1) || stored.contains(seq &+ 1)
            || self.leavesNoGap(seq...seq) && !self.isKnown(seq)
    }

    /// Returns those parts of a range of record numbers whose state is unknown: the numbers without any mark.
    private func unknown(in seqs: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        self.sets.reduce([seqs]) { free, set in free.flatMap { set.gaps(in: $0) } }
    }

    /// Returns `true` when the range of unknown numbers begins directly after ``handledThrough``, or when the record
    /// numbers directly before and directly after it are known.
    private func leavesNoGap(_ seqs: ClosedRange<UInt64>) -> Bool {
        seqs.lowerBound == self.handledThrough &+ 1
            || self.isKnown(seqs.lowerBound &- 1) && self.isKnown(seqs.upperBound &+ 1)
    }

    /// Marks a record number as stored. Returns `false` when the number was already marked as stored or erased.
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

    /// Returns `true` when `seq` is one above the highest known record number, and the record with that highest number
    /// is stored.
    func isNext(_ seq: UInt64) -> Bool {
        seq > 0 && self[.stored].last == seq - 1 && self.sets.allSatisfy { ($0.last ?? 0) < seq }
    }

    /// Returns the coverage as it was before the given record numbers were stored. The given numbers must be the
    /// highest known numbers of the stream.
    func before(_ seqs: ClosedRange<UInt64>) -> StreamCoverage {
        var coverage = self
        coverage.sets[Mark.stored.rawValue].remove(seqs)
        coverage.handledThrough = min(self.handledThrough, seqs.lowerBound - 1)
        return coverage
    }

    /// Sets the state of all record numbers of a range to the given mark. A number that already has a mark with
    /// precedence (a lower raw value) keeps that mark.
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

    /// Gives the record numbers of a range the given mark, a state such as stored or gone. A coverage that already has
    /// ``maximumRanges`` ranges or more accepts only parts of the range that close a gap between known numbers, or that
    /// directly follow ``handledThrough``.
    ///
    /// - Returns: `true` when all numbers of the range are known afterwards.
    public mutating func declareWithinBounds(_ seqs: ClosedRange<UInt64>, _ mark: Mark) -> Bool {
        guard self.isFull else {
            self.declare(seqs, mark)
            return true
        }
        let unknown = self.unknown(in: seqs)
        let filling = unknown.filter(self.leavesNoGap)
        for gap in filling { self.declare(gap, mark) }
        return filling.count == unknown.count
    }

    /// Applies a device's declaration about its stream: the oldest number, the missing numbers and the last number. If
    /// declarations name several last numbers, the greatest one counts.
    ///
    /// - Returns: `true` when all declared missing numbers are known afterwards. `false` when some were rejected,
    ///   because there are too many ranges of known numbers.
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

    /// Returns `true` when the state of the record number `seq` is known: stored, erased, quarantined or declared
    /// missing.
    public func isKnown(_ seq: UInt64) -> Bool { self.sets.contains { $0.contains(seq) } }

    /// Changes the state of all record numbers that have the given mark to erased, for example of all stored ones.
    public mutating func erase(_ mark: Mark) {
        for range in self[mark].ranges { self.declare(range, .erased) }
    }

    /// Returns the ranges of unknown record numbers below the highest known number, and up to the stream's declared
    /// last number. Returns at most `limit` ranges, the lowest first.
    public func undeclaredGaps(limit: Int = .max) -> [ClosedRange<UInt64>] {
        let highest = max(self.end ?? 0, self.sets.compactMap(\.last).max() ?? 0)
        guard highest > self.handledThrough else { return [] }
        let known = SeqSet(self.ranges.map(\.seqs).sorted { $0.lowerBound < $1.lowerBound })
        return known.gaps(in: (self.handledThrough + 1)...highest, limit: limit)
    }

    /// Returns the mark (the state, such as stored or gone) that all record numbers of the range have; `nil` when their
    /// marks differ or a number has none.
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
