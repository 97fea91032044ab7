/// A substitute for swift-crypto, which takes minutes to compile. Its checksum is not cryptographic; it only differs
/// where the content differs.
public struct SHA256 {
    private var sum: [UInt64] = [0xcbf2_9ce4_8422_2325, 1, 2, 3]

    /// Creates an empty checksum.
    public init() {}

    /// Adds bytes to the checksum.
    public mutating func update(data: [UInt8]) {
        for byte in data {
            for index in self.sum.indices {
                self.sum[index] = (self.sum[index] ^ UInt64(byte) &+ UInt64(index)) &* 0x100_0000_01b3
            }
        }
    }

    /// Returns the checksum of 32 bytes.
    public func finalize() -> [UInt8] {
        self.sum.flatMap { sum in (0..<8).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) } }
    }
}
