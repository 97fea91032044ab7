/// The first 128 bits of a digest of a record's content, by which it is known again when it comes once more.
public struct RecordDigest: Hashable, Sendable {
    /// Its first and its last eight bytes, the first byte the highest.
    let high, low: UInt64

    /// How many bytes of a digest are looked at.
    public static let size = 16

    /// Takes the first 16 bytes of a digest; `nil` when it has fewer.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count >= Self.size else { return nil }
        func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self.high = number(bytes.prefix(8))
        self.low = number(bytes.dropFirst(8).prefix(8))
    }
}

/// What a record from outside is known by: what it says, and when it was so.
///
/// The time comes first, so that records of one time lie together in the log, wherever their digests fall.
public struct RecordMark: Hashable, Sendable {
    /// The time of the record.
    public var time: UnixTime
    /// The digest of its content.
    public var digest: RecordDigest

    /// How long a log knows a record at least, while it has no more than ``maximumCount`` of its trackable.
    public static let maximumAge = Duration.seconds(90 * 86_400)
    /// How many records of one trackable a log knows at least, while they are no older than ``maximumAge``.
    public static let maximumCount = 1_000_000
    /// How many more than that are let go together.
    public static let slack = 10_000

    /// Makes a mark.
    public init(time: UnixTime, digest: RecordDigest) {
        self.time = time
        self.digest = digest
    }

    /// 24 bytes: the time, in an order that is that of the times for all times since 1970, then the digest.
    package var key: [UInt8] { Self.bytes(self.time.seconds.bitPattern, self.digest.high, self.digest.low) }

    /// The lowest and the highest ``key`` of that time.
    package static func keys(at time: UnixTime) -> (lowest: [UInt8], highest: [UInt8]) {
        (Self.bytes(time.seconds.bitPattern, 0, 0), Self.bytes(time.seconds.bitPattern, .max, .max))
    }

    private static func bytes(_ numbers: UInt64...) -> [UInt8] {
        numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) } }
    }
}
