/// A batch: one message in which a publisher sends several records of one stream to the recorders (topic `history`).
public struct HistoryBatch: Hashable, Sendable {
    /// The id of the batch, a random UUID in lower case. A batch that is sent again has the same id.
    public var id: String
    /// The stream of the batch, the numbered sequence to which its records belong.
    public var stream: StreamID
    /// The lowest record number of the stream that the device still has in its log. If the log has no record of the
    /// stream, it is the number after the last one.
    public var oldest: UInt64
    /// The ranges of record numbers whose records the device no longer has, in ascending order. They lie between
    /// ``oldest`` and the batch's last record; in a batch without records, between ``oldest`` and the stream's last
    /// number.
    public var gone: [ClosedRange<UInt64>]
    /// The records of the batch, in order of their numbers.
    public var records: SpoolRecords
    /// The number of records of the stream that the device still has to send after this batch.
    public var remaining: Int
    /// The number of the stream's last record, if the stream has ended; `nil` while further records may follow.
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

/// A message in which a recorder acknowledges that it has stored records durably (topic `ack/{recorder}`).
public struct Acknowledgement: Hashable, Sendable {
    /// The acknowledged number of each stream: all records up to that number are stored, or declared lost by the
    /// device.
    public var streams: [StreamID: UInt64]

    /// The maximum number of streams in an acknowledgement: 8. A receiver ignores further ones.
    public static let maximumStreams = 8

    /// Makes an acknowledgement with the acknowledged number of each stream.
    public init(streams: [StreamID: UInt64]) { self.streams = streams }
}
