/// The first 128 bits of a digest of a record's content. A record with the same digest is a repetition.
public struct RecordDigest: Hashable, Sendable {
    /// The first and the second eight bytes, most significant byte first.
    let high, low: UInt64

    /// The number of bytes used of a digest.
    public static let size = 16

    /// Makes a digest of the first 16 bytes; returns `nil` when there are fewer.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count >= Self.size else { return nil }
        func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self.high = number(bytes.prefix(8))
        self.low = number(bytes.dropFirst(8).prefix(8))
    }
}

/// The identity of an ingested record, which reached the gateway from another source: its time and a digest of its
/// content. A record with a known mark is a repetition.
///
/// The time comes first in the mark's key, so that records of nearby times are adjacent in the log's index.
public struct RecordMark: Hashable, Sendable {
    /// The time of the record.
    public var time: UnixTime
    /// The digest of its content.
    public var digest: RecordDigest

    /// The minimum time for which a log remembers a mark, unless there are more than ``maximumCount`` for its
    /// trackable.
    public static let maximumAge = Duration.seconds(90 * 86_400)
    /// The minimum number of marks that a log remembers for one trackable, unless they are older than ``maximumAge``.
    public static let maximumCount = 1_000_000
    /// The number of marks above ``maximumCount`` at which the oldest marks are removed, all together.
    public static let slack = 10_000

    /// Makes a mark.
    public init(time: UnixTime, digest: RecordDigest) {
        self.time = time
        self.digest = digest
    }

    /// The mark as 24 bytes, time first. Keys order by time for all times since 1970.
    package var key: [UInt8] { Self.bytes(self.time.seconds.bitPattern, self.digest.high, self.digest.low) }

    /// Returns the lowest and the highest ``key`` that a mark with this time can have.
    package static func keys(at time: UnixTime) -> (lowest: [UInt8], highest: [UInt8]) {
        (Self.bytes(time.seconds.bitPattern, 0, 0), Self.bytes(time.seconds.bitPattern, .max, .max))
    }

    private static func bytes(_ numbers: UInt64...) -> [UInt8] {
        numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) } }
    }
}
