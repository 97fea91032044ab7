import TrackingCore

/// Decides, for one trackable, which records from outside are new, and when those who brought them are answered.
///
/// What came is looked up and written in rounds, one at a time: what comes twice at once is known the second time. A round
/// is everything that came while the one before was under way.
struct IntakeQueue: Sendable {
    /// What somebody brought.
    struct Batch: Hashable, Sendable {
        let request: UInt64
        let drafts: [RecordDraft]
    }

    /// Who is answered, with the names of what they brought, in their order.
    struct Receipt: Hashable, Sendable {
        let request: UInt64
        let names: [RecordName]
    }

    /// What somebody still waits for.
    enum Wait: Hashable, Sendable {
        /// To be in the log.
        case written
        /// To be safe elsewhere.
        case safe([StreamID: SeqSet])
    }

    /// A new record under its name, to be told as news once it is written.
    struct News: Hashable, Sendable {
        let seq: UInt64
        let time: UnixTime
        let content: RecordDraft.Content
    }

    /// What is being written.
    private struct Writing: Hashable, Sendable {
        let batches: [Batch]
        var names: [RecordMark: RecordName]
        /// These are not written yet.
        var left = SeqSet()
        var news: [News] = []
    }

    private enum Round: Hashable, Sendable {
        /// Nothing is under way. Can transition to: `finding`.
        case none
        /// It is looked up which of them are known. Can transition to: `writing`, `none`.
        case finding([Batch])
        /// Those that were not are being written. Can transition to: `none`.
        case writing(Writing)
    }

    private var arrived: [Batch] = []
    private var round = Round.none
    /// Who waits until these are safe.
    private var waiting: [(receipt: Receipt, left: [StreamID: SeqSet])] = []

    /// Whether nobody waits for anything.
    var isIdle: Bool { self.round == .none && self.arrived.isEmpty && self.waiting.isEmpty }

    /// Somebody brought these.
    mutating func arrived(_ batch: Batch) { self.arrived.append(batch) }

    /// What is to be looked up now; `nil` where nothing is.
    mutating func begin() -> [RecordMark]? {
        guard self.round == .none, !self.arrived.isEmpty else { return nil }
        defer { self.arrived = [] }
        self.round = .finding(self.arrived)
        return Array(Set(self.arrived.flatMap { $0.drafts.map(\.mark) }))
    }

    /// These are known.
    ///
    /// - Returns: Those that are not, each once, in order of time; they are to be ``named(_:news:)``.
    mutating func found(_ known: [RecordMark: RecordName]) -> [RecordDraft] {
        guard case .finding(let batches) = self.round else { return [] }
        var seen = Set(known.keys)
        let new = batches.flatMap(\.drafts).filter { seen.insert($0.mark).inserted }
        self.round = .writing(Writing(batches: batches, names: known))
        // Stable: of one time, what came first goes first.
        return new.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
    }

    /// The new ones were given these names and are being written; what of them is news waits for that.
    mutating func named(_ names: [RecordMark: RecordName], news: [News]) {
        guard case .writing(var writing) = self.round else { return }
        writing.left = SeqSet(names.values.map(\.seq).sorted().map { $0...$0 })
        writing.names.merge(names) { first, _ in first }
        writing.news = news
        self.round = .writing(writing)
    }

    /// These are in the log now.
    ///
    /// - Returns: What of them is news, in order of time.
    mutating func written(_ seqs: SeqSet) -> [News] {
        guard case .writing(var writing) = self.round else { return [] }
        let news = writing.news.filter { seqs.contains($0.seq) }
        writing.news.removeAll { seqs.contains($0.seq) }
        writing.left.subtract(seqs)
        self.round = .writing(writing)
        return news
    }

    /// Ends the round where everything of it is written.
    ///
    /// - Parameter isStored: Whether a record is in the log, and not safe elsewhere.
    /// - Returns: Whose records are safe already.
    mutating func settle(isStored: (RecordName) -> Bool) -> [Receipt] {
        guard case .writing(let written) = self.round, written.left.isEmpty else { return [] }
        self.round = .none
        return written.batches.compactMap { batch in
            let receipt = Receipt(request: batch.request, names: batch.drafts.compactMap { written.names[$0.mark] })
            let open = Dictionary(grouping: receipt.names.filter(isStored), by: \.stream)
                .mapValues { SeqSet(Set($0.map(\.seq)).sorted().map { $0...$0 }) }
            guard !open.isEmpty else { return receipt }
            self.waiting.append((receipt, open))
            return nil
        }
    }

    /// These are safe elsewhere.
    ///
    /// - Returns: Who has nothing else to wait for.
    mutating func areSafe(_ seqs: SeqSet, of stream: StreamID) -> [Receipt] {
        var done: [Receipt] = []
        for place in self.waiting.indices {
            guard self.waiting[place].left[stream]?.subtract(seqs) != nil else { continue }
            if self.waiting[place].left[stream]?.isEmpty == true { self.waiting[place].left[stream] = nil }
            if self.waiting[place].left.isEmpty { done.append(self.waiting[place].receipt) }
        }
        if !done.isEmpty { self.waiting.removeAll { $0.left.isEmpty } }
        return done
    }

    /// What is under way could not be looked up or written: nothing of it is told.
    ///
    /// - Returns: Whose it was.
    mutating func failed() -> [UInt64] {
        defer { self.round = .none }
        return self.underWay.map(\.request)
    }

    /// Somebody does not wait any longer; what they brought goes its way all the same.
    ///
    /// - Returns: What they waited for; `nil` where they were answered already.
    mutating func gaveUp(_ request: UInt64) -> Wait? {
        if let place = self.waiting.firstIndex(where: { $0.receipt.request == request }) {
            return .safe(self.waiting.remove(at: place).left)
        }
        // What was not begun is not begun for nobody.
        self.arrived.removeAll { $0.request == request }
        return .written
    }

    /// Everybody who waits, when nothing will come of it any more.
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
