import Testing

@testable import TrackingCore

@Suite struct SeqRangesTests {
    @Test func numbersInARowAreOneRange() {
        var seen = SeqRanges()
        for seq in UInt64(1)...1_000 { #expect(seen.insert(seq) == true) }
        #expect(seen.ranges == [1...1_000])
        #expect(seen.insert(500) == false)
    }

    @Test func aGapThatFillsJoinsItsNeighbours() {
        var seen = SeqRanges()
        for seq in [1, 2, 4, 5] as [UInt64] { #expect(seen.insert(seq) == true) }
        #expect(seen.ranges == [1...2, 4...5])
        #expect(!seen.contains(3))
        #expect(seen.insert(3) == true)
        #expect(seen.ranges == [1...5])
    }

    @Test func theEndsOfTheNumbersDoNotOverflow() {
        var seen = SeqRanges()
        for seq in [.max, 0, .max - 1, 1] as [UInt64] { #expect(seen.insert(seq) == true) }
        for seq in [.max, 0] as [UInt64] { #expect(seen.insert(seq) == false) }
        #expect(seen.ranges == [0...1, (.max - 1)...(.max)])
    }

    @Test func beyondTheBoundTheLowestGapCountsAsSeen() {
        var seen = SeqRanges(maximumRanges: 3)
        for seq in [10, 20, 30, 40] as [UInt64] { #expect(seen.insert(seq) == true) }
        #expect(seen.ranges == [10...20, 30...30, 40...40])
        #expect(seen.insert(15) == false)
        #expect(seen.insert(35) == true)
        #expect(SeqRanges(maximumRanges: -1).maximumRanges == 1)
    }

    @Test(arguments: UInt64(1)...8) func itAgreesWithASet(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var seen = SeqRanges(maximumRanges: 1_000)
        var model: Set<UInt64> = []
        for _ in 0..<2_000 {
            let seq = UInt64.random(in: 0..<600, using: &generator)
            #expect(seen.contains(seq) == model.contains(seq))
            #expect(seen.insert(seq) == model.insert(seq).inserted)
        }
        #expect(seen.ranges.flatMap { Array($0) } == model.sorted())
        // Touching ranges would have been joined.
        #expect(zip(seen.ranges, seen.ranges.dropFirst()).allSatisfy { $0.upperBound + 1 < $1.lowerBound })
    }

    @Test(arguments: UInt64(1)...4) func boundedRangesNeverReportASeenNumberAsNew(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var seen = SeqRanges(maximumRanges: 5)
        var model: Set<UInt64> = []
        for _ in 0..<2_000 {
            let seq = UInt64.random(in: 0..<2_000, using: &generator)
            if seen.insert(seq) { #expect(!model.contains(seq)) }
            model.insert(seq)
            #expect(seen.contains(seq))
            #expect(seen.ranges.count <= 5)
        }
    }
}
