import Testing
import TrackingCore

struct SeqSetTests {
    @Test func touchingRangesBecomeOne() {
        var set = SeqSet([1...3, 7...9])
        set.insert(4...6)
        #expect(set.ranges == [1...9] && set.count == 9)
    }

    @Test func aRangeInTheMiddleLeavesTwo() {
        var set = SeqSet([1...10])
        set.remove(4...6)
        #expect(set.ranges == [1...3, 7...10] && set.count == 7)
        #expect(set.gaps(in: 1...12) == [4...6, 11...12])
        #expect(set.gaps(in: 1...12, limit: 1) == [4...6])
        #expect(set.prefix(4).ranges == [1...3, 7...7])
    }

    @Test(arguments: UInt64(1)...40) func itAgreesWithAPlainSet(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var set = SeqSet()
        var plain: Set<UInt64> = []
        for _ in 0..<300 {
            let low = UInt64.random(in: 0...120, using: &random)
            let range = low...(low + UInt64.random(in: 0...15, using: &random))
            if Bool.random(using: &random) {
                set.insert(range)
                plain.formUnion(range)
            } else {
                set.remove(range)
                plain.subtract(range)
            }
            #expect(set.count == plain.count && set.first == plain.min() && set.last == plain.max())
        }
        #expect(set.ranges.flatMap { Array($0) } == plain.sorted())
        for seq in UInt64(0)...140 { #expect(set.contains(seq) == plain.contains(seq)) }
        let gaps = set.gaps(in: 0...140).flatMap { Array($0) }
        #expect(gaps == (UInt64(0)...140).filter { !plain.contains($0) })
        let half = SeqSet([20...60])
        #expect(set.intersection(half).ranges.flatMap { Array($0) } == plain.filter { (20...60).contains($0) }.sorted())
    }
}
