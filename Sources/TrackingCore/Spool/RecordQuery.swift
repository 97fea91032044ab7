/// A request to read certain records from the device's log, up to a number of bytes.
public struct RecordQuery: Hashable, Sendable {
    /// The number of this request to read records. The result of the reading has the same number, so that an outdated
    /// result is ignored.
    public var number: UInt64
    /// The stream whose records this request reads.
    public var stream: StreamID
    /// The numbers of the records that this request reads from the stream.
    public var seqs: SeqSet
    /// The maximum number of payload bytes that this request reads. At least one record is read, even if it is larger.
    public var maximumBytes: Int

    /// Makes a request to read records from the device's log.
    public init(number: UInt64, stream: StreamID, seqs: SeqSet, maximumBytes: Int) {
        self.number = number
        self.stream = stream
        self.seqs = seqs
        self.maximumBytes = maximumBytes
    }
}
