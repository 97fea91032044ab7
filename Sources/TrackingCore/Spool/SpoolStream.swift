/// A stream in a device's log: the numbered sequence of records of one trackable.
public struct StoredStream: Hashable, Sendable {
    /// The id of the stream.
    public var id: StreamID
    /// The numbers of those records of the stream that are in the log, and not quarantined.
    public var stored: SeqSet
    /// The highest record number ever used in the stream; 0 when none was used.
    public var last: UInt64

    /// Makes the description of a stream in the log from its id, the numbers of its stored records, and the highest
    /// number ever used in it.
    public init(id: StreamID, stored: SeqSet = SeqSet(), last: UInt64 = 0) {
        self.id = id
        self.stored = stored
        self.last = last
    }
}

/// The state of one stream while its records are sent: the records in the log, and the acknowledgements of the broker
/// and of the recorders.
struct SpoolStream: Hashable, Sendable {
    let id: StreamID
    /// The numbers of the stream's records that are in the log.
    private(set) var stored: SeqSet
    /// The numbers of the records in the log that have to be sent: the broker has not acknowledged them, or they must
    /// be sent again.
    private(set) var pending: SeqSet
    /// The records that the broker has acknowledged but that still wait for a recorder, in groups by batch.
    private var taken: [Taken] = []
    /// The batches that are to be sent again under their old ids. Their records are also in ``pending``, except records
    /// that were acknowledged meanwhile.
    private(set) var repeats: [Repeat] = []
    /// The highest record number that may be sent while the recorders are silent; `nil` while the recorders answer.
    /// Records above this number wait. It is the last number that the broker had acknowledged when the silence was
    /// noticed.
    private(set) var stalledThrough: UInt64?
    /// The times and counts that show if the recorders answer about the records of this stream.
    private(set) var answers = RecorderAnswers()
    /// The time since which records have waited for the recorders without any new acknowledgement; `nil` when no record
    /// waits.
    private(set) var unrecordedSince: MonotonicTime?
    /// The numbers of the records that were published as the newest position, outside a batch, and that the broker has
    /// not answered yet.
    private(set) var live = SeqSet()
    /// The highest number of a record that was written to the log, or whose writing failed.
    private(set) var last: UInt64
    /// The highest number of the stream when this program opened the log; 0 for a stream that began later.
    let lastTakenOver: UInt64
    /// `true` when the stream has ended: no record with a higher number will follow in it.
    var isEnded: Bool
    /// `true` when the log was restored from an old copy. Record numbers above ``lastTakenOver``, the highest number
    /// when this program opened the log, were then assigned twice. The records with these numbers are appended to
    /// another stream.
    private(set) var isReused = false
    /// `true` when a batch must be sent even without records. It informs the recorders of lost records or of the end of
    /// the stream.
    var needsDeclaration: Bool
    /// The time since which a batch of this stream that is not full waits for more records; `nil` when no unsent record
    /// waits. The wait begins anew after the broker acknowledged a batch.
    private(set) var waitingSince: MonotonicTime?
    /// The record number up to which unsent records of this stream are sent now, without waiting for a full batch.
    private(set) var urgentThrough: UInt64 = 0

    /// Records that the broker has acknowledged and that wait for the acknowledgement of a required recorder.
    private struct Taken: Sendable {
        var seqs: SeqSet
        /// The id of the batch in which the records were sent; `nil` for records that were published outside a batch or
        /// in several batches.
        let batch: String?
        var since: MonotonicTime
        /// The time at which these records are sent again if no recorder has acknowledged them by then.
        var until: MonotonicTime
    }

    /// A batch that is to be sent again under the same id. It contains only those of its records that are still in the
    /// log.
    struct Repeat: Hashable, Sendable {
        let batch: String
        var seqs: SeqSet
    }

    /// The maximum number of batches whose ids are remembered after the broker acknowledged them. The records of
    /// further batches get a new batch id when they are sent again.
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

    /// The numbers of the records of this stream that may be put into a batch now. They are unsent, and are not being
    /// published outside a batch. While the recorders are silent, records above ``stalledThrough`` are left out.
    var ready: SeqSet {
        var ready = self.stalledThrough.map(self.pending.through) ?? self.pending
        if !self.live.isEmpty { ready.subtract(self.live) }
        return ready
    }

    /// `true` when at least one record of this stream may be put into a batch now.
    var hasReady: Bool {
        self.live.isEmpty && self.stalledThrough == nil ? !self.pending.isEmpty : !self.ready.isEmpty
    }

    /// Returns the numbers of the records that the next batch of this stream must contain, at most `maximum` of them,
    /// and the id of the batch. The id is `nil` for a new batch. A batch that is sent again keeps its id and contains
    /// no other records than before. If it has more than `maximum` records, it is divided into new batches.
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

    /// Registers that these records were put into the next batch. An earlier batch that waited to be sent again and
    /// contains one of them is no longer sent as a batch of its own under its old id.
    mutating func batched(_ seqs: SeqSet) {
        guard !self.repeats.isEmpty else { return }
        self.repeats.removeAll { !$0.seqs.intersection(seqs).isEmpty }
    }

    /// The lowest number of a record of this stream in the log. If the log has none, it is the number after the last
    /// one.
    var oldest: UInt64 { self.stored.first ?? self.last + 1 }

    /// The earliest time at which records of this stream that wait for a recorder are sent again; `nil` when none wait.
    var resendDeadline: MonotonicTime? { self.taken.first?.until }

