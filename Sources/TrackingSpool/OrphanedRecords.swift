import TrackingCore

/// Records of a damaged log whose stream's row is gone: they are not taken over.
///
/// A record's row has the number of its stream alone. Its checksum is over the stream's name as well, so it tells which
/// of the streams it is of that marks still name: such a mark would say of a record that is lost that it is safe.
struct OrphanedRecords {
    private var seqs: [Int64: SeqSet] = [:]
    /// Of the streams that marks name and that are not known.
    private var sums: [StreamID: RecordChecksum] = [:]
    private var named: [StreamID: SeqSet] = [:]
    /// The stream of the last record of a number: the next is most often of the same.
    private var last: [Int64: StreamID] = [:]

    /// The number of orphaned records.
    var count: Int { self.seqs.values.reduce(0) { $0 + $1.count } }

    /// A mark names a stream.
    mutating func expect(_ id: StreamID) {
        if self.sums[id] == nil { self.sums[id] = RecordChecksum(id) }
    }

    /// A stream's row is there after all.
    mutating func expectNone(of id: StreamID) { self.sums[id] = nil }

    /// Takes in a record of a stream with this number, which is not known.
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

    /// Returns `true` if an orphaned record has this name.
    func contains(_ name: RecordName) -> Bool { self.named[name.stream]?.contains(name.seq) == true }
}
