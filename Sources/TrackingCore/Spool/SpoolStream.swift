/// What the log holds of one stream.
public struct StoredStream: Hashable, Sendable {
    /// Its name.
    public var id: StreamID
    /// The numbers of the records that are on disk.
    public var stored: SeqSet
    /// The highest number ever given out in it; 0 when none was.
    public var last: UInt64

    /// Makes a description.
    public init(id: StreamID, stored: SeqSet = SeqSet(), last: UInt64 = 0) {
        self.id = id
        self.stored = stored
        self.last = last
    }
}

/// What is known of one stream while it drains: which records are on disk, and how far each of them has come.
struct SpoolStream: Hashable, Sendable {
    let id: StreamID
    /// On disk.
    private(set) var stored: SeqSet
    /// On disk, and not taken by the broker as far as is known: what the recording lane has to bring.
    private(set) var pending: SeqSet
    /// Records that the broker took and that wait for the recorders, by the batch that they went in.
    private var taken: [Taken] = []
    /// Batches that are to be published again. Their records are pending.
    private(set) var repeats: [Repeat] = []
    /// While the recorders are silent, the last record that the broker took before the silence was noticed. Newer records wait.
    private(set) var stalledThrough: UInt64?
    /// When a recorder that lacks some of it was heard last.
    private var lastHeard: MonotonicTime?
    /// How often it was asked, since then, whether one is there.
    private(set) var unheardProbes = 0
    /// A Boolean value that indicates whether no recorder was heard since a reconnection.
    private(set) var isReopened = false
    /// The time since which records wait for a recorder without progress; `nil` where none waits.
    private(set) var unrecordedSince: MonotonicTime?
    /// On its way on the live lane.
    private(set) var live = SeqSet()
    /// The highest number that was written or given up.
    private(set) var last: UInt64
    /// The last number that it had when it was taken over from the log.
    let lastTakenOver: UInt64
    /// No higher number will come.
    var isEnded: Bool
    /// Whether the numbers above ``lastTakenOver`` were given out twice: what they name now is to be recorded anew.
    private(set) var isReused = false
    /// Something is to be declared even where no record waits: the end, or that what is asked for is gone.
    var needsDeclaration: Bool
    /// Since when something waits; `nil` when nothing does.
    private(set) var waitingSince: MonotonicTime?
    /// Whether it waits no more for company: what was asked to be sent now reaches up to here.
    private(set) var urgentThrough: UInt64 = 0

    /// Records that the broker took and that not every recorder has acknowledged.
    private struct Taken: Sendable {
        var seqs: SeqSet
        /// The identifier of their batch; `nil` where updates on the live lane, or several batches, brought them.
        let batch: String?
        var since: MonotonicTime
        /// The deadline after which they are published again.
        var until: MonotonicTime
    }

    /// A batch that is to be published again with the records of it that are still on disk.
    struct Repeat: Hashable, Sendable {
        let batch: String
        var seqs: SeqSet
    }

    /// The greatest number of batches whose identifiers are remembered. A batch beyond it is repeated under another one.
    static let maximumTaken = 1_000

    static func == (left: Self, right: Self) -> Bool {
        left.id == right.id && left.stored == right.stored && left.pending == right.pending && left.live == right.live
            && left.last == right.last && left.taken.map(\.seqs) == right.taken.map(\.seqs)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(self.id) }

    init(_ stream: StoredStream, isEnded: Bool, now: MonotonicTime) {
        self.id = stream.id
        self.stored = stream.stored
        self.pending = stream.stored
        self.last = max(stream.last, stream.stored.last ?? 0)
        self.lastTakenOver = self.last
        self.isEnded = isEnded
        self.needsDeclaration = isEnded
        self.waitingSince = stream.stored.isEmpty ? nil : now
    }

    /// The records that a batch may take: neither those on their way, nor those that wait behind a silent recorder.
    var ready: SeqSet {
        var ready = self.stalledThrough.map(self.pending.through) ?? self.pending
        if !self.live.isEmpty { ready.subtract(self.live) }
        return ready
    }

    /// Whether a batch could take anything.
    var hasReady: Bool {
        self.live.isEmpty && self.stalledThrough == nil ? !self.pending.isEmpty : !self.ready.isEmpty
    }

