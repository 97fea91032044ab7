import Synchronization
public import TrackingCore
import TrackingSQLite

/// A device's durable log in one SQLite file.
///
/// All calls of SQLite are made on one dedicated thread. Records that are appended while a transaction runs are written
/// together in the next transaction, so that many writers share one wait for the disk. While no transaction runs, a
/// record is written at once.
public final class SQLiteSpool: SpoolStorage {
    /// The degree of safety that an append has when it returns.
    public enum Durability: Hashable, Sendable {
        /// A record survives a power cut once its append has returned.
        case full
        /// A power cut may destroy the records that were appended last. A crash or an orderly end of the program
        /// destroys none.
        case normal
    }

    /// The path of the log's file.
    public let path: String
    private let durability: Durability
    private let checkedSize: Int64
    private let thread = SpoolThread()
    private let waiting = Mutex(SpoolJobs())
    private let file = Mutex<SpoolFile?>(nil)
    private let sweeping = Mutex(Sweeping())
    private let sweepPause: Duration
    private let overwritesRemoved: Bool

    /// The schedule for deleting the rows of many records that were removed from the log. This deletion waits for a
    /// pause in the reads, because it would slow them down. Besides, each append deletes a few such rows at once.
    private struct Sweeping {
        var isDue = false
        var lastReading: ContinuousClock.Instant?
    }

    private typealias Job = SpoolJobs.Job

    /// Makes a log. The file is not opened yet.
    ///
    /// - Parameters:
    ///   - path: The path of the file. Its folder must exist. The log adds files with the same name and the suffixes
    ///     `-wal`, `.closed`, `.lock`, `.reserve` and `.salvage`. A damaged log that was set aside has the suffix
    ///     `.damaged-` and the time.
    ///   - durability: The degree of safety that an append has when it returns.
    ///   - overwritesRemoved: `true` to overwrite the rows of removed records, at the cost of writes. See
    ///     ``erase(_:before:)``.
    public convenience init(path: String, durability: Durability = .full, overwritesRemoved: Bool = false) {
        self.init(path: path, durability: durability, sweepPause: .seconds(1), overwritesRemoved: overwritesRemoved)
    }

    /// Makes a log with settings for tests.
    ///
    /// - Parameters:
    ///   - checkedSize: The size in bytes up to which a log that was not closed in order is checked completely when it
    ///     is opened.
    ///   - sweepPause: The time without a read after which the rows of removed records are deleted.
    package init(
        path: String, durability: Durability = .full, checkedSize: Int64 = 32 << 20,
        sweepPause: Duration = .seconds(1), overwritesRemoved: Bool = false
    ) {
        self.path = path
        self.durability = durability
        self.checkedSize = checkedSize
        self.sweepPause = sweepPause
        self.overwritesRemoved = overwritesRemoved
    }

    /// The dedicated thread of the log, as an executor of tasks. See ``SpoolStorage/executor``.
    public var executor: (any TaskExecutor)? { self.thread }

    /// Opens the log, or creates it if there is none. See ``SpoolStorage/open(now:)``.
    public func open(now: UnixTime) async throws(TrackingError) -> SpoolContents {
        let (path, checkedSize, overwritesRemoved) = (self.path, self.checkedSize, self.overwritesRemoved)
        return try await self.perform(.alone) { file in
            guard file == nil else {
                throw TrackingError(.spoolFailed, "cannot open the log \(path): it is open already. Close it first")
            }
            let opening = SpoolOpening(path: path, checkedSize: checkedSize, now: now)
            let (opened, contents) = try opening.run()
            if overwritesRemoved { try opened.overwriteRemoved() }
            file = opened
            return contents
        }
    }