    /// `true` when the stream is complete: it has ended, none of its records is in the log, and the recorders were
    /// informed of its end and its lost records.
    var isDone: Bool { self.isEnded && self.stored.isEmpty && !self.needsDeclaration }

    /// Ends the stream, because its newest numbers were used for two different records each.
    ///
    /// - Returns: The numbers of the records in the log that have such a number. They no longer belong to the stream.
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

    /// Registers that records with these numbers could not be written to the log. The numbers are used up; the
    /// recorders will be informed that the records are lost.
    mutating func givenUp(_ seqs: SeqSet) { self.last = max(self.last, seqs.last ?? 0) }

    mutating func sentLive(_ seqs: SeqSet) { self.live.formUnion(seqs) }

    mutating func liveEnded(_ seqs: SeqSet) { self.live.subtract(seqs) }

    /// Registers that the broker acknowledged records. They now wait for the acknowledgement of the recorders.
    ///
    /// - Parameters:
    ///   - seqs: The numbers of the records.
    ///   - batch: The id of their batch; `nil` for records that were published outside a batch.
    ///   - now: The time on the monotonic clock.
    ///   - wait: The time after which the records are sent again without an acknowledgement. They are not sent again
    ///     before the records that wait already.
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

    /// Registers that records left the log, for example because they are safe, dropped or quarantined. They are no
    /// longer sent, and no acknowledgement of them is awaited.
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

    /// Handles a reconnection to the broker. The broker may have lost records or acknowledgements with the previous
    /// connection. Therefore, records that wait for a recorder are sent again already after `wait`. Nothing changes
    /// while a batch that was sent again to get a recorder's answer is unanswered.
    mutating func reopened(now: MonotonicTime, wait: Duration) {
        guard self.answers.reopened() else { return }
        let end = now.advanced(by: wait)
        for index in self.taken.indices { self.taken[index].until = min(self.taken[index].until, end) }
    }

    /// Handles a message from a recorder, which shows that the recorder runs. The records of this stream that still
    /// wait for an acknowledgement are then sent again after `wait` at the latest.
    ///
    /// - Parameters:
    ///   - isWorking: `true` when the message acknowledged further records. The recorder is then given the full `wait`
    ///     for the remaining ones.
    ///   - now: The time on the monotonic clock.
    ///   - wait: The time to wait for the recorder before records are sent again.
    mutating func recorderAnswered(isWorking: Bool, now: MonotonicTime, wait: Duration) {
        self.answers.answered(now: now)
        if isWorking, self.unrecordedSince != nil { self.unrecordedSince = now }
        let end = now.advanced(by: wait)
        for index in self.taken.indices {
            self.taken[index].until = isWorking ? end : min(self.taken[index].until, end)
        }
    }

    /// Arranges that records whose wait for a recorder's acknowledgement is over are sent again. Records that the
    /// broker acknowledged after a recorder last answered about the stream are excepted.
    mutating func resend(now: MonotonicTime) {
        let due = self.taken.prefix { $0.until <= now && self.answers.hasAnswered(since: $0.since) }
        guard !due.isEmpty else { return }
        self.taken.removeFirst(due.count)
        for entry in due { self.sendAgain(entry.seqs, of: entry.batch, now: now) }
        if let stalled = self.stalledThrough, !self.taken.contains(where: { $0.seqs.first ?? .max <= stalled }) {
            self.stalledThrough = nil
        }
    }

    /// Arranges that only the oldest unacknowledged batch is sent again, because the recorders do not answer. A
    /// recorder that runs again will answer the batch.
    ///
    /// - Parameters:
    ///   - count: The maximum number of records to send again, if the oldest ones were not sent in a batch.
    ///   - stalls: `true` when newer records are not sent until a recorder answers.
    ///   - now: The time on the monotonic clock.
    ///   - wait: The time until the oldest batch is sent once more.
    mutating func probe(_ count: Int, stalls: Bool, now: MonotonicTime, wait: Duration) {
        guard let oldest = self.taken.min(by: { $0.seqs.first ?? .max < $1.seqs.first ?? .max }) else { return }
        self.answers.probed()
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

    /// Ends the wait for silent recorders, if there is one. All records that the recorders have not acknowledged are
    /// sent again, before newer ones.
    mutating func endStall(now: MonotonicTime) {
        guard self.stalledThrough != nil else { return }
        self.stalledThrough = nil
        self.sendAgain(above: 0, now: now)
    }

    /// Arranges that all records of the stream with a number above `seq` are sent again, if they are still in the log.
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

    /// Arranges that the given records are sent again, except those that have left the log. If `batch` is given, they
    /// are sent under that batch id.
    private mutating func sendAgain(_ seqs: SeqSet, of batch: String?, now: MonotonicTime) {
        let there = seqs.intersection(self.stored)
        guard !there.isEmpty else { return }
        self.pending.formUnion(there)
        if let batch { self.repeats.append(Repeat(batch: batch, seqs: there)) }
        self.waitingSince = self.waitingSince ?? now
        // The records have waited long enough.
        self.hurry(through: there.last ?? 0)
    }

    /// Requests that unsent records up to number `seq` are sent now, without waiting for a full batch.
    mutating func hurry(through seq: UInt64) { self.urgentThrough = max(self.urgentThrough, seq) }

    /// Restarts the time for which a batch that is not full waits for more records. The caller does this after the
    /// broker acknowledged a batch, if fewer records than a full batch remain.
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
