/// Records of one stream that are read from the log before they are needed. They form the next batches, while earlier
/// batches are still unanswered.
struct ReadAhead: Hashable, Sendable {
    let stream: StreamID
    /// The number of the ``RecordQuery``, the read request, whose result has not arrived; `nil` when there is none.
    var question: UInt64?
    /// The records that were read from the log but not put into a batch yet, in the order in which they are to be sent.
    /// Each chunk has the records of one or more read requests.
    private var chunks: [SpoolRecords] = []

    init(of stream: StreamID) { self.stream = stream }

    /// `true` while a request to read records from the log is unanswered.
    var isAsked: Bool { self.question != nil }
    /// The number of records that were read from the log and have not been put into a batch.
    var count: Int { self.chunks.reduce(0) { $0 + $1.count } }
    private var byteCount: Int { self.chunks.reduce(0) { $0 + $1.byteCount } }
    var last: UInt64? { self.chunks.last?.lastSeq }

    /// Adds the records that the log returned for the read request, and marks the request as answered.
    mutating func loaded(_ records: SpoolRecords) {
        self.question = nil
        if !records.isEmpty { self.chunks.append(records) }
    }

    /// Discards the records that were read in advance, to free memory. They are read again when sending resumes.
    mutating func forget() { self.chunks = [] }

    /// Returns `true` when the records that were read are enough for a full batch: at least `count` records, or more
    /// than `bytes` bytes of payload.
    func isFull(_ count: Int, _ bytes: Int) -> Bool { self.count >= count || self.byteCount > bytes }

    /// Removes and returns the records for the next batch, out of the records that were read. A batch must begin with
    /// the lowest numbers of `ready`. If the records that were read do not contain these numbers, the function discards
    /// all of them and returns none.
    ///
    /// - Parameters:
    ///   - ready: The numbers of the records that may be sent now.
    ///   - maximumCount: The maximum number of records in the batch.
    ///   - maximumBytes: The maximum number of payload bytes in the batch.
    mutating func take(from ready: SeqSet, _ maximumCount: Int, maximumBytes: Int) -> SpoolRecords {
        while self.chunks.count > 1, !(self.chunks.first?.count ?? 0 >= maximumCount) { self.join() }
        if let first = self.chunks.first {
            let batch = first.first(maximumCount, maximumBytes: maximumBytes)
            if Self.begins(ready, with: batch) { return self.take(batch.count) }
        }
        self.chunks = [SpoolRecords(self.chunks.joined().filter { ready.contains($0.seq) })]
        let batch = self.chunks[0].first(maximumCount, maximumBytes: maximumBytes)
        guard Self.begins(ready, with: batch) else {
            self.chunks = []
            return []
        }
        return self.take(batch.count)
    }

    private mutating func take(_ count: Int) -> SpoolRecords {
        let batch = self.chunks[0].first(count, maximumBytes: .max)
        self.chunks[0] = self.chunks[0].rest(after: count)
        if self.chunks[0].isEmpty { self.chunks.removeFirst() }
        return batch
    }

    private mutating func join() {
        self.chunks.replaceSubrange(0..<2, with: [SpoolRecords(self.chunks[..<2].joined())])
    }

    private static func begins(_ ready: SeqSet, with batch: SpoolRecords) -> Bool {
        !batch.isEmpty && ready.prefix(batch.count) == batch.seqs
    }
}
