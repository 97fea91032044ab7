import Testing
import TrackingCore

/// A boxed value has value semantics.
@Suite struct BoxedTests {
    private struct Holder {
        @Boxed var numbers = [1, 2]
    }

    @Test func aCopyDoesNotChangeWithTheOriginal() {
        var original = Holder()
        let copy = original
        original.numbers.append(3)
        #expect(copy.numbers == [1, 2])
        #expect(original.numbers == [1, 2, 3])
    }

    @Test func theOriginalDoesNotChangeWithACopy() {
        let original = Holder()
        var copy = original
        copy.numbers[0] = 7
        #expect(original.numbers == [1, 2])
        #expect(copy.numbers == [7, 2])
    }

    @Test func aBoxedValueCanBeChangedInADictionary() {
        var holders = ["one": Holder(), "other": Holder()]
        holders["one"]?.numbers.removeAll()
        #expect(holders["one"]?.numbers == [])
        #expect(holders["other"]?.numbers == [1, 2])
    }
}
