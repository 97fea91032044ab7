/// A small pseudorandom number generator, SplitMix64 (Steele, Lea and Flood, 2014). It is a value type: a copy
/// continues with the same numbers.
public struct SplitMix64: RandomNumberGenerator, Hashable, Sendable {
    private var state: UInt64

    /// Creates a pseudorandom number generator from a seed. The same seed always gives the same sequence of numbers.
    public init(seed: UInt64) { self.state = seed }

    /// Returns the next 64 random bits.
    public mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var z = self.state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
