import TrackingCore

/// Decides, for one trackable, which ingested records are new, and when the senders of the records get an answer.
///
/// Batches of records are handled in rounds. A round first asks the log which records it knows, and then writes the new
/// ones. The next round takes all batches that arrived meanwhile. Only one round runs at a time, so that a record that
/// arrives twice is recognized the second time.
struct IntakeQueue: Sendable {
    /// One sender's request to ingest records: its number, and the records that the sender passed.
    struct Batch: Hashable, Sendable {
        let request: UInt64
        let drafts: [RecordDraft]
    }

    /// The answer to a sender's request: the names (stream and number) of its records, in the order in which the sender
    /// passed them.
    struct Receipt: Hashable, Sendable {
        let request: UInt64
        let names: [RecordName]
    }

    /// The condition that a sender of ingested records still waits for when its waiting time is over.
    enum Wait: Hashable, Sendable {
        /// The sender waits until all ingested records of its request are written to the log.
        case written
        /// The sender waits until these ingested records are acknowledged. Their numbers are given for each stream.
        case safe([StreamID: SeqSet])
    }

    /// A new ingested record with its number. It is published live after it was written to the log.
    struct News: Hashable, Sendable {
        let seq: UInt64
        let time: UnixTime
        let content: RecordDraft.Content
    }

    /// The new records of a round, which are being written to the log. A round looks up and writes several batches of
    /// ingested records together.
    private struct Writing: Hashable, Sendable {
        let batches: [Batch]
        var names: [RecordMark: RecordName]
        /// The numbers of the round's new ingested records that are not written to the log yet.
        var left = SeqSet()
        var news: [News] = []
    }

    private enum Round: Hashable, Sendable {
        /// No round is in progress: no batch of ingested records is being looked up or written. Can transition to:
        /// `finding`.
        case none
        /// The first half of a round (several ingested batches that are looked up and written together): the log is
        /// being asked which of their records it knows already. Can transition to: `writing`, `none`.
        case finding([Batch])
        /// The second half of a round (several ingested batches that are looked up and written together): the new
        /// records of the batches are being written to the log. Can transition to: `none`.
        case writing(Writing)
    }

    private var arrived: [Batch] = []
    private var round = Round.none
    /// The requests whose records are all in the log but not all acknowledged yet. Each has its receipt, the answer
    /// that its sender gets later, and in `left` the numbers of the records that are not acknowledged yet, by stream.
    private var waiting: [(receipt: Receipt, left: [StreamID: SeqSet])] = []
    /// The unanswered requests to ingest records, each with the time at which its sender stops waiting.
    private var deadlines = DeadlineQueue<UInt64>()

    /// The earliest time at which a sender of ingested records stops waiting for its answer; `nil` when no sender
    /// waits.
    var nextDeadline: MonotonicTime? { self.deadlines.next }

    /// `true` while no sender waits for an answer, and no batch of records is being looked up or written.
    var isIdle: Bool { self.round == .none && self.arrived.isEmpty && self.waiting.isEmpty }

    /// Accepts a sender's batch of records, which the next round looks up in the log and writes. The sender waits for
    /// the answer until `deadline`.
    mutating func arrived(_ batch: Batch, by deadline: MonotonicTime) {
        self.arrived.append(batch)
        self.deadlines.set(batch.request, deadline: deadline)
    }

    /// Begins the next round, in which all batches that have arrived are looked up and written together. Does nothing
    /// while a round is in progress.
    ///
    /// - Returns: The marks (time and digest) of the records to look up in the log; `nil` when no round begins.
    mutating func begin() -> [RecordMark]? {
        guard self.round == .none, !self.arrived.isEmpty else { return nil }
        defer { self.arrived = [] }
        self.round = .finding(self.arrived)
        return Array(Set(self.arrived.flatMap { $0.drafts.map(\.mark) }))
    }

    /// Handles the log's answer to the look-up of the round's records. The second half of the round begins, in which
    /// the new records are written.
    ///
    /// - Parameter known: The names of the records that the log knows already, by mark (time and digest).
    /// - Returns: The new records, each once, in order of time. The caller names them and calls ``named(_:news:)``.
    mutating func found(_ known: [RecordMark: RecordName]) -> [RecordDraft] {
        guard case .finding(let batches) = self.round else { return [] }
        var seen = Set(known.keys)
        let new = batches.flatMap(\.drafts).filter { seen.insert($0.mark).inserted }
        self.round = .writing(Writing(batches: batches, names: known))
        // The order is stable: among records of the same time, the first to arrive comes first.
        return new.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
    }

    /// Stores the names (stream and number) that the round's new ingested records got. These records are now being
    /// written to the log.
    ///
    /// - Parameters:
    ///   - names: The names of the new records, by mark (time and digest).
    ///   - news: The new records that must be published live once they are written.
    mutating func named(_ names: [RecordMark: RecordName], news: [News]) {
        guard case .writing(var writing) = self.round else { return }
        writing.left = SeqSet(names.values.map(\.seq).sorted().map { $0...$0 })
        writing.names.merge(names) { first, _ in first }
        writing.news = news
        self.round = .writing(writing)
    }

    /// Registers that ingested records of the current round, given by their numbers, were written to the log.
    ///
    /// - Returns: Those of the written records that must be published live now.
    mutating func written(_ seqs: SeqSet) -> [News] {
        guard case .writing(var writing) = self.round else { return [] }
        let news = writing.news.filter { seqs.contains($0.seq) }
        writing.news.removeAll { seqs.contains($0.seq) }
        writing.left.subtract(seqs)
        self.round = .writing(writing)
        return news
    }

    /// Ends the round (the look-up and writing of several batches) once all of its new records are written to the log.
    /// Senders whose records are not all acknowledged continue to wait.
    ///
    /// - Parameter isStored: Returns `true` for a record that is still in the log because it is not acknowledged.
    /// - Returns: The answers to senders whose records are all acknowledged.
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
            // A sender that no longer waits has its answer already.
            if self.deadlines.deadline(of: batch.request) != nil { self.waiting.append((receipt, open)) }
            return nil
        }
    }

    /// Registers that ingested records with these numbers in the stream were acknowledged.
    ///
    /// - Returns: The answers to senders whose records are now all acknowledged.
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

    /// Ends the current round of ingested records because the log could not be read or written. The records of the
    /// round that are not written yet will not be published.
    ///
    /// - Returns: The requests of the round, whose senders must get an error.
    mutating func failed() -> [UInt64] {
        defer { self.round = .none }
        let requests = self.underWay.map(\.request)
        for request in requests { self.deadlines.remove(request) }
        return requests
    }

    /// Removes the requests whose waiting time is over. Returns, for each of them, the condition for which it still
    /// waited: that its records are written to the log, or that they are acknowledged. If the round of a request has
    /// begun, its records are still written. Otherwise they are discarded.
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

    /// The numbers of the requests whose senders have not been answered yet.
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
