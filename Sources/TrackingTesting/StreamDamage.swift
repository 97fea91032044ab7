/// A loss of bytes within a stream, as a faulty proxy or a damaged cable causes it.
public struct StreamDamage: Hashable, Sendable {
    /// The number of bytes that pass before the loss.
    public let offset: Int
    /// The number of lost bytes.
    public let count: Int
    private var passed = 0
    private var lost = 0

    /// Makes a damage that was not applied yet.
    ///
    /// - Parameters:
    ///   - offset: The number of bytes that pass before the loss, from 0.
    ///   - count: The number of lost bytes, from 1.
    public init(offset: Int, count: Int) {
        precondition(offset >= 0 && count >= 1, "a damage begins at 0 or later and loses 1 byte or more")
        self.offset = offset
        self.count = count
    }

    /// `true` after bytes were lost.
    public var hasBegun: Bool { self.lost > 0 }

    /// Returns the bytes of the next portion of the stream that are not lost.
    public mutating func apply(to bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let before = min(bytes.count, max(0, self.offset - self.passed))
        let losing = min(bytes.count - before, self.count - self.lost)
        self.passed += bytes.count
        guard losing > 0 else { return bytes }
        self.lost += losing
        return bytes.prefix(before) + bytes.dropFirst(before + losing)
    }
}
