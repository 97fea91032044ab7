import Testing

@testable import TrackingCore

struct StreamCoverageTests {
    @Test func numbersAreHandledFromOne() {
        var coverage = StreamCoverage()
        store(3, 2, in: &coverage)
        #expect(coverage.handledThrough == 0)
        #expect(coverage.undeclaredGaps() == [1...1])
        store(1, in: &coverage)
        #expect(coverage.handledThrough == 3)
        let isNew = coverage.store(2)
        #expect(!isNew)
    }

    @Test func aDeclaredBeginningLetsALateRecorderBegin() {
        var coverage = StreamCoverage()
        _ = coverage.store(4711)
        coverage.declare(StreamDeclaration(stream: stream, oldest: 4650, gone: [4650...4710], end: 4712))
        #expect(coverage.handledThrough == 4711)
        #expect(coverage[.belowOldest].ranges == [1...4649])
        #expect(coverage.undeclaredGaps() == [4712...4712])
        #expect(coverage.end == 4712)
    }

    @Test func aLateRecordThatWasDeclaredGoneIsStored() {
        var coverage = StreamCoverage()
        coverage.declare(StreamDeclaration(stream: stream, oldest: 10, gone: [12...14]))
        store(5, 13, in: &coverage)
        #expect(coverage[.stored].ranges == [5...5, 13...13])
        #expect(coverage[.gone].ranges == [12...12, 14...14])
        #expect(coverage[.belowOldest].ranges == [1...4, 6...9])
    }

    @Test func erasedNumbersStayErased() {
        var coverage = StreamCoverage()
        for seq in UInt64(1)...5 { _ = coverage.store(seq) }
        coverage.erase(.stored)
        let isNew = coverage.store(3)
        #expect(!isNew)
        #expect(coverage[.stored].isEmpty && coverage[.erased].ranges == [1...5])
        #expect(coverage.handledThrough == 5)
    }

    /// A device declares its lost records. The acknowledgement advances, and the number of ranges remains bounded.
    @Test func aFullStreamAcceptsRecordsThatFillItsGaps() {
        let most = UInt64(StreamCoverage.maximumRanges)
        var coverage = StreamCoverage((1...most).map { .init(.stored, ($0 * 2)...($0 * 2)) })
        #expect(coverage.isFull && coverage.handledThrough == 0)
        let first = coverage.declare(StreamDeclaration(stream: stream, gone: [1...1, 3...7, 11...11, 5...5]))
        #expect(first && coverage.handledThrough == 8)
        let beyond = coverage.declare(
            StreamDeclaration(stream: stream, gone: [9...9, (2 * most + 10)...(2 * most + 20)]))
        #expect(!beyond && coverage.handledThrough == 12)
        // Known numbers have no gaps, whatever their marks.
        let whole = coverage.declareWithinBounds(1...(2 * most), .belowOldest)
        #expect(whole && coverage.handledThrough == 2 * most)
        let apart = coverage.declareWithinBounds(15...15, .gone)
        #expect(apart && !coverage[.gone].contains(15))
        let isPartTaken = coverage.declareWithinBounds((2 * most + 2)...(2 * most + 3), .gone)
        #expect(!isPartTaken && coverage.ranges.count <= 2 * StreamCoverage.maximumRanges)
    }

    /// Each number directly follows the handled ones, so that the device is never stuck with a record.
    @Test func aFullStreamWithoutGapsAcceptsTheNextRecord() {
        let most = UInt64(StreamCoverage.maximumRanges)
        var coverage = StreamCoverage((1...most).map { .init($0 % 2 == 0 ? .refused : .stored, $0...$0) })
        #expect(coverage.isFull && coverage.handledThrough == most)
        #expect(coverage.hasRoom(for: most + 1) && !coverage.hasRoom(for: most + 2))
        let isRefusedKnown = coverage.declareWithinBounds((most + 1)...(most + 1), .refused)
        #expect(isRefusedKnown && coverage.handledThrough == most + 1)
        let areGoneKnown = coverage.declareWithinBounds((most + 2)...(most + 9), .gone)
        #expect(areGoneKnown && coverage.handledThrough == most + 9)
        let isIsolatedKnown = coverage.declareWithinBounds((most + 11)...(most + 11), .erased)
        #expect(!isIsolatedKnown && coverage.hasRoom(for: most + 10))
        let isNew = coverage.store(most + 10)
        #expect(isNew && coverage.handledThrough == most + 10)
    }

