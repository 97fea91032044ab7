/// Records that are to be read: as many of the first as have so many bytes together.
public struct RecordQuery: Hashable, Sendable {
    /// Names it in its answer.
    public var number: UInt64
    /// The stream that the numbers count in.
    public var stream: StreamID
    /// Which.
    public var seqs: SeqSet
    /// The most bytes of payload, but one record at least.
    public var maximumBytes: Int

    /// Makes a query.
    public init(number: UInt64, stream: StreamID, seqs: SeqSet, maximumBytes: Int) {
        self.number = number
        self.stream = stream
        self.seqs = seqs
        self.maximumBytes = maximumBytes
    }
}
