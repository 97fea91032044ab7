import Testing

@testable import TrackingCore

/// The dictionary that stores a single entry without an object on the heap.
@Suite struct SmallDictionaryTests {
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func itHasTheEntriesOfADictionary(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var small = SmallDictionary<Int, Int>()
        var expected: [Int: Int] = [:]
        for step in 0..<1_000 {
            let key = Int.random(in: 0..<3, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: (small[key], expected[key]) = (step, step)
            case 1: (small[key], expected[key]) = (nil, nil)
            case 2:
                small.change(key) { if $0 == nil { $0 = step } else { $0? += 1 } }
                expected[key] = expected[key].map { $0 + 1 } ?? step
            default:
                small.change(key) { $0? += 1 }
                expected[key]? += 1
            }
            #expect(small.count == expected.count && small.isEmpty == expected.isEmpty)
            #expect(small[key] == expected[key])
            #expect(Dictionary(uniqueKeysWithValues: small.entries.map { ($0.key, $0.value) }) == expected)
        }
    }

    @Test func aCopyKeepsItsEntries() {
        var small = SmallDictionary<String, Int>()
        (small["a"], small["b"]) = (1, 2)
        let copy = small
        small["a"] = 3
        small["b"] = nil
        #expect(copy["a"] == 1 && copy["b"] == 2 && copy.count == 2)
        #expect(small["a"] == 3 && small.count == 1)
    }
}
