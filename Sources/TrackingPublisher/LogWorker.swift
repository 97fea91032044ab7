import Logging
import TrackingCore
import TrackingRuntime

/// Performs a publisher's operations on its log of records, in order, on its own task.
///
/// It posts the outcomes that the publisher needs as events. ``LogStateMachine`` decides about transactions and
/// removals. Records that arrive during a write share the next transaction. A log that was closed because of damage is
/// opened again, and records wait for it: see ``LogOutage``.
struct LogWorker: Sendable {
    typealias Post = @Sendable (TrackableID, PublisherStateMachine.LogEvent) -> Void

    enum Job: Sendable {
        case action(TrackableID, PublisherStateMachine.LogAction)
        /// A caller's query to the log. The closure queries the storage and passes the result to the caller itself. It
        /// returns the storage's error, or `nil`.
        case question(@Sendable (any SpoolStorage) async -> TrackingError?)
    }

    let storage: any SpoolStorage
    let logger: Logger
    private let queue: Queue
    let clock: @Sendable () -> UnixTime
    private let isClockSynchronized: @Sendable () -> Bool
    private let outage: LogOutage

    /// Makes a worker for a device's log of records. The worker does nothing before ``run(_:)``.
    ///
    /// - Parameters:
    ///   - outage: Decides when the worker tries again to open a damaged log, and which new records wait meanwhile.
    ///   - isClockSynchronized: Returns `true` if the device's clock is synchronized; called while ``knowsAges`` is
    ///     false.
    init(
        storage: any SpoolStorage, limits: SpoolLimits, logger: Logger, outage: LogOutage = LogOutage(),
        isClockSynchronized: @escaping @Sendable () -> Bool = { SystemClockTrust.isSynchronized },
        clock: @escaping @Sendable () -> UnixTime
    ) {
        self.storage = storage
        self.queue = Queue(limits: limits)
        self.logger = logger
        self.isClockSynchronized = isClockSynchronized
        self.clock = clock
        self.outage = outage
    }

    /// Adds operations to the queue and returns at once. New records that are added together can share a transaction.
    ///
    /// - Parameter goesOn: `true` if a message is sent to the broker at the same time. A call with `true` whose
    ///   operations all remove records does not wake the worker, because the broker's answer will wake it. The fifth
    ///   such call in a row does wake it.
    func ask(_ actions: [(TrackableID, PublisherStateMachine.LogAction)], goesOn: Bool = false) {
        guard !actions.isEmpty else { return }
        let isUrgent = !goesOn || actions.contains { if case .remove = $0.1 { false } else { true } }
        self.queue.add(actions.map { .action($0.0, $0.1) }, isUrgent: isUrgent)
    }

    /// Runs a query on the log's storage after all operations that were added before.
    ///
    /// - Throws: `stopped` if the worker has ended, or the error of the query.
    func inquire<Value: Sendable>(
        _ question: @escaping @Sendable (any SpoolStorage) async throws(TrackingError) -> Value
    ) async throws(TrackingError) -> Value {
        let result: Result<Value, TrackingError> = await withCheckedContinuation { continuation in
            let isTaken = self.queue.add([
                .question { storage in
                    do throws(TrackingError) {
                        continuation.resume(returning: .success(try await question(storage)))
                        return nil
                    } catch {
                        continuation.resume(returning: .failure(error))
                        return error
                    }
                }
            ])
            if !isTaken {
                continuation.resume(
                    returning: .failure(
                        TrackingError(
                            .stopped,
                            "cannot use the log: it is closed because the publisher has ended. Make a new publisher")))
            }
        }
        return try result.get()
    }

    /// Changes the limits of the log's size and of its records' age, and wakes the worker to apply them.
    func keep(within limits: SpoolLimits) {
        self.queue.limits = limits
        self.queue.wake()
    }

    /// `true` if the time of the device's clock is good enough to determine the ages of records in the log.
    ///
    /// While it is `false` and the clock is not synchronized, nothing is removed from the log because of its age.
    var knowsAges: Bool {
        get { self.queue.knowsAges }
        nonmutating set { self.queue.knowsAges = newValue }
    }

