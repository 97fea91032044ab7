/// A batch of records that a publisher sends to the recorders (topic `history`).
public struct HistoryBatch: Hashable, Sendable {
    /// A random UUID in lower case. A repeated batch has the same id.
    public var id: String
    /// The stream that numbers the records.
    public var stream: StreamID
    /// The lowest number that the device still has.
    public var oldest: UInt64
    /// The ranges of numbers from `oldest` on that the device no longer has, ascending.
    public var gone: [ClosedRange<UInt64>]
    /// The records, in order of `seq`.
    public var records: SpoolRecords
    /// The number of records of the stream that remain to be sent after this batch.
    public var remaining: Int
    /// The stream's last number; `nil` while the stream continues.
    public var end: UInt64?

    /// Makes a batch of records of one stream.
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

/// A recorder's acknowledgement of durably stored records (topic `ack/{recorder}`).
public struct Acknowledgement: Hashable, Sendable {
    /// For each stream, the number up to which all records are stored or declared gone.
    public var streams: [StreamID: UInt64]

    /// The maximum number of streams in an acknowledgement.
    public static let maximumStreams = 8

    /// Makes an acknowledgement of the given streams, each with its number.
    public init(streams: [StreamID: UInt64]) { self.streams = streams }
}