    /// Appends records to the log and stores values of the publisher, all or nothing. See
    /// ``SpoolStorage/append(_:state:now:knowsAges:)``.
    public func append(
        _ records: [SpoolEntry], state: [String: [UInt8]?], now: UnixTime, knowsAges: Bool
    ) async throws(TrackingError) {
        let growth = records.reduce(state.reduce(0) { $0 + ($1.value?.count ?? 0) + 64 }) {
            $0 + $1.record.payload.count + ($1.mark == nil ? 64 : 256)
        }
        let kind = Job.Kind.write(count: records.count, isDurable: self.durability == .full, growth: growth)
        try await self.performOpen(kind) { file, db in
            try file.append(records, state: state, now: now, knowsAges: knowsAges, db)
        } failed: { file in
            for entry in records { file?.book.gaveOut(entry.record.seq, of: entry.stream) }
        }
    }

    /// Returns the names (stream and number) of the ingested records that have the given marks. A mark is computed from
    /// a record's time and content, so that a repetition is recognized. See ``SpoolStorage/known(_:of:)``.
    public func known(
        _ marks: [RecordMark], of trackable: TrackableID
    ) async throws(TrackingError) -> [RecordMark: RecordName] {
        try await self.performOpen(.alone) { file, db in try file.known(marks, of: trackable, db) }
    }

    /// Reads the records with the given numbers of a stream from the log, in order of number, up to the given limits.
    /// See ``SpoolStorage/read(_:_:maximumCount:maximumBytes:)``.
    public func read(
        _ stream: StreamID, _ seqs: SeqSet, maximumCount: Int, maximumBytes: Int
    ) async throws(TrackingError) -> SpoolReading {
        self.sweeping.withLock { $0.lastReading = .now }
        return try await self.performOpen(.alone) { file, db in
            try file.readOrLetGo(stream, seqs, maximumCount: maximumCount, maximumBytes: maximumBytes, db)
        }
    }

    /// Removes records that are safely stored elsewhere from the log. See ``SpoolStorage/remove(_:of:)``.
    public func remove(_ seqs: SeqSet, of stream: StreamID) async throws(TrackingError) {
        try await self.performOpen(.write(count: seqs.count, isDurable: false)) { file, db in
            try file.remove(seqs, of: stream, db)
        }
    }

    /// Returns records in the log in the order in which they were appended. See
    /// ``SpoolStorage/waiting(after:through:maximumCount:)``.
    public func waiting(
        after place: Int64, through last: Int64, maximumCount: Int
    ) async throws(TrackingError) -> [WaitingRecord] {
        try await self.performOpen(.alone) { file, db in
            try file.waiting(after: place, through: last, maximumCount: maximumCount, db)
        }
    }

    /// Puts a record into quarantine, because the broker or the history can never accept it. See
    /// ``SpoolStorage/quarantine(_:of:reason:)``.
    public func quarantine(_ seq: UInt64, of stream: StreamID, reason: String) async throws(TrackingError) {
        try await self.performOpen(.write(count: 1, isDurable: true)) { file, db in
            try file.quarantine(seq, of: stream, reason: reason, db)
        }
    }

    /// Returns quarantined records, oldest first. See ``SpoolStorage/quarantined(after:maximumCount:)``.
    public func quarantined(
        after place: Int64, maximumCount: Int
    ) async throws(TrackingError) -> [QuarantinedRecord] {
        try await self.performOpen(.alone) { file, db in
            try file.quarantined(after: place, maximumCount: maximumCount, db)
        }
    }

    /// Moves quarantined records back to the backlog, the records that are still to be sent. See
    /// ``SpoolStorage/putBack(_:of:in:)``.
    public func putBack(
        _ records: [PutBackRecord], of trackable: TrackableID, in stream: StreamID
    ) async throws(TrackingError) {
        let growth = records.reduce(0) { $0 + $1.record.payload.count + 64 }
        try await self.performOpen(.write(count: records.count, isDurable: true, growth: growth)) { file, db in
            try file.putBack(records, of: trackable, in: stream, db)
        } failed: { file in
            for record in records { file?.book.gaveOut(record.record.seq, of: stream) }
        }
    }