    private var mayLetGoForAge: Bool { self.knowsAges || self.isClockSynchronized() }

    /// Ends the log's worker: ``run(_:)`` does every job that was added before, and returns.
    func finish() { self.queue.finish() }

    /// Runs the log's worker until ``finish()`` is called: performs the added operations in order, and passes each
    /// outcome to `post`.
    func run(_ post: @escaping Post) async {
        var machine = LogStateMachine(outage: self.outage)
        await withDiscardingTaskGroup { group in
            await self.trim(&machine, post)
            self.setAlarms(&group, &machine)
            for await _ in self.queue.signals {
                await self.work(self.queue.take(), &machine, post)
                self.setAlarms(&group, &machine)
            }
            group.cancelAll()
        }
        machine.willEnd()
        await self.work(self.queue.take(isLast: true), &machine, isLast: true, post)
        await self.remove(&machine, post)
        self.giveUp(all: true, &machine, post)
    }

    /// Starts tasks that wake the log's worker at the times that its state machine returns, such as the time to open a
    /// closed log again, even if no job arrives.
    private func setAlarms(_ group: inout DiscardingTaskGroup, _ machine: inout LogStateMachine) {
        for end in machine.takeAlarms(now: .now) {
            group.addTask {
                try? await Task.sleep(until: end, clock: .continuous)
                self.queue.wake()
            }
        }
    }

    private func work(_ jobs: [Job], _ machine: inout LogStateMachine, isLast: Bool = false, _ post: Post) async {
        if machine.outage.isClosed {
            await self.reopen(&machine, isLast: isLast, post)
            await self.append(&machine, post)
        }
        var isReading = false
        for job in LogStateMachine.findingFirst(jobs) {
            switch job {
            case .action(let id, .find(let marks)):
                await self.append(&machine, post)
                await self.find(marks, of: id, &machine, post)
            case .action(let id, .append(let stream, let record, let mark)):
                machine.append(SpoolEntry(record, of: id, in: stream, mark: mark))
            case .action(_, .keep(let name, let value)): machine.set(name, value)
            case .action(let id, .remove(let stream, let seqs)):
                machine.remove(seqs, of: Place(trackable: id, stream: stream), now: .now)
            case .action, .question:
                if case .action(_, .read) = job { isReading = true } else { await self.remove(&machine, post) }
                await self.append(&machine, post)
                await self.perform(job, &machine, post)
            }
        }
        await self.append(&machine, post)
        await self.trim(&machine, post)
        if !isReading || machine.areRemovalsDue(now: .now) { await self.remove(&machine, post) }
    }

    private func find(_ marks: [RecordMark], of id: TrackableID, _ machine: inout LogStateMachine, _ post: Post) async {
        if let error = machine.outage.error { return post(id, .findFailed(error)) }
        do throws(TrackingError) {
            post(id, .found(try await self.storage.known(marks, of: id)))
        } catch {
            post(id, .findFailed(error))
            if error.code == .spoolDamaged { await self.reopen(&machine, post) }
        }
    }

    /// Writes the waiting records and values to the log, and reports each outcome.
    ///
    /// If the log turns out to be damaged, it is opened again and the transaction is tried once more. While the log
    /// cannot be opened, the records wait.
    private func append(_ machine: inout LogStateMachine, _ post: Post) async {
        let hasEntries = !machine.entries.isEmpty
        while let write = machine.nextWrite() {
            var error = await self.write(write)
            if error?.code == .spoolDamaged, await self.reopen(&machine, post) { error = await self.write(write) }
            if machine.outage.isClosed { break }
            machine.didWrite(write, isWritten: error == nil)
            if write.entries.isEmpty, let error {
                self.logger.warning(
                    "Publisher could not save its current state, such as a trip in progress, in the device's log: it tries again. Free space on the disk, or follow the reason",
                    metadata: ["reason": "\(error)"])
            }
            self.report(write.entries[...], error, post)
        }
        if machine.outage.isClosed { return self.giveUp(&machine, post) }
        if hasEntries { await self.trim(&machine, grew: true, post) }
    }

