/// The records of one stream in a log.
public struct StoredStream: Hashable, Sendable {
    /// The id of the stream.
    public var id: StreamID
    /// The numbers of the records on disk.
    public var stored: SeqSet
    /// The highest number ever assigned in the stream; 0 for none.
    public var last: UInt64

    /// Makes a description.
    public init(id: StreamID, stored: SeqSet = SeqSet(), last: UInt64 = 0) {
        self.id = id
        self.stored = stored
        self.last = last
    }
}

/// The state of one stream while its records are sent: which are on disk, and how far each has come.
struct SpoolStream: Hashable, Sendable {
    let id: StreamID
    /// The records on disk.
    private(set) var stored: SeqSet
    /// The records on disk that the broker has not acknowledged, as far as is known. The recording lane has to send
    /// them.
    private(set) var pending: SeqSet
    /// The records that the broker acknowledged and that wait for the recorders, by batch.
    private var taken: [Taken] = []
    /// Batches that are to be published again. Their records are in `pending`.
    private(set) var repeats: [Repeat] = []
    /// The answers of the recorders, and the waits for them.
    private(set) var recorders = Recorders()
    /// The records in flight on the live lane.
    private(set) var live = SeqSet()
    /// The highest number that was written or given up.
    private(set) var last: UInt64
    /// The last number when the stream was taken from the opened log.
    let lastTakenOver: UInt64
    /// `true` when the stream has ended: no higher number will follow.
    var isEnded: Bool
    /// `true` when the numbers above ``lastTakenOver`` were assigned twice. Their records are appended again to another
    /// stream.
    private(set) var isReused = false
    /// `true` when a batch must be sent even without records, to declare the end of the stream or gone records.
    var needsDeclaration: Bool
    /// The time since which records are pending; `nil` when none are.
    private(set) var waitingSince: MonotonicTime?
    /// The number up to which pending records are sent without waiting for a full batch.
    private(set) var urgentThrough: UInt64 = 0

    /// The answers of the recorders of one stream, and the waits for them.
    struct Recorders: Hashable, Sendable {
        /// While the recorders are silent, the last record that the broker acknowledged before the silence was detected.
        /// Newer records wait.
        var stalledThrough: UInt64?
        /// The time of the last message of a recorder that lacks records of this stream.
        var lastAnswer: MonotonicTime?
        /// The number of batches that were repeated since then to provoke an answer.
        var unansweredProbes = 0
        /// `true` when no recorder has answered since a reconnection.
        var isReopened = false
        /// The time since which records wait for a recorder without progress; `nil` when no record waits.
        var unrecordedSince: MonotonicTime?
    }

    /// Records that the broker acknowledged and that some recorder has not acknowledged.
    private struct Taken: Sendable {
        var seqs: SeqSet
        /// The id of their batch; `nil` for records of updates on the live lane or of several batches.
        let batch: String?
        var since: MonotonicTime
        /// The time at which they are published again.
        var until: MonotonicTime
    }

    /// A batch that is to be published again with those of its records that are still on disk.
    struct Repeat: Hashable, Sendable {
        let batch: String
        var seqs: SeqSet
    }

    /// The maximum number of batches whose ids are remembered. Further batches are repeated with another id.
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

    /// The records that a batch may contain: pending, not in flight on the live lane, not behind a silent recorder.
    var ready: SeqSet {
        var ready = self.recorders.stalledThrough.map(self.pending.through) ?? self.pending
        if !self.live.isEmpty { ready.subtract(self.live) }
        return ready
    }

    /// `true` when a batch could contain records.
    var hasReady: Bool {
        self.live.isEmpty && self.recorders.stalledThrough == nil ? !self.pending.isEmpty : !self.ready.isEmpty
    }

    /// Returns the records of the next batch, at most `maximum`, and the id of the batch that they repeat.
    ///
    /// A repeated batch contains only its own records.
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

    /// Records that these records are in a batch now, so that the batches that contained them are not due again.
    mutating func batched(_ seqs: SeqSet) {
        guard !self.repeats.isEmpty else { return }
        self.repeats.removeAll { !$0.seqs.intersection(seqs).isEmpty }
    }

    /// The lowest number that the device still has.
    var oldest: UInt64 { self.stored.first ?? self.last + 1 }

    /// The time at which the first record waiting for a recorder is sent again.
    var resendDeadline: MonotonicTime? { self.taken.first?.until }

    /// `true` when all records are safe and everything was declared.
    var isDone: Bool { self.isEnded && self.stored.isEmpty && !self.needsDeclaration }

    /// Ends the stream because its last numbers were assigned twice.
    ///
    /// - Returns: The records with such a number. They leave the stream.
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

    /// Records that could not be written. They will be declared gone.
    mutating func givenUp(_ seqs: SeqSet) { self.last = max(self.last, seqs.last ?? 0) }

    mutating func sentLive(_ seqs: SeqSet) { self.live.formUnion(seqs) }

    mutating func liveEnded(_ seqs: SeqSet) { self.live.subtract(seqs) }

    /// Handles records that the broker acknowledged. With recorders, they wait for an acknowledgement at least as long
    /// as the records before them.
    ///
    /// - Parameters:
    ///   - seqs: The records.
    ///   - batch: The id of their batch; `nil` for an update on the live lane.
    ///   - now: The time on the monotonic clock.
    ///   - wait: The time to wait for the recorders.
    mutating func taken(_ seqs: SeqSet, by batch: String?, now: MonotonicTime, wait: Duration) {
        self.pending.subtract(seqs)
        let there = seqs.intersection(self.stored)
        let until = max(now.advanced(by: wait), self.taken.last?.until ?? now)
        guard !there.isEmpty else { return self.pendingMayHaveEnded() }
        self.recorders.unrecordedSince = self.recorders.unrecordedSince ?? now
        let isFull = self.taken.count >= Self.maximumTaken
        if isFull, let last = self.taken.indices.last, self.taken[last].batch == nil {
            self.taken[last].seqs.formUnion(there)
            (self.taken[last].since, self.taken[last].until) = (now, until)
        } else {
            self.taken.append(Taken(seqs: there, batch: isFull ? nil : batch, since: now, until: until))
        }
        self.pendingMayHaveEnded()
    }