    /// Returns the records of the next batch, at most `maximum`, and the identifier of the batch that they repeat.
    ///
    /// A repeated batch has its own records alone: no newer record joins them.
    func next(_ maximum: Int) -> (seqs: SeqSet, batch: String?) {
        let ready = self.ready
        guard let first = ready.first, !self.repeats.isEmpty else { return (ready.prefix(maximum), nil) }
        if let repeated = self.repeats.first(where: { $0.seqs.contains(first) }) {
            let seqs = repeated.seqs.intersection(ready)
            return seqs.count <= maximum ? (seqs, repeated.batch) : (seqs.prefix(maximum), nil)
        }
        let end = self.repeats.compactMap(\.seqs.first).filter { $0 > first }.min()
        let seqs = ready.prefix(maximum)
        return (end.map { seqs.through($0 - 1) } ?? seqs, nil)
    }

    /// These records are in a batch now: the batches that they repeat are not due any more.
    mutating func batched(_ seqs: SeqSet) {
        guard !self.repeats.isEmpty else { return }
        self.repeats.removeAll { !$0.seqs.intersection(seqs).isEmpty }
    }

    /// Nothing below it is left on the device.
    var oldest: UInt64 { self.stored.first ?? self.last + 1 }

    /// When the first of the records that the broker took is to be sent again, or asked for.
    var resendDeadline: MonotonicTime? { self.taken.first?.until }

    /// Whether everything of it is safe and declared.
    var isDone: Bool { self.isEnded && self.stored.isEmpty && !self.needsDeclaration }

    /// It ends, for its numbers were given out twice.
    ///
    /// - Returns: The records that bear such a number: they leave it.
    mutating func endReused() -> SeqSet {
        (self.isEnded, self.isReused, self.needsDeclaration) = (true, true, true)
        let reused = self.stored.from(self.lastTakenOver + 1)
        self.removed(reused)
        return reused
    }

    mutating func appended(_ seqs: SeqSet, now: MonotonicTime) {
        self.stored.formUnion(seqs)
        self.pending.formUnion(seqs)
        self.last = max(self.last, seqs.last ?? 0)
        self.waitingSince = self.waitingSince ?? now
    }

    /// They could not be written: they will be declared gone.
    mutating func givenUp(_ seqs: SeqSet) { self.last = max(self.last, seqs.last ?? 0) }

    mutating func sentLive(_ seqs: SeqSet) { self.live.formUnion(seqs) }

    mutating func liveEnded(_ seqs: SeqSet) { self.live.subtract(seqs) }

    /// The broker took these; with recorders they wait for their acknowledgement, and not less than those before them.
    ///
    /// - Parameter batch: The identifier of the batch; `nil` for an update on the live lane.
    mutating func taken(_ seqs: SeqSet, by batch: String?, now: MonotonicTime, wait: Duration) {
        self.pending.subtract(seqs)
        let there = seqs.intersection(self.stored)
        let until = max(now.advanced(by: wait), self.taken.last?.until ?? now)
        guard !there.isEmpty else { return self.pendingMayHaveEnded() }
        self.unrecordedSince = self.unrecordedSince ?? now
        let isFull = self.taken.count >= Self.maximumTaken
        if isFull, let last = self.taken.indices.last, self.taken[last].batch == nil {
            self.taken[last].seqs.formUnion(there)
            (self.taken[last].since, self.taken[last].until) = (now, until)
        } else {
            self.taken.append(Taken(seqs: there, batch: isFull ? nil : batch, since: now, until: until))
        }
        self.pendingMayHaveEnded()
    }

    /// They are safe, dropped or set aside: not on the device any more.
    mutating func removed(_ seqs: SeqSet) {
        self.stored.subtract(seqs)
        self.pending.subtract(seqs)
        for index in self.taken.indices { self.taken[index].seqs.subtract(seqs) }
        self.taken.removeAll { $0.seqs.isEmpty }
        if self.stored.isEmpty { self.unrecordedSince = nil }
        for index in self.repeats.indices { self.repeats[index].seqs.subtract(seqs) }
        self.repeats.removeAll { $0.seqs.isEmpty }
        if let stalled = self.stalledThrough, self.stored.first ?? .max > stalled { self.stalledThrough = nil }
        self.pendingMayHaveEnded()
    }

    /// The connection was made anew. Where the recorders answered on the connection before, they are asked again soon: the broker may
    /// have lost records or acknowledgements with that connection.
    mutating func reopened(now: MonotonicTime, wait: Duration) {
        guard self.unheardProbes == 0 else { return }
        self.isReopened = true
        let end = now.advanced(by: wait)
        for index in self.taken.indices { self.taken[index].until = min(self.taken[index].until, end) }
    }

