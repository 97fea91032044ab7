import Testing
import TrackingTesting

/// The damage removes the same bytes for any division of the stream into portions.
@Suite struct StreamDamageTests {
    @Test(arguments: 1...12) func theBytesAtItsPlaceAreLostOnce(portion: Int) {
        let stream: [UInt8] = Array(0..<20)
        var damage = StreamDamage(offset: 5, count: 7)
        var passed: [UInt8] = []
        for start in stride(from: 0, to: stream.count, by: portion) {
            passed += damage.apply(to: stream[start..<min(start + portion, stream.count)])
        }
        #expect(passed == Array(0..<5) + Array(12..<20))
        #expect(damage.hasBegun)
    }
}
