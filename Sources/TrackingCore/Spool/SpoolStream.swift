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
    /// Taken by the broker and waiting for the recorders: sent again when the wait is over.
    private var taken: [(seqs: SeqSet, since: MonotonicTime, until: MonotonicTime)] = []
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

    /// What the next batch may take: not what is on its way already.
    var ready: SeqSet {
        guard !self.live.isEmpty else { return self.pending }
        var ready = self.pending
        ready.subtract(self.live)
        return ready
    }

    /// Whether a batch could take anything.
    var hasReady: Bool { self.live.isEmpty ? !self.pending.isEmpty : !self.ready.isEmpty }

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
    mutating func taken(_ seqs: SeqSet, now: MonotonicTime, wait: Duration) {
        self.pending.subtract(seqs)
        let there = seqs.intersection(self.stored)
        let until = max(now.advanced(by: wait), self.taken.last?.until ?? now)
        if !there.isEmpty {
            self.taken.append((there, now, until))
            self.unrecordedSince = self.unrecordedSince ?? now
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
        while let first = self.taken.first, first.until <= now, self.lastHeard.map({ $0 >= first.since }) ?? false {
            self.taken.removeFirst()
            self.sendAgain(first.seqs, now: now)
        }
    }

    /// Those who lack what the broker took say nothing: the first `count` of it are to be sent again, which whoever is there
    /// answers, and the rest waits on.
    mutating func probe(_ count: Int, now: MonotonicTime, wait: Duration) {
        self.unheardProbes += 1
        var rest = self.taken.reduce(into: SeqSet()) { $0.formUnion($1.seqs) }
        let first = rest.prefix(count)
        rest.subtract(first)
        self.taken = rest.isEmpty ? [] : [(rest, now, now.advanced(by: wait))]
        self.sendAgain(first, now: now)
    }

    /// What is still there above `seq` is to be sent again.
    mutating func sendAgain(above seq: UInt64, now: MonotonicTime) {
        var above = self.stored
        above.remove(0...seq)
        self.sendAgain(above, now: now)
    }

    /// These are to be sent again, as far as they are still there.
    private mutating func sendAgain(_ seqs: SeqSet, now: MonotonicTime) {
        let there = seqs.intersection(self.stored)
        guard !there.isEmpty else { return }
        self.pending.formUnion(there)
        for index in self.taken.indices { self.taken[index].seqs.subtract(there) }
        self.taken.removeAll { $0.seqs.isEmpty }
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