    private func write(_ write: LogStateMachine.Write) async -> TrackingError? {
        await self.attempt { () async throws(TrackingError) in
            try await self.storage.append(
                write.entries, state: write.state, now: self.clock(), knowsAges: self.mayLetGoForAge)
        }
    }

    /// Gives up the records that can no longer wait in memory for the closed log. Reports to the publisher that these
    /// records were not written.
    private func giveUp(all: Bool = false, _ machine: inout LogStateMachine, _ post: Post) {
        guard let (entries, error) = machine.giveUp(all: all, now: .now) else { return }
        self.report(entries[...], error, post)
    }

    /// The records that could not be written to the log since the worker began.
    var unwritten: Queue.Unwritten { self.queue.losses }

    private func report(_ entries: ArraySlice<SpoolEntry>, _ error: TrackingError?, _ post: Post) {
        if !entries.isEmpty { self.queue.note(entries.count, error) }
        for (place, seqs) in Self.places(entries) {
            if let error {
                post(place.trackable, .appendFailed(place.stream, seqs, error))
            } else {
                self.logger.trace(
                    "Records written to the device's log",
                    metadata: ["stream": "\(place.stream)", "seqs": "\(Self.text(seqs))"])
                post(place.trackable, .appended(place.stream, seqs))
            }
        }
    }

    /// Removes acknowledged records, of all trackables at once, so that they share a few transactions.
    private func remove(_ machine: inout LogStateMachine, _ post: Post) async {
        let removals = machine.takeRemovals()
        guard !removals.isEmpty else { return }
        let errors = await withTaskGroup(of: TrackingError?.self) { group in
            for (place, seqs) in removals {
                group.addTask {
                    await self.attempt { () async throws(TrackingError) in
                        try await self.storage.remove(seqs, of: place.stream)
                    }
                }
            }
            return await group.reduce(into: [TrackingError]()) { errors, error in
                if let error, !errors.contains(error) { errors.append(error) }
            }
        }
        for error in errors {
            self.logger.warning(
                "Acknowledged records could not be removed from the device's log: they may be sent again, and recorders store them only once",
                metadata: ["reason": "\(error)"])
        }
        if errors.contains(where: { $0.code == .spoolDamaged }) { await self.reopen(&machine, post) }
    }

    private func perform(_ job: Job, _ machine: inout LogStateMachine, _ post: Post) async {
        switch job {
        case .question(let question):
            if await question(self.storage)?.code == .spoolDamaged { await self.reopen(&machine, post) }
        case .action(let id, let action):
            guard let error = await self.perform(action, of: id, post) else { return }
            self.logger.warning(
                "Publisher could not read or change records in the device's log: records are sent later than planned. Free space on the disk, or follow the reason",
                metadata: ["trackable": "\(id)", "reason": "\(error)"])
            if error.code == .spoolDamaged { await self.reopen(&machine, post) }
        }
    }

    private func perform(
        _ action: PublisherStateMachine.LogAction, of id: TrackableID, _ post: Post
    ) async -> TrackingError? {
        switch action {
        case .append, .keep, .find, .remove: nil
        case .read(let query): await self.read(query, of: id, post)
        case .quarantine(let stream, let seq, let reason):
            await self.quarantine(RecordName(stream: stream, seq: seq), of: id, reason, post)
        case .renumber(let stream, let seqs, let first): await self.renumber(seqs, of: stream, from: first, id, post)
        case .putBack(let stream, let records, let request):
            await self.putBack(records, in: stream, of: id, request, post)
        case .forget(let stream):
            await self.attempt { () async throws(TrackingError) in try await self.storage.forget(stream) }
        }
    }

    private func read(_ query: RecordQuery, of id: TrackableID, _ post: Post) async -> TrackingError? {
        do throws(TrackingError) {
            let reading = try await self.storage.read(
                query.stream, query.seqs, maximumCount: query.seqs.count, maximumBytes: query.maximumBytes)
            post(id, .loaded(reading.records, missing: reading.missing, query: query.number))
            return nil
        } catch {
            post(id, .readFailed(query: query.number))
            return error
        }
    }

