/// A batch of records on the recording lane (`history`).
public struct HistoryBatch: Hashable, Sendable {
    /// A random UUID, in lower case; a retry keeps it.
    public var id: String
    /// The stream that every `seq` here counts in.
    public var stream: StreamID
    /// Nothing below it is left on the device.
    public var oldest: UInt64
    /// Ranges inside the stream, from `oldest` on, that the device no longer has; ascending.
    public var gone: [ClosedRange<UInt64>]
    /// The records, in order of `seq`.
    public var records: SpoolRecords
    /// How many records wait behind this batch.
    public var remaining: Int
    /// No higher `seq` than this will come; `nil` while the stream goes on.
    public var end: UInt64?

    /// Makes a batch.
    public init(
        id: String, stream: StreamID, oldest: UInt64, gone: [ClosedRange<UInt64>] = [], records: SpoolRecords = [],
        remaining: Int = 0, end: UInt64? = nil
    ) {
        self.id = id
        self.stream = stream
        self.oldest = oldest
        self.gone = gone
        self.records = records
        self.remaining = remaining
        self.end = end
    }
}

/// What a recorder has durably stored (`ack/{recorder}`).
public struct Acknowledgement: Hashable, Sendable {
    /// For each stream: every record up to and including this `seq` is on disk, or was declared gone.
    public var streams: [StreamID: UInt64]

    /// The most streams that are written or read.
    public static let maximumStreams = 8

    /// Makes an acknowledgement.
    public init(streams: [StreamID: UInt64]) { self.streams = streams }
}