    /// Removes records that are no longer on the device: safe, dropped or quarantined.
    mutating func removed(_ seqs: SeqSet) {
        self.stored.subtract(seqs)
        self.pending.subtract(seqs)
        for index in self.taken.indices { self.taken[index].seqs.subtract(seqs) }
        self.taken.removeAll { $0.seqs.isEmpty }
        if self.stored.isEmpty { self.recorders.unrecordedSince = nil }
        for index in self.repeats.indices { self.repeats[index].seqs.subtract(seqs) }
        self.repeats.removeAll { $0.seqs.isEmpty }
        if let stalled = self.recorders.stalledThrough, self.stored.first ?? .max > stalled {
            self.recorders.stalledThrough = nil
        }
        self.pendingMayHaveEnded()
    }

    /// Handles a reconnection. If the recorders answered on the previous connection, records waiting for them are
    /// repeated soon, because the broker may have lost records or acknowledgements with that connection.
    mutating func reopened(now: MonotonicTime, wait: Duration) {
        guard self.recorders.unansweredProbes == 0 else { return }
        self.recorders.isReopened = true
        let end = now.advanced(by: wait)
        for index in self.taken.indices { self.taken[index].until = min(self.taken[index].until, end) }
    }

    /// Handles a message of a recorder that lacks records of this stream.
    ///
    /// - Parameters:
    ///   - isWorking: `true` when its acknowledgement made records safe. Then the remaining records may be on their way
    ///     to it.
    ///   - now: The time on the monotonic clock.
    ///   - wait: The time to wait for the recorder before records are sent again.
    mutating func recorderAnswered(isWorking: Bool, now: MonotonicTime, wait: Duration) {
        self.recorders.lastAnswer = now
        self.recorders.unansweredProbes = 0
        self.recorders.isReopened = false
        if isWorking, self.recorders.unrecordedSince != nil { self.recorders.unrecordedSince = now }
        let end = now.advanced(by: wait)
        for index in self.taken.indices {
            self.taken[index].until = isWorking ? end : min(self.taken[index].until, end)
        }
    }

    /// Schedules records for sending again when their wait is over and a recorder that lacks them answered since they
    /// were sent.
    mutating func resend(now: MonotonicTime) {
        let last = self.recorders.lastAnswer
        let due = self.taken.prefix { entry in entry.until <= now && last.map { $0 >= entry.since } ?? false }
        guard !due.isEmpty else { return }
        self.taken.removeFirst(due.count)
        for entry in due { self.sendAgain(entry.seqs, of: entry.batch, now: now) }
        if let stalled = self.recorders.stalledThrough,
            !self.taken.contains(where: { $0.seqs.first ?? .max <= stalled })
        {
            self.recorders.stalledThrough = nil
        }
    }

    /// Schedules the oldest unacknowledged batch for sending again while the recorders that lack it are silent. A
    /// running recorder answers it. All other records wait.
    ///
    /// - Parameters:
    ///   - count: The maximum number of records when the oldest were sent on the live lane and not in a batch.
    ///   - stalls: `true` when newer records wait until a recorder answers.
    ///   - now: The time on the monotonic clock.
    ///   - wait: The time until the next probe.
    mutating func probe(_ count: Int, stalls: Bool, now: MonotonicTime, wait: Duration) {
        guard let oldest = self.taken.min(by: { $0.seqs.first ?? .max < $1.seqs.first ?? .max }) else { return }
        self.recorders.unansweredProbes += 1
        if stalls {
            self.recorders.stalledThrough = max(
                self.recorders.stalledThrough ?? 0, self.taken.compactMap(\.seqs.last).max() ?? 0)
        }
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

    /// Ends the wait for silent recorders. All records that wait for them are sent again first, in order.
    mutating func endStall(now: MonotonicTime) {
        guard self.recorders.stalledThrough != nil else { return }
        self.recorders.stalledThrough = nil
        self.sendAgain(above: 0, now: now)
    }

    /// Schedules all records above `seq` that are still on disk for sending again.
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

    /// Schedules records for sending again, if they are still on disk.
    private mutating func sendAgain(_ seqs: SeqSet, of batch: String?, now: MonotonicTime) {
        let there = seqs.intersection(self.stored)
        guard !there.isEmpty else { return }
        self.pending.formUnion(there)
        if let batch { self.repeats.append(Repeat(batch: batch, seqs: there)) }
        self.waitingSince = self.waitingSince ?? now
        // The records have waited long enough.
        self.hurry(through: there.last ?? 0)
    }

    /// Sends pending records up to `seq` without waiting for a full batch.
    mutating func hurry(through seq: UInt64) { self.urgentThrough = max(self.urgentThrough, seq) }

    /// Starts the wait for a full batch again after a smaller one was sent.
    mutating func windowRestarted(now: MonotonicTime) {
        self.waitingSince = self.pending.isEmpty ? nil : now
    }

    private mutating func pendingMayHaveEnded() {
        guard self.pending.isEmpty else { return }
        self.waitingSince = nil
        // A request also applies to records that are being written.
        if self.urgentThrough <= self.last { self.urgentThrough = 0 }
    }
}