    /// Trims the log to its limits, if the state machine decides that trimming is due.
    ///
    /// - Parameter grew: `true` after records were written.
    private func trim(_ machine: inout LogStateMachine, grew: Bool = false, _ post: Post) async {
        guard
            let limits = machine.trimIfDue(
                self.queue.limits, grew: grew, knowsAges: { self.mayLetGoForAge }, now: .now)
        else { return }
        // Acknowledged records do not count against the limits.
        await self.remove(&machine, post)
        guard !machine.outage.isClosed else { return }
        do throws(TrackingError) {
            for part in try await self.storage.trim(to: limits, now: self.clock()) {
                post(part.trackable, .dropped(part.stream, part.seqs))
            }
        } catch {
            self.logger.warning(
                "Oldest records could not be removed from the device's log: the log exceeds --keep-points, --keep-bytes or --keep-days until a later removal succeeds. Free space on the disk, or follow the reason",
                metadata: ["reason": "\(error)"])
            if error.code == .spoolDamaged { await self.reopen(&machine, post) }
        }
    }

    /// Closes the damaged log and opens it again. The storage salvages the readable records into a new log.
    ///
    /// - Returns: `true` if the log is open again; `false` if opening failed or no attempt is due yet.
    @discardableResult
    private func reopen(_ machine: inout LogStateMachine, isLast: Bool = false, _ post: Post) async -> Bool {
        guard machine.mayReopen(isLast: isLast, now: .now) else { return false }
        _ = await self.attempt { () async throws(TrackingError) in try await self.storage.close() }
        do throws(TrackingError) {
            let contents = try await self.storage.open(now: self.clock())
            machine.didReopen()
            Self.deliver(contents, self.logger)
            for (trackable, held) in contents.trackables { post(trackable, .reopened(held)) }
            return true
        } catch {
            if machine.didFailToReopen(error, now: .now) {
                self.logger.error(
                    "Device's log could not be reopened after damage: the publisher tries again, and holds new records in memory for at most a minute. After that, it drops them, and recorders store only the positions that they receive live. Free space on the disk, or follow the reason",
                    metadata: ["reason": "\(error)"])
            }
            return false
        }
    }

    /// Logs the damage that was found when the log of records was opened, and the number of salvaged records.
    static func deliver(_ contents: SpoolContents, _ logger: Logger) {
        if let salvage = contents.salvage { Self.deliver(salvage, logger) }
        if let damage = contents.damage {
            logger.error(
                "Device's log is damaged and could not be replaced: the device continues with the damaged file, and tries to replace it at a later start. Free space on the disk, then start the program again",
                metadata: ["reason": "\(damage)"])
        }
    }

    private static func deliver(_ salvage: SpoolSalvage, _ logger: Logger) {
        let missing = salvage.missing.map { part in
            "\(part.trackable) \(part.stream): \(Self.text(part.seqs))"
        }
        logger.error(
            "Device's log was damaged: its file was renamed, and the readable records were copied to a new log. The missing records are lost for recorders that did not store them before",
            metadata: [
                "renamed to": "\(salvage.path)", "reason": "\(salvage.reason)", "salvaged": "\(salvage.count)",
                "missing": "\(missing.joined(separator: "; "))", "orphans": "\(salvage.orphans)",
                "damaged files": "\(salvage.keptFiles) files, \(salvage.keptBytes) bytes",
            ])
    }

    /// Returns the numbers of records as text, such as `1-3 5`.
    private static func text(_ seqs: SeqSet) -> String {
        let ranges = seqs.ranges.map {
            $0.lowerBound == $0.upperBound ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)"
        }
        return ranges.joined(separator: " ")
    }

    func attempt(_ body: () async throws(TrackingError) -> Void) async -> TrackingError? {
        do throws(TrackingError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    struct Place: Hashable {
        let trackable: TrackableID
        let stream: StreamID
    }

    static func places(_ entries: ArraySlice<SpoolEntry>) -> [Place: SeqSet] {
        var places: [Place: SeqSet] = [:]
        for entry in entries {
            places[Place(trackable: entry.trackable, stream: entry.stream), default: SeqSet()].insert(entry.record.seq)
        }
        return places
    }

    /// The largest number of records that get new numbers in one transaction.
    static let renumberedAtOnce = 1000
}
