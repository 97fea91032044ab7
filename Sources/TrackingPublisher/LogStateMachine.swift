import TrackingCore

/// Decides for ``LogWorker`` which records share a transaction, when removals are due, when the log is trimmed, and
/// which records wait for a log that is closed for damage. It uses no file and no clock: the time is an argument.
///
/// ``LogWorker`` adds jobs, carries out each decision, and reports the outcome.
struct LogStateMachine: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias Place = LogWorker.Place

    /// One transaction of new records and values.
    struct Write: Hashable, Sendable {
        /// The records, oldest first.
        var entries: [SpoolEntry]
        /// The values by name; `nil` deletes a value.
        var state: [String: [UInt8]?]
        /// `true` for the last transaction of the waiting records. Only that one has values.
        var isLast: Bool
    }

    /// The most records of one transaction.
    static let maximumWrite = 10_000
    /// The number of records from which removals are due at once: five batches of the usual size.
    static let removalsAtOnce = 1000
    /// The longest time that a removal waits.
    static let longestRemovalWait: Duration = .seconds(1)

    private(set) var outage: LogOutage
    private var trimming = LogTrimming()
    /// The records to write, in order.
    private(set) var entries: [SpoolEntry] = []
    /// The values to write.
    private var state: [String: [UInt8]?] = [:]
    /// The values that could not be written: they are written with the next transaction, unless there is a newer value.
    private var unwritten: [String: [UInt8]?] = [:]
    /// The acknowledged records to remove. Several removals share one transaction. If the program is killed before
    /// it, these records are sent once more.
    private var removals: [Place: SeqSet] = [:]
    private var removalsSince: Instant?

    init(outage: LogOutage = LogOutage()) { self.outage = outage }

    // MARK: - Jobs

    /// Adds a record to write.
    mutating func append(_ entry: SpoolEntry) { self.entries.append(entry) }

    /// Adds a value to write, in place of an earlier value of this name.
    mutating func set(_ name: String, _ value: [UInt8]?) { self.state[name] = .some(value) }

    /// Adds acknowledged records to remove.
    mutating func remove(_ seqs: SeqSet, of place: Place, now: Instant) {
        self.removals[place, default: SeqSet()].formUnion(seqs)
        self.removalsSince = self.removalsSince ?? now
    }

    /// Moves look-ups to the front, so that a look-up between two records does not divide their transaction. A look-up
    /// stays behind the marked records of its own trackable, which it has to find.
    static func findingFirst(_ jobs: [LogWorker.Job]) -> [LogWorker.Job] {
        var (first, others): ([LogWorker.Job], [LogWorker.Job]) = ([], [])
        var marked = Set<TrackableID>()
        for job in jobs {
            switch job {
            case .action(let id, .find) where !marked.contains(id):
                first.append(job)
                continue
            case .action(let id, .append(_, _, .some)): marked.insert(id)
            default: break
            }
            others.append(job)
        }
        return first + others
    }

    // MARK: - Writing

    /// Returns the next transaction; `nil` when nothing waits or the log is closed.
    func nextWrite() -> Write? {
        guard !self.outage.isClosed, !self.entries.isEmpty || !self.state.isEmpty else { return nil }
        let part = Array(self.entries.prefix(Self.maximumWrite))
        let isLast = part.count == self.entries.count
        return Write(
            entries: part, state: isLast ? self.unwritten.merging(self.state) { $1 } : [:], isLast: isLast)
    }

    /// The log has written or rejected a transaction. A transaction remains pending as a whole when the log was
    /// closed meanwhile.
    ///
    /// - Parameter isWritten: `false` when the log rejected the transaction. Its records are lost to the log; its
    ///   values are retried.
    mutating func didWrite(_ write: Write, isWritten: Bool) {
        self.entries.removeFirst(write.entries.count)
        guard write.isLast else { return }
        (self.state, self.unwritten) = ([:], isWritten ? [:] : write.state)
    }

    /// The worker ends, so the values that could not be written are retried.
    mutating func willEnd() { self.state.merge(self.unwritten) { new, _ in new } }

    // MARK: - Removing

    /// Returns `true` when the removals are due, because they are many or old.
    func areRemovalsDue(now: Instant) -> Bool {
        guard let since = self.removalsSince else { return false }
        return self.removals.values.reduce(0) { $0 + $1.count } >= Self.removalsAtOnce
            || since.advanced(by: Self.longestRemovalWait) <= now
    }

    /// Removes and returns the pending removals; returns none while the log is closed.
    mutating func takeRemovals() -> [Place: SeqSet] {
        guard !self.outage.isClosed else { return [:] }
        defer { (self.removals, self.removalsSince) = ([:], nil) }
        return self.removals
    }

    // MARK: - Trimming

    /// Returns the limits to trim the log to now; `nil` when no trimming is due or the log is closed.
    ///
    /// - Parameters:
    ///   - limits: The limits in force.
    ///   - grew: `true` after records were written.
    ///   - knowsAges: Returns `false` while the clock cannot determine the age of records; no record is dropped for
    ///     its age then.
    mutating func trimIfDue(_ limits: SpoolLimits, grew: Bool, knowsAges: () -> Bool, now: Instant) -> SpoolLimits? {
        guard !self.outage.isClosed, var due = self.trimming.due(limits, grew: grew, now: now) else { return nil }
        if due.maximumAge != nil, !knowsAges() { due.maximumAge = nil }
        return due
    }

    // MARK: - Outage

    /// Returns `true` when the log is to be opened again now.
    ///
    /// - Parameter isLast: `true` at the end of the worker. That attempt is made even if the one before was recent.
    mutating func mayReopen(isLast: Bool = false, now: Instant) -> Bool { self.outage.mayTry(isLast: isLast, now: now) }

    /// The log is open again.
    mutating func didReopen() { self.outage.opened() }

    /// The log could not be opened.
    ///
    /// - Returns: `true` for a new error, which is to be logged.
    mutating func didFailToReopen(_ error: TrackingError, now: Instant) -> Bool {
        self.outage.failed(error, now: now)
    }

    /// Removes and returns the records that no longer wait for a closed log, with the reason; `nil` while the log is
    /// open.
    ///
    /// - Parameter all: `true` at the end of the worker, when no record can wait.
    mutating func giveUp(all: Bool = false, now: Instant) -> (entries: [SpoolEntry], reason: TrackingError)? {
        guard let error = self.outage.error else { return nil }
        let kept = all ? 0 : self.outage.patience(with: self.entries, now: now)
        defer { self.entries.removeSubrange(kept...) }
        return (Array(self.entries[kept...]), error)
    }

    /// Returns the moments at which the worker has to wake although no job comes; each moment is returned once.
    mutating func takeAlarms(now: Instant) -> [Instant] {
        [
            self.outage.takeAlarm() ? now.advanced(by: self.outage.pause) : nil, self.trimming.takeAlarm(now: now),
        ].compactMap { $0 }
    }
}
