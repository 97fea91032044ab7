/// The first 128 bits of a digest (hash) of a record's content. Together with the record's time, it identifies a record
/// of a trackable that is sent again; see ``RecordMark``.
public struct RecordDigest: Hashable, Sendable {
    /// The first eight bytes of the digest (`high`) and its next eight bytes (`low`), as big-endian numbers.
    let high, low: UInt64

    /// The number of bytes of a hash that make up a record digest: 16.
    public static let size = 16

    /// Makes a record digest from the first 16 bytes of a hash; returns `nil` when the hash has fewer bytes.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count >= Self.size else { return nil }
        func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self.high = number(bytes.prefix(8))
        self.low = number(bytes.dropFirst(8).prefix(8))
    }
}

/// The identity of a record that came from another source, such as a phone: its time and a digest of its content. If
/// the log has the mark of a record already, the record was received before.
///
/// The key of a mark begins with the time. Records of nearby times are therefore adjacent in the log's index.
public struct RecordMark: Hashable, Sendable {
    /// The time of the record that the mark identifies.
    public var time: UnixTime
    /// The digest (hash) of the content of the record that the mark identifies.
    public var digest: RecordDigest

    /// The age beyond which a log may forget a mark: 90 days. A younger mark is forgotten only if its trackable has
    /// more than ``maximumCount`` marks.
    public static let maximumAge = Duration.seconds(90 * 86_400)
    /// The number of a trackable's newest marks that a log remembers: 1,000,000. The log may forget one of them only
    /// when the mark is older than ``maximumAge``.
    public static let maximumCount = 1_000_000
    /// The number of marks by which a trackable may exceed ``maximumCount``: 10,000. When a trackable exceeds it by
    /// that number, the log removes the trackable's 10,000 oldest marks together.
    public static let slack = 10_000

    /// Makes the mark of a record from its time and digest.
    public init(time: UnixTime, digest: RecordDigest) {
        self.time = time
        self.digest = digest
    }

    /// The mark as 24 bytes, with the time first. For times since 1970, the order of the bytes is the order of the
    /// times.
    package var key: [UInt8] { Self.bytes(self.time.seconds.bitPattern, self.digest.high, self.digest.low) }

    /// Returns the lowest and the highest ``key`` of all possible marks with this time.
    package static func keys(at time: UnixTime) -> (lowest: [UInt8], highest: [UInt8]) {
        (Self.bytes(time.seconds.bitPattern, 0, 0), Self.bytes(time.seconds.bitPattern, .max, .max))
    }

    private static func bytes(_ numbers: UInt64...) -> [UInt8] {
        numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) } }
    }
}
