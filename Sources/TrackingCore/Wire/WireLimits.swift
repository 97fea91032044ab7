/// The limits of the sizes and values in messages. They are constants of the protocol, not settings.
public enum WireLimits {
    /// The maximum size of a payload, written or read: 128 KB.
    public static let maximumPayloadBytes = 131_072
    /// The maximum size of a presence, a liveness message, a resolution request or a resolution in force that is read:
    /// 4 KiB.
    public static let maximumStateBytes = 4_096
    /// The maximum size of an event or a version of a trip in a message: 32 KiB.
    public static let maximumDocumentBytes = 32_768
    /// The maximum size of the detail of an event, encoded as JSON: 16 KiB.
    public static let maximumDetailBytes = 16_384
    /// The maximum length of a trip id: 64 bytes.
    public static let maximumTripIDBytes = 64
    /// The rule for trip ids, as a phrase for error messages.
    static let tripIDRule =
        "a string of 1 to \(maximumTripIDBytes) bytes without control characters and without characters that change the direction of text"
    /// The maximum length of a trackable's metadata in a presence: 1,024 bytes.
    public static let maximumMetadataBytes = 1_024
    /// The rule for the metadata of a trackable, as a phrase for error messages.
    package static let metadataRule =
        "a string of 1 to \(maximumMetadataBytes) bytes without control characters and without characters that change the direction of text"
    /// The maximum number of points that a reader accepts in one list of a message. Godwit's publishers write at most
    /// ``LocationUpdate/maximumSkipped``.
    public static let maximumPointsRead = 1000
    /// The largest integer that every JSON reader represents exactly: 2^53 - 1.
    public static let maximumInteger: UInt64 = 9_007_199_254_740_991

    /// The latest time that a message may contain, in the year 5138.
    public static let latestTime = UnixTime(NumberRule.time.highest)
    /// Returns `true` when a message may contain this time: within ±1e11 seconds of the Unix epoch.
    public static func allows(_ time: UnixTime) -> Bool { NumberRule.time.allows(time.seconds) }

    /// The largest integer that every JSON reader represents exactly, 2^53 - 1, as an `Int`.
    static let greatest = Int(maximumInteger)
    /// The maximum nesting of objects and arrays in a payload. It prevents malicious input from exhausting the stack.
    static let maximumDepth = 32
    /// The maximum nesting of objects and arrays in the `extra` of a point, counted from `extra` itself.
    package static let maximumExtraDepth = 16
}