    /// A recorder that lacks some of this was heard.
    ///
    /// - Parameter isWorking: Whether something became safe by it: then more of what waits may be on its way to it.
    mutating func heard(isWorking: Bool, now: MonotonicTime, wait: Duration) {
        self.lastHeard = now
        self.unheardProbes = 0
        self.isReopened = false
        if isWorking, self.unrecordedSince != nil { self.unrecordedSince = now }
        let end = now.advanced(by: wait)
        for index in self.taken.indices {
            self.taken[index].until = isWorking ? end : min(self.taken[index].until, end)
        }
    }

    /// What the broker took long enough ago without an acknowledgement is to be sent again, where those who lack it were heard
    /// since.
    mutating func resend(now: MonotonicTime) {
        let last = self.lastHeard
        let due = self.taken.prefix { entry in entry.until <= now && last.map { $0 >= entry.since } ?? false }
        guard !due.isEmpty else { return }
        self.taken.removeFirst(due.count)
        for entry in due { self.sendAgain(entry.seqs, of: entry.batch, now: now) }
        if let stalled = self.stalledThrough, !self.taken.contains(where: { $0.seqs.first ?? .max <= stalled }) {
            self.stalledThrough = nil
        }
    }

    /// Publishes the oldest unacknowledged batch again while the recorders that lack it are silent, which a recorder that is there
    /// answers. The rest waits on, and so does everything newer.
    ///
    /// - Parameters:
    ///   - count: The greatest number of records where no batch but updates brought the oldest.
    ///   - stalls: `true` where newer records wait until a recorder answers.
    mutating func probe(_ count: Int, stalls: Bool, now: MonotonicTime, wait: Duration) {
        guard let oldest = self.taken.min(by: { $0.seqs.first ?? .max < $1.seqs.first ?? .max }) else { return }
        self.unheardProbes += 1
        if stalls { self.stalledThrough = max(self.stalledThrough ?? 0, self.taken.compactMap(\.seqs.last).max() ?? 0) }
        let rest = self.taken.filter { $0.batch != nil && $0.batch != oldest.batch }
        var loose = self.taken.reduce(into: SeqSet()) { if $1.batch == nil { $0.formUnion($1.seqs) } }
        var first = SeqSet()
        if let batch = oldest.batch {
            for entry in self.taken where entry.batch == batch { first.formUnion(entry.seqs) }
        } else {
            let end = rest.compactMap(\.seqs.first).min()
            first = (end.map { loose.through($0 - 1) } ?? loose).prefix(count)
            loose.subtract(first)
        }
        let until = now.advanced(by: wait)
        self.taken = rest.map { Taken(seqs: $0.seqs, batch: $0.batch, since: now, until: until) }
        if !loose.isEmpty { self.taken.append(Taken(seqs: loose, batch: nil, since: now, until: until)) }
        self.sendAgain(first, of: oldest.batch, now: now)
    }

    /// Newer records wait no more for silent recorders: everything that the broker took goes again before them, in order.
    mutating func endStall(now: MonotonicTime) {
        guard self.stalledThrough != nil else { return }
        self.stalledThrough = nil
        self.sendAgain(above: 0, now: now)
    }

    /// What is still there above `seq` is to be sent again.
    mutating func sendAgain(above seq: UInt64, now: MonotonicTime) {
        let taken = self.taken
        self.taken = []
        for entry in taken {
            self.sendAgain(entry.seqs.from(seq + 1), of: entry.batch, now: now)
            let rest = entry.seqs.through(seq)
            guard !rest.isEmpty else { continue }
            self.taken.append(Taken(seqs: rest, batch: entry.batch, since: entry.since, until: entry.until))
        }
        self.sendAgain(self.stored.from(seq + 1), of: nil, now: now)
    }

    /// These are to be sent again, as far as they are still there.
    private mutating func sendAgain(_ seqs: SeqSet, of batch: String?, now: MonotonicTime) {
        let there = seqs.intersection(self.stored)
        guard !there.isEmpty else { return }
        self.pending.formUnion(there)
        if let batch { self.repeats.append(Repeat(batch: batch, seqs: there)) }
        self.waitingSince = self.waitingSince ?? now
        // They have waited already.
        self.hurry(through: there.last ?? 0)
    }

    /// What is there up to `seq` waits no more for company.
    mutating func hurry(through seq: UInt64) { self.urgentThrough = max(self.urgentThrough, seq) }

    /// Less than a batch was sent: what comes now waits for company anew.
    mutating func windowRestarted(now: MonotonicTime) {
        self.waitingSince = self.pending.isEmpty ? nil : now
    }

    private mutating func pendingMayHaveEnded() {
        guard self.pending.isEmpty else { return }
        self.waitingSince = nil
        // What is being written was meant as well.
        if self.urgentThrough <= self.last { self.urgentThrough = 0 }
    }
}
