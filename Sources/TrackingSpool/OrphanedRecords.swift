import TrackingCore

/// The orphaned records of a damaged log: intact records whose stream is unknown, because the row of the stream is
/// lost. They are not recovered.
///
/// The log also has marks, by which a repetition of an ingested record is recognized. The mark of an orphaned record
/// must not be recovered either. Otherwise a sender could not send the lost record again.
///
/// A mark names the record's stream. The stream of an orphaned record is found by the record's checksum, which covers
/// the id of the stream.
struct OrphanedRecords {
    private var seqs: [Int64: SeqSet] = [:]
    /// The checksum functions of the streams that marks of ingested records name and whose own rows are lost, by stream
    /// id.
    private var sums: [StreamID: RecordChecksum] = [:]
    private var named: [StreamID: SeqSet] = [:]
    /// For each stream, given by its number in the log's tables, the id under which the last orphaned record was
    /// identified. The next orphan of the same number is tried with this id first.
    private var last: [Int64: StreamID] = [:]

    /// The number of orphaned records.
    var count: Int { self.seqs.values.reduce(0) { $0 + $1.count } }

    /// Adds a stream that the mark of an ingested record names, so that records of this stream can be recognized by
    /// their checksum.
    mutating func expect(_ id: StreamID) {
        if self.sums[id] == nil { self.sums[id] = RecordChecksum(id) }
    }

    /// Removes a stream from the list of streams whose records may be orphaned, because the stream's row was found.
    mutating func expectNone(of id: StreamID) { self.sums[id] = nil }

    /// Adds an orphaned record.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - number: The number of the record's stream. No row of a stream has this number.
    ///   - checksum: The checksum in the record's row.
    mutating func add(_ record: SpoolRecord, number: Int64, _ checksum: UInt64) {
        self.seqs[number, default: SeqSet()].insert(record.seq)
        guard let id = self.stream(of: record, number: number, checksum) else { return }
        self.last[number] = id
        self.named[id, default: SeqSet()].insert(record.seq)
    }

    private func stream(of record: SpoolRecord, number: Int64, _ checksum: UInt64) -> StreamID? {
        if let last = self.last[number], self.sums[last]?.value(of: record) == checksum { return last }
        return self.sums.first { $0.value.value(of: record) == checksum }?.key
    }

    /// Returns `true` if an orphaned record has this name, a stream and a number.
    func contains(_ name: RecordName) -> Bool { self.named[name.stream]?.contains(name.seq) == true }
}
