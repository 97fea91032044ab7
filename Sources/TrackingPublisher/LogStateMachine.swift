import TrackingCore

/// Decides about the device's log: transactions of new records, removals of acknowledged records, and trimming to
/// limits.
///
/// It also decides which records wait while the log is closed because of damage. It uses no file and no clock: the time
/// is an argument. ``LogWorker`` adds jobs, carries out each decision, and reports the outcome.
struct LogStateMachine: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias Place = LogWorker.Place

    /// One transaction that writes new records and named values to the log.
    struct Write: Hashable, Sendable {
        /// The new records that the transaction writes, oldest first.
        var entries: [SpoolEntry]
        /// The named values that the transaction stores beside the records; `nil` deletes a value.
        var state: [String: [UInt8]?]
        /// `true` if this transaction writes the last of the records that wait to be written. Only that transaction also
        /// writes the named values of the log.
        var isLast: Bool
    }

    /// The largest number of records that one transaction writes to the log.
    static let maximumWrite = 10_000
    /// The number of acknowledged records at which their removal from the log is due at once: 1,000.
    static let removalsAtOnce = 1000
    /// The time after which the removal of acknowledged records from the log is due, even if there are fewer than
    /// ``removalsAtOnce``. The log's worker removes them after its next jobs.
    static let longestRemovalWait: Duration = .seconds(1)

    private(set) var outage: LogOutage
    private var trimming = LogTrimming()
    /// The new records that wait to be written to the log, in order.
    private(set) var entries: [SpoolEntry] = []
    /// The named values (such as the state of a trip) that the next transactions write to the log; `nil` deletes a
    /// value.
    private var state: [String: [UInt8]?] = [:]
    /// The named values that the log rejected. A later transaction writes them, unless a newer value has the same name.
    private var unwritten: [String: [UInt8]?] = [:]
    /// The acknowledged records that are still to be removed from the log. They are collected, so that several removals
    /// share one transaction.
    ///
    /// If the program is killed before the removal, these records are sent once more.
    private var removals: [Place: SeqSet] = [:]
    private var removalsSince: Instant?

    init(outage: LogOutage = LogOutage()) { self.outage = outage }

    // MARK: - Jobs

    /// Adds a new record that a later transaction writes to the log.
    mutating func append(_ entry: SpoolEntry) { self.entries.append(entry) }

    /// Adds a named value that a later transaction stores in the log, in place of a waiting value of this name. `nil`
    /// deletes the stored value.
    mutating func set(_ name: String, _ value: [UInt8]?) { self.state[name] = .some(value) }

    /// Adds acknowledged records that are later removed from the log.
    mutating func remove(_ seqs: SeqSet, of place: Place, now: Instant) {
        self.removals[place, default: SeqSet()].formUnion(seqs)
        self.removalsSince = self.removalsSince ?? now
    }

    /// Moves look-ups to the front of the jobs, so that records around a look-up can share one transaction.
    ///
    /// A look-up searches the log for ingested records that arrived before. It stays behind new ingested records of the
    /// same trackable, because it must find them.
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

    /// Returns the next transaction to write; `nil` if nothing waits to be written or the log is closed.
    func nextWrite() -> Write? {
        guard !self.outage.isClosed, !self.entries.isEmpty || !self.state.isEmpty else { return nil }
        let part = Array(self.entries.prefix(Self.maximumWrite))
        let isLast = part.count == self.entries.count
        return Write(
            entries: part, state: isLast ? self.unwritten.merging(self.state) { $1 } : [:], isLast: isLast)
    }

    /// Handles that the log has written or rejected a transaction, which is no longer pending.
    ///
    /// - Parameter isWritten: `false` if the log rejected the transaction. Its records are then lost, and its values
    ///   are retried.
    mutating func didWrite(_ write: Write, isWritten: Bool) {
        self.entries.removeFirst(write.entries.count)
        guard write.isLast else { return }
        (self.state, self.unwritten) = ([:], isWritten ? [:] : write.state)
    }

    /// Handles that the log's worker ends: named values that could not be written to the log are pending again for a
    /// last transaction.
    mutating func willEnd() { self.state.merge(self.unwritten) { new, _ in new } }

    // MARK: - Removing

    /// Returns `true` if acknowledged records are to be removed from the log now: at least ``removalsAtOnce`` records
    /// wait for their removal, or some have waited for ``longestRemovalWait``.
    func areRemovalsDue(now: Instant) -> Bool {
        guard let since = self.removalsSince else { return false }
        return self.removals.values.reduce(0) { $0 + $1.count } >= Self.removalsAtOnce
            || since.advanced(by: Self.longestRemovalWait) <= now
    }

    /// Takes and returns the acknowledged records to remove from the log. It returns none while the log is closed.
    mutating func takeRemovals() -> [Place: SeqSet] {
        guard !self.outage.isClosed else { return [:] }
        defer { (self.removals, self.removalsSince) = ([:], nil) }
        return self.removals
    }

    // MARK: - Trimming

    /// Returns the limits to which the log is to be trimmed now; `nil` if no trimming is due or the log is closed.
    ///
    /// - Parameters:
    ///   - limits: The configured limits of the log.
    ///   - grew: `true` after records were written.
    ///   - knowsAges: Returns `false` if the device's clock cannot be trusted to judge the age of records. The result
    ///     then has no limit of age.
    mutating func trimIfDue(_ limits: SpoolLimits, grew: Bool, knowsAges: () -> Bool, now: Instant) -> SpoolLimits? {
        guard !self.outage.isClosed, var due = self.trimming.due(limits, grew: grew, now: now) else { return nil }
        if due.maximumAge != nil, !knowsAges() { due.maximumAge = nil }
        return due
    }

    // MARK: - Outage

    /// Returns `true` if the closed log is to be opened again now, and remembers the attempt.
    ///
    /// - Parameter isLast: `true` for the last attempt before the log's worker ends. That attempt is made even if the
    ///   previous one was recent.
    mutating func mayReopen(isLast: Bool = false, now: Instant) -> Bool { self.outage.mayTry(isLast: isLast, now: now) }

    /// Registers that the closed log was opened again, so that the waiting records can be written.
    mutating func didReopen() { self.outage.opened() }

    /// Registers the error of a failed attempt to open the closed log.
    ///
    /// - Returns: `true` for the first error since the log was closed, and for an error that differs from the one
    ///   before. Only such errors are logged.
    mutating func didFailToReopen(_ error: TrackingError, now: Instant) -> Bool {
        self.outage.failed(error, now: now)
    }

    /// Removes and returns the waiting records that will not be written because the log is closed, with the log's
    /// error; `nil` while the log is open.
    ///
    /// All waiting records are returned once the log was closed for ``LogOutage/patience``. Before that, only those
    /// beyond ``LogOutage/maximumBytes`` are returned.
    ///
    /// - Parameter all: `true` to return every waiting record, at the end of the program.
    mutating func giveUp(all: Bool = false, now: Instant) -> (entries: [SpoolEntry], reason: TrackingError)? {
        guard let error = self.outage.error else { return nil }
        let kept = all ? 0 : self.outage.patience(with: self.entries, now: now)
        defer { self.entries.removeSubrange(kept...) }
        return (Array(self.entries[kept...]), error)
    }

    /// Returns the times at which the log's worker must wake even without a job: to try to open a closed log again, or
    /// to check the ages of records. Each time is returned once.
    mutating func takeAlarms(now: Instant) -> [Instant] {
        [
            self.outage.takeAlarm() ? now.advanced(by: self.outage.pause) : nil, self.trimming.takeAlarm(now: now),
        ].compactMap { $0 }
    }
}