    /// Deletes the quarantined records with the given places (row ids), or all of them if `nil` is given. Returns the
    /// number of deleted records. See ``SpoolStorage/dropQuarantined(_:)``.
    public func dropQuarantined(_ places: [Int64]?) async throws(TrackingError) -> Int {
        try await self.performOpen(.write(count: places?.count ?? 1, isDurable: true)) { file, db in
            try file.dropQuarantined(places, db)
        }
    }

    /// Removes a stream from the log, if the log has no records of it. See ``SpoolStorage/forget(_:)``.
    public func forget(_ stream: StreamID) async throws(TrackingError) {
        try await self.performOpen(.write(count: 1, isDurable: false)) { file, db in try file.forget(stream, db) }
    }

    /// Removes the oldest records until the log complies with the limits. See ``SpoolStorage/trim(to:now:)``.
    public func trim(to limits: SpoolLimits, now: UnixTime) async throws(TrackingError) -> [SpoolPart] {
        var gone: [StreamID: SpoolPart] = [:]
        while true {
            do throws(TrackingError) {
                guard let parts = try await self.trimSome(to: limits, now: now) else { return Array(gone.values) }
                for part in parts { gone[part.stream, default: part].seqs.formUnion(part.seqs) }
            } catch {
                // The records that were dropped before the error are returned. The next call throws the error again.
                guard gone.isEmpty else { return Array(gone.values) }
                throw error
            }
        }
    }

    private func trimSome(to limits: SpoolLimits, now: UnixTime) async throws(TrackingError) -> [SpoolPart]? {
        let kind = Job.Kind.write(count: SpoolFile.trimmedAtOnce, isDurable: false)
        return try await self.performOpen(kind) { file, db in try file.trim(to: limits, now: now, db) }
    }

    /// Returns the number and size of the records in the log. See ``SpoolStorage/summary()``.
    public func summary() async throws(TrackingError) -> SpoolSummary {
        try await self.performOpen(.alone) { file, db in try file.summary(db) }
    }

    /// Erases records of a trackable from the log for good. See ``SpoolStorage/erase(_:before:)``.
    public func erase(_ trackable: TrackableID, before time: UnixTime?) async throws(TrackingError) {
        try await self.performOpen(.alone) { file, _ in try file.erase(trackable, before: time) }
    }

    /// Returns the number of rows in the log's file that belong to removed records and are not deleted yet.
    package func rowsToSweep() async throws(TrackingError) -> Int {
        try await self.performOpen(.alone) { file, _ in file.book.unswept }
    }

    /// Closes the log in order; does nothing if it is not open. See ``SpoolStorage/close()``.
    public func close() async throws(TrackingError) {
        let path = self.path
        try await self.perform(.alone) { file in
            guard let open = file else { return }
            file = nil
            try withExtendedLifetime(open) {
                try open.close()
                ClosingMark(log: path).leave(.init(digest: open.book.digest))
            }
        }
    }
}

/// The functions that perform work on the log's dedicated thread.
extension SQLiteSpool {
    /// Runs a job on the log's thread with the open log, and returns the job's result.
    ///
    /// - Throws: `stopped` when the log is not open; the job's error, converted by ``explain(_:)``.
    private func performOpen<Value: Sendable>(
        _ kind: Job.Kind, _ body: @escaping @Sendable (SpoolFile, SQLiteConnection) throws -> Value,
        failed: @escaping @Sendable (SpoolFile?) -> Void = { _ in }
    ) async throws(TrackingError) -> Value {
        try await self.perform(kind) { file in
            guard let file else {
                throw TrackingError(.stopped, "cannot use the device's log: it is not open. Open it first")
            }
            return try file.use { try body(file, $0) }
        } failed: {
            failed($0)
        }
    }

    private func perform<Value: Sendable>(
        _ kind: Job.Kind, _ body: @escaping @Sendable (inout SpoolFile?) throws -> Value,
        failed: @escaping @Sendable (SpoolFile?) -> Void = { _ in }
    ) async throws(TrackingError) -> Value {
        let result: Result<Value, TrackingError> = await withCheckedContinuation { continuation in
            self.enqueue(
                Job(kind: kind) { file in
                    let value = try body(&file)
                    return { continuation.resume(returning: .success(value)) }
                } fail: { file, error in
                    failed(file)
                    continuation.resume(returning: .failure(error))
                })
        }
        return try result.get()
    }

