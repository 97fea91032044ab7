/// A request to read records from the device's log, limited by their size.
public struct RecordQuery: Hashable, Sendable {
    /// The number of the query, which its result repeats.
    public var number: UInt64
    /// The stream of the records.
    public var stream: StreamID
    /// The numbers of the records.
    public var seqs: SeqSet
    /// The maximum number of payload bytes. At least one record is read regardless.
    public var maximumBytes: Int

    /// Makes a query.
    public init(number: UInt64, stream: StreamID, seqs: SeqSet, maximumBytes: Int) {
        self.number = number
        self.stream = stream
        self.seqs = seqs
        self.maximumBytes = maximumBytes
    }
}