    @Test func theGreatestEndCounts() {
        var coverage = StreamCoverage()
        coverage.declare(StreamDeclaration(stream: stream, end: 9))
        coverage.declare(StreamDeclaration(stream: stream, end: 7))
        #expect(coverage.end == 9)
    }

    /// The lowest mark of each number counts, whatever the order and the repetition of messages.
    @Test(arguments: UInt64(1)...60) func theOrderDoesNotMatter(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var facts: [(seqs: ClosedRange<UInt64>, mark: StreamCoverage.Mark)] = []
        for _ in 0..<60 {
            let low = UInt64.random(in: 1...80, using: &random)
            let mark = StreamCoverage.Mark.allCases.randomElement(using: &random) ?? .gone
            facts.append((low...(mark == .stored ? low : low + UInt64.random(in: 0...9, using: &random)), mark))
        }
        var plain: [UInt64: StreamCoverage.Mark] = [:]
        for fact in facts {
            for seq in fact.seqs { plain[seq] = min(plain[seq] ?? fact.mark, fact.mark) }
        }
        for _ in 0..<5 {
            facts.shuffle(using: &random)
            var coverage = StreamCoverage()
            for fact in facts + facts.prefix(20) {
                if fact.mark == .stored {
                    _ = coverage.store(fact.seqs.lowerBound)
                } else {
                    coverage.declare(fact.seqs, fact.mark)
                }
            }
            for mark in StreamCoverage.Mark.allCases {
                let expected = SeqSet(plain.filter { $0.value == mark }.keys.map { $0...$0 })
                #expect(coverage[mark] == expected, "\(mark), seed \(seed)")
            }
            let through = (UInt64(1)...100).first { plain[$0] == nil }.map { $0 - 1 }
            #expect(coverage.handledThrough == through)
            #expect(StreamCoverage(coverage.ranges) == coverage)
        }
    }

    /// The written rows are those that the coverage has afterwards.
    @Test(arguments: UInt64(1)...30) func theDifferenceLeadsFromOneToTheOther(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var rows: [UInt64: StreamCoverage.Range] = [:]
        var ledger = RecordingLedger()
        ledger.fill(van, sample(number: 1, streams: [stream: 1]))
        for _ in 0..<30 {
            var recording = Recording(of: van, at: now)
            recording.points = (0..<3).map { _ in point(UInt64.random(in: 1...60, using: &random)) }
            let low = UInt64.random(in: 1...60, using: &random)
            recording.declaration = StreamDeclaration(
                stream: stream, oldest: UInt64.random(in: 1...5, using: &random), gone: [low...(low + 4)])
            var batch = RecordingBatch()
            batch.recordings = [recording]
            let difference = ledger.apply(batch, leavingTails: false).coverage[1]?.difference
            for first in difference?.removed ?? [] {
                let row = rows.removeValue(forKey: first)
                #expect(row != nil)
            }
            for range in difference?.written ?? [] { rows[range.seqs.lowerBound] = range }
            let ranges = ledger[van]?.streams[stream]?.coverage.ranges ?? []
            #expect(Set(rows.values) == Set(ranges), "seed \(seed)")
        }
    }
}

private func store(_ seqs: UInt64..., in coverage: inout StreamCoverage) {
    for seq in seqs {
        let isNew = coverage.store(seq)
        #expect(isNew)
    }
}
