/// The bounds of the wire that no configuration moves.
public enum WireLimits {
    /// The largest payload that is written or read: 128 KB.
    public static let maximumPayloadBytes = 131_072
    /// The largest presence, liveness, request or resolution that is read: 4 KiB.
    public static let maximumStateBytes = 4_096
    /// The largest event or version of a trip that is read or published, with everything in it: 32 KiB.
    public static let maximumDocumentBytes = 32_768
    /// The largest detail of an event that is read or published, as JSON: 16 KiB.
    public static let maximumDetailBytes = 16_384
    /// The longest id of a trip in bytes.
    public static let maximumTripIDBytes = 64
    /// The rule for the id of a trip, for errors.
    static let tripIDRule =
        "a string of 1 to \(maximumTripIDBytes) bytes without control characters and without characters that turn the direction of text"
    /// The most points that are read in one list of one message; a writer sends at most ``LocationUpdate/maximumSkipped``.
    public static let maximumPointsRead = 1000
    /// The largest whole number that every JSON reader keeps exactly: 2^53 - 1.
    public static let maximumInteger: UInt64 = 9_007_199_254_740_991

    /// The latest time that is written or read, in the year 5138.
    public static let latestTime = UnixTime(NumberRule.time.highest)
    /// Whether this time is written and read: in seconds, and a number.
    public static func allows(_ time: UnixTime) -> Bool { NumberRule.time.allows(time.seconds) }

    /// ``maximumInteger`` as the type of counts.
    static let greatest = Int(maximumInteger)
    /// How deep objects and arrays may nest in a payload, so that nested garbage cannot exhaust the stack.
    static let maximumDepth = 32
    /// How deep they may nest in the `extra` of a point, wherever the point stands.
    package static let maximumExtraDepth = 16
}
