import TrackingCore

/// Decides, for one trackable, which ingested records are new, and when their senders get an answer.
///
/// Batches are looked up and written in rounds, one at a time, so that a record that arrives twice is known the second
/// time. A round has every batch that arrived during the round before.
struct IntakeQueue: Sendable {
    /// The records of one request.
    struct Batch: Hashable, Sendable {
        let request: UInt64
        let drafts: [RecordDraft]
    }

    /// The answer to a request: the names of its records, in their order.
    struct Receipt: Hashable, Sendable {
        let request: UInt64
        let names: [RecordName]
    }

    /// The condition that a sender still waits for.
    enum Wait: Hashable, Sendable {
        /// The records are not in the log.
        case written
        /// These records are not acknowledged.
        case safe([StreamID: SeqSet])
    }

    /// A new record under its name, to be published once it is written.
    struct News: Hashable, Sendable {
        let seq: UInt64
        let time: UnixTime
        let content: RecordDraft.Content
    }

    /// The records that are being written.
    private struct Writing: Hashable, Sendable {
        let batches: [Batch]
        var names: [RecordMark: RecordName]
        /// The numbers that are not written yet.
        var left = SeqSet()
        var news: [News] = []
    }

    private enum Round: Hashable, Sendable {
        /// Nothing is under way. Can transition to: `finding`.
        case none
        /// The log is asked which records are known. Can transition to: `writing`, `none`.
        case finding([Batch])
        /// The new records are being written. Can transition to: `none`.
        case writing(Writing)
    }

    private var arrived: [Batch] = []
    private var round = Round.none
    /// The answers that wait until records are acknowledged.
    private var waiting: [(receipt: Receipt, left: [StreamID: SeqSet])] = []
    /// The requests that were not answered, with the moment at which their senders give up.
    private var deadlines = DeadlineQueue<UInt64>()

    /// The next moment at which a sender gives up; `nil` when no sender waits.
    var nextDeadline: MonotonicTime? { self.deadlines.next }

    /// `true` while no sender waits.
    var isIdle: Bool { self.round == .none && self.arrived.isEmpty && self.waiting.isEmpty }

    /// A batch arrived, and its sender waits until `deadline`.
    mutating func arrived(_ batch: Batch, by deadline: MonotonicTime) {
        self.arrived.append(batch)
        self.deadlines.set(batch.request, deadline: deadline)
    }

    /// Begins the next round.
    ///
    /// - Returns: The marks to look up; `nil` when no round begins.
    mutating func begin() -> [RecordMark]? {
        guard self.round == .none, !self.arrived.isEmpty else { return nil }
        defer { self.arrived = [] }
        self.round = .finding(self.arrived)
        return Array(Set(self.arrived.flatMap { $0.drafts.map(\.mark) }))
    }

    /// The log knows these records.
    ///
    /// - Returns: The new records, each once, in order of time, to be given to ``named(_:news:)``.
    mutating func found(_ known: [RecordMark: RecordName]) -> [RecordDraft] {
        guard case .finding(let batches) = self.round else { return [] }
        var seen = Set(known.keys)
        let new = batches.flatMap(\.drafts).filter { seen.insert($0.mark).inserted }
        self.round = .writing(Writing(batches: batches, names: known))
        // The order is stable: among records of the same time, the first to arrive comes first.
        return new.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
    }

    /// The new records have these names and are being written. The records of `news` are published after the write.
    mutating func named(_ names: [RecordMark: RecordName], news: [News]) {
        guard case .writing(var writing) = self.round else { return }
        writing.left = SeqSet(names.values.map(\.seq).sorted().map { $0...$0 })
        writing.names.merge(names) { first, _ in first }
        writing.news = news
        self.round = .writing(writing)
    }

    /// Records are in the log.
    ///
    /// - Returns: The records to publish, in order of time.
    mutating func written(_ seqs: SeqSet) -> [News] {
        guard case .writing(var writing) = self.round else { return [] }
        let news = writing.news.filter { seqs.contains($0.seq) }
        writing.news.removeAll { seqs.contains($0.seq) }
        writing.left.subtract(seqs)
        self.round = .writing(writing)
        return news
    }

    /// Ends the round when all of its records are written.
    ///
    /// - Parameter isStored: Returns `true` for a record in the log that is not acknowledged.
    /// - Returns: The answers to the requests whose records are all safe.
    mutating func settle(isStored: (RecordName) -> Bool) -> [Receipt] {
        guard case .writing(let written) = self.round, written.left.isEmpty else { return [] }
        self.round = .none
        return written.batches.compactMap { batch in
            let receipt = Receipt(request: batch.request, names: batch.drafts.compactMap { written.names[$0.mark] })
            let open = Dictionary(grouping: receipt.names.filter(isStored), by: \.stream)
                .mapValues { SeqSet(Set($0.map(\.seq)).sorted().map { $0...$0 }) }
            guard !open.isEmpty else {
                self.deadlines.remove(receipt.request)
                return receipt
            }
            self.waiting.append((receipt, open))
            return nil
        }
    }

    /// Records were acknowledged.
    ///
    /// - Returns: The answers to the requests whose records are all safe.
    mutating func areSafe(_ seqs: SeqSet, of stream: StreamID) -> [Receipt] {
        var done: [Receipt] = []
        for place in self.waiting.indices {
            guard self.waiting[place].left[stream]?.subtract(seqs) != nil else { continue }
            if self.waiting[place].left[stream]?.isEmpty == true { self.waiting[place].left[stream] = nil }
            if self.waiting[place].left.isEmpty { done.append(self.waiting[place].receipt) }
        }
        if !done.isEmpty { self.waiting.removeAll { $0.left.isEmpty } }
        for receipt in done { self.deadlines.remove(receipt.request) }
        return done
    }

    /// The round could not be looked up or written, and none of its records is published.
    ///
    /// - Returns: The requests of the round.
    mutating func failed() -> [UInt64] {
        defer { self.round = .none }
        let requests = self.underWay.map(\.request)
        for request in requests { self.deadlines.remove(request) }
        return requests
    }

    /// Removes the requests whose senders give up, and returns the condition for which each waited. A round that has
    /// begun continues.
    mutating func takeExpired(now: MonotonicTime) -> [(request: UInt64, wait: Wait)] {
        self.deadlines.popExpired(now: now).map { ($0, self.gaveUp($0)) }
    }

    private mutating func gaveUp(_ request: UInt64) -> Wait {
        if let place = self.waiting.firstIndex(where: { $0.receipt.request == request }) {
            return .safe(self.waiting.remove(at: place).left)
        }
        // A batch without a sender is not begun.
        self.arrived.removeAll { $0.request == request }
        return .written
    }

    /// The requests that were not answered.
    var requests: [UInt64] {
        (self.arrived + self.underWay).map(\.request) + self.waiting.map(\.receipt.request)
    }

    private var underWay: [Batch] {
        switch self.round {
        case .none: []
        case .finding(let batches): batches
        case .writing(let writing): writing.batches
        }
    }
}