    private func enqueue(_ job: Job) {
        let isIdle = self.waiting.withLock { $0.add(job) }
        if isIdle { self.thread.async { self.work() } }
    }

    /// Performs the waiting jobs (requests to the log) on the log's thread, and returns when no job waits.
    private func work() {
        while true {
            let jobs = self.waiting.withLock { $0.takeNext() }
            guard !jobs.isEmpty else { return }
            self.file.withLock { file in
                self.run(jobs, &file)
                self.sweepBehind(jobs, file)
                self.sweepLater(file)
            }
        }
    }

    /// Deletes rows of removed records after jobs that added records: two rows for each added record. The file
    /// therefore does not grow while it contains such rows. The deletion has a transaction of its own, so that damage
    /// in those rows does not affect the jobs.
    private func sweepBehind(_ jobs: [Job], _ file: SpoolFile?) {
        guard let file, file.book.unswept > 0 else { return }
        let added = jobs.reduce(0) { count, job in
            if case .write(let own, _, let growth) = job.kind, growth > 0 { count + own } else { count }
        }
        if added > 0 { _ = self.sweep(file, atMost: 2 * added) }
    }

    /// Schedules the deletion of the rows of removed records, if there are many and it is not scheduled yet.
    private func sweepLater(_ file: SpoolFile?) {
        guard let file, file.book.unswept >= SpoolFile.sweptAtOnce else { return }
        let isDue = self.sweeping.withLock { sweeping in
            defer { sweeping.isDue = true }
            return sweeping.isDue
        }
        if !isDue { self.sweepAfterPause() }
    }

    private func sweepAfterPause() {
        self.thread.async(after: self.sweepPause) { [weak self] in self?.sweep() }
    }

    /// Deletes a part of the rows of removed records. Jobs that arrive meanwhile run before the next part.
    private func sweep() {
        let isReading = self.sweeping.withLock { sweeping in
            sweeping.lastReading.map { $0.duration(to: .now) < self.sweepPause } ?? false
        }
        guard !isReading else { return self.sweepAfterPause() }
        guard self.file.withLock({ file in file.map { self.sweep($0, atMost: SpoolFile.sweptAtOnce) } }) == true else {
            return self.sweeping.withLock { $0.isDue = false }
        }
        self.thread.async { [weak self] in self?.sweep() }
    }

    /// Deletes at most `count` rows of removed records.
    ///
    /// - Returns: `true` if there are more such rows.
    private func sweep(_ file: SpoolFile, atMost count: Int) -> Bool {
        do {
            try file.transaction(isDurable: false) { try file.sweep(atMost: count, $0) }
            return file.book.unswept > 0
        } catch {
            // Damage is stored beside the file. After any other error, the next job tries the deletion again.
            _ = self.explain(error)
            return false
        }
    }

    private func run(_ jobs: [Job], _ file: inout SpoolFile?) {
        do {
            let finishes = try self.attempt(jobs, &file)
            for finish in finishes { finish() }
        } catch {
            guard jobs.count == 1 else {
                // One job may fail, or all together may need too much room: each job gets a transaction of its own.
                for job in jobs { self.run([job], &file) }
                return
            }
            jobs[0].fail(file, self.explain(error))
        }
    }

    private func attempt(_ jobs: [Job], _ file: inout SpoolFile?) throws -> [@Sendable () -> Void] {
        guard let open = file, case .write = jobs[0].kind else { return try jobs.map { try $0.run(&file) } }
        var (isDurable, growth) = (false, 0)
        for case .write(_, let waits, let bytes) in jobs.map(\.kind) {
            isDurable = isDurable || waits
            growth += bytes
        }
        return try open.transaction(isDurable: isDurable, growth: growth) { _ in
            var same: SpoolFile? = open
            return try jobs.map { try $0.run(&same) }
        }
    }
}
