/// The records of the next batches of one stream: they are read while those before them are in flight.
struct ReadAhead: Hashable, Sendable {
    let stream: StreamID
    /// The number under which some were asked for that did not come yet.
    var question: UInt64?
    /// As they were when they were read, in order; the first are next.
    private var chunks: [SpoolRecords] = []

    init(of stream: StreamID) { self.stream = stream }

    /// Whether some were asked for that did not come yet.
    var isAsked: Bool { self.question != nil }
    /// How many there are.
    var count: Int { self.chunks.reduce(0) { $0 + $1.count } }
    private var byteCount: Int { self.chunks.reduce(0) { $0 + $1.byteCount } }
    var last: UInt64? { self.chunks.last?.lastSeq }

    /// What was asked for came.
    mutating func loaded(_ records: SpoolRecords) {
        self.question = nil
        if !records.isEmpty { self.chunks.append(records) }
    }

    /// It may be long until they can go: they are read again.
    mutating func forget() { self.chunks = [] }

    /// Whether they are a whole batch of at most so many records and bytes.
    func isFull(_ count: Int, _ bytes: Int) -> Bool { self.count >= count || self.byteCount > bytes }

    /// The records of the next batch, without what became safe meanwhile; none, and nothing stays, where that is not the beginning
    /// of `ready` any more.
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
