/// Stands in for swift-crypto, which takes minutes to compile: a sum that differs where the content does, and no more.
public struct SHA256 {
    private var sum: [UInt64] = [0xcbf2_9ce4_8422_2325, 1, 2, 3]

    /// Begins a sum.
    public init() {}

    /// Adds bytes to it.
    public mutating func update(data: [UInt8]) {
        for byte in data {
            for index in self.sum.indices {
                self.sum[index] = (self.sum[index] ^ UInt64(byte) &+ UInt64(index)) &* 0x100_0000_01b3
            }
        }
    }

    /// Its 32 bytes.
    public func finalize() -> [UInt8] {
        self.sum.flatMap { sum in (0..<8).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) } }
    }
}
