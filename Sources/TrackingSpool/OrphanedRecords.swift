import TrackingCore

/// The orphaned records of a damaged log: intact records whose stream has no intact row. They are not recovered.
///
/// The row of a record contains only the number of its stream. But its checksum covers the stream's id too, so the
/// checksum shows the stream among those that marks of ingested records name. Such a mark must not be recovered: it
/// would state that the lost record is stored safely.
struct OrphanedRecords {
    private var seqs: [Int64: SeqSet] = [:]
    /// The checksum functions of the streams that marks name and that have no intact row.
    private var sums: [StreamID: RecordChecksum] = [:]
    private var named: [StreamID: SeqSet] = [:]
    /// The stream of the last record with each stream number. The next record most often belongs to the same stream.
    private var last: [Int64: StreamID] = [:]

    /// The number of orphaned records.
    var count: Int { self.seqs.values.reduce(0) { $0 + $1.count } }

    /// Adds a stream that a mark names, and whose row was not found.
    mutating func expect(_ id: StreamID) {
        if self.sums[id] == nil { self.sums[id] = RecordChecksum(id) }
    }

    /// Removes a stream whose row was found.
    mutating func expectNone(of id: StreamID) { self.sums[id] = nil }

    /// Adds an orphaned record.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - number: The number of its stream, for which there is no stream's row.
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

    /// Returns `true` if an orphaned record has this name.
    func contains(_ name: RecordName) -> Bool { self.named[name.stream]?.contains(name.seq) == true }
}
