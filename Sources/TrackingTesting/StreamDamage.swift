/// A simulated damage of a byte stream: some consecutive bytes are lost, as through a faulty proxy.
public struct StreamDamage: Hashable, Sendable {
    /// The number of bytes at the beginning of the stream that pass before bytes are lost.
    public let offset: Int
    /// The number of consecutive bytes of the stream that are lost, after the first ``offset`` bytes.
    public let count: Int
    private var passed = 0
    private var lost = 0

    /// Makes a damage of a stream of which no bytes have passed yet.
    ///
    /// - Parameters:
    ///   - offset: The number of bytes that pass before bytes are lost, from 0.
    ///   - count: The number of consecutive bytes that are lost, from 1.
    public init(offset: Int, count: Int) {
        precondition(offset >= 0 && count >= 1, "a damage begins at 0 or later and loses 1 byte or more")
        self.offset = offset
        self.count = count
    }

    /// `true` once at least one byte of the stream was lost.
    public var hasBegun: Bool { self.lost > 0 }

    /// Applies the damage to the next bytes of the stream. Returns these bytes without the lost ones.
    public mutating func apply(to bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let before = min(bytes.count, max(0, self.offset - self.passed))
        let losing = min(bytes.count - before, self.count - self.lost)
        self.passed += bytes.count
        guard losing > 0 else { return bytes }
        self.lost += losing
        return bytes.prefix(before) + bytes.dropFirst(before + losing)
    }
}
