import Logging
import TrackingCore
import TrackingRuntime

/// Does what a publisher asks of its log, in order, on a task of its own; what came of it returns as an event.
///
/// Appends that come while one is being written are written together: one commit for all of them, and none waits for company.
/// Removals wait while one batch after the other is read: see ``Removals``. A log that was closed for damage and cannot be opened
/// again is tried anew, and what is to be written waits for it: see ``LogOutage``.
struct LogWorker: Sendable {
    typealias Post = @Sendable (TrackableID, PublisherStateMachine.LogEvent) -> Void

    enum Job: Sendable {
        case action(TrackableID, PublisherStateMachine.LogAction)
        /// Answered by itself; what is returned is an error of the storage.
        case question(@Sendable (any SpoolStorage) async -> TrackingError?)
    }

    let storage: any SpoolStorage
    let logger: Logger
    private let queue: Queue
    let clock: @Sendable () -> UnixTime
    private let isClockSynchronized: @Sendable () -> Bool
    private let outage: LogOutage

    /// - Parameters:
    ///   - outage: What goes for a log that cannot be opened again.
    ///   - isClockSynchronized: Whether somebody vouches for the clock; asked where ``knowsAges`` is false.
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

    /// Asks for these; returns at once. What is asked for together is written together.
    ///
    /// - Parameter goesOn: Whether something is sent in the same breath, so that more will be asked for when that is answered:
    ///   then the worker is not woken for a removal alone.
    func ask(_ actions: [(TrackableID, PublisherStateMachine.LogAction)], goesOn: Bool = false) {
        guard !actions.isEmpty else { return }
        let isUrgent = !goesOn || actions.contains { if case .remove = $0.1 { false } else { true } }
        self.queue.add(actions.map { .action($0.0, $0.1) }, isUrgent: isUrgent)
    }

    /// Asks the storage something, behind everything that was asked before.
    ///
    /// - Throws: `stopped` when the worker has ended; what the question throws.
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
            if !isTaken { continuation.resume(returning: .failure(TrackingError(.stopped, "the log is closed"))) }
        }
        return try result.get()
    }

    /// The log is kept within these limits from now on.
    func keep(within limits: SpoolLimits) {
        self.queue.limits = limits
        self.queue.wake()
    }

    /// Whether the clock tells how old records are. Where it does not, and nobody vouches for it, none goes for its age, and
    /// nothing that records are known by.
    var knowsAges: Bool {
        get { self.queue.knowsAges }
        nonmutating set { self.queue.knowsAges = newValue }
    }

    private var mayLetGoForAge: Bool { self.knowsAges || self.isClockSynchronized() }

    /// Nothing more will be asked: ``run(_:)`` returns when all is done.
    func finish() { self.queue.finish() }

    /// What goes on from one round of work to the next.
    private struct Course {
        var outage: LogOutage
        var removals = Removals()
        var trimming = LogTrimming()
        /// What is to be written, in this order.
        var entries: [SpoolEntry] = []
        var state: [String: [UInt8]?] = [:]
        /// What could not be written: it goes with what is written next, unless that says something newer.
        var unkept: [String: [UInt8]?] = [:]
    }

    /// Works until ``finish()``.
    func run(_ post: @escaping Post) async {
        var course = Course(outage: self.outage)
        await withDiscardingTaskGroup { group in
            await self.trim(&course, post)
            self.setAlarms(&group, &course)
            for await _ in self.queue.signals {
                await self.work(self.queue.take(), &course, post)
                self.setAlarms(&group, &course)
            }
            group.cancelAll()
        }
        course.state.merge(course.unkept) { new, _ in new }
        await self.work(self.queue.take(isLast: true), &course, isLast: true, post)
        await self.remove(&course, post)
        self.giveUp(all: true, &course, post)
    }

    /// Sees to it that the worker wakes where nothing may be asked.
    private func setAlarms(_ group: inout DiscardingTaskGroup, _ course: inout Course) {
        let now = ContinuousClock.now
        let ends = [
            course.outage.takeAlarm() ? now.advanced(by: self.outage.pause) : nil, course.trimming.takeAlarm(now: now),
        ]
        for end in ends.compactMap({ $0 }) {
            group.addTask {
                try? await Task.sleep(until: end, clock: .continuous)
                self.queue.wake()
            }
        }
    }

    private func work(_ jobs: [Job], _ course: inout Course, isLast: Bool = false, _ post: Post) async {
        if course.outage.isClosed {
            await self.reopen(&course, isLast: isLast, post)
            await self.append(&course, post)
        }
        var isReading = false
        for job in Self.findingFirst(jobs) {
            switch job {
            case .action(let id, .find(let marks)):
                await self.append(&course, post)
                await self.find(marks, of: id, &course, post)
            case .action(let id, .append(let stream, let record, let mark)):
                course.entries.append(SpoolEntry(record, of: id, in: stream, mark: mark))
            case .action(_, .keep(let name, let value)): course.state[name] = .some(value)
            case .action(let id, .remove(let stream, let seqs)):
                course.removals.add(seqs, Place(trackable: id, stream: stream), now: .now)
            case .action, .question:
                if case .action(_, .read) = job { isReading = true } else { await self.remove(&course, post) }
                await self.append(&course, post)
                await self.perform(job, &course, post)
            }
        }
        await self.append(&course, post)
        await self.trim(&course, post)
        if !isReading || course.removals.areDue(now: .now) { await self.remove(&course, post) }
    }

    private func find(_ marks: [RecordMark], of id: TrackableID, _ course: inout Course, _ post: Post) async {
        if let error = course.outage.error { return post(id, .findFailed(error)) }
        do throws(TrackingError) {
            post(id, .found(try await self.storage.known(marks, of: id)))
        } catch {
            post(id, .findFailed(error))
            if error.code == .spoolDamaged { await self.reopen(&course, post) }
        }
    }

    /// Writes what is to be written. Where the log is damaged that is done once more in what is whole of it; where it cannot be
    /// opened it waits.
    private func append(_ course: inout Course, _ post: Post) async {
        let hasEntries = !course.entries.isEmpty
        while !course.outage.isClosed, !course.entries.isEmpty || !course.state.isEmpty {
            let part = course.entries.prefix(Self.maximumAppend)
            let isLast = part.count == course.entries.count
            let state = isLast ? course.unkept.merging(course.state) { $1 } : [:]
            var error = await self.write(part, state)
            if error?.code == .spoolDamaged, await self.reopen(&course, post) { error = await self.write(part, state) }
            if course.outage.isClosed { break }
            course.entries.removeFirst(part.count)
            if isLast { (course.state, course.unkept) = ([:], error == nil ? [:] : state) }
            if part.isEmpty, let error { self.logger.warning("log", metadata: ["reason": "\(error)"]) }
            self.tell(part, error, post)
        }
        if course.outage.isClosed { return self.giveUp(&course, post) }
        if hasEntries { await self.trim(&course, grew: true, post) }
    }

    private func write(_ entries: ArraySlice<SpoolEntry>, _ state: [String: [UInt8]?]) async -> TrackingError? {
        await self.attempt { () async throws(TrackingError) in
            try await self.storage.append(
                Array(entries), state: state, now: self.clock(), knowsAges: self.mayLetGoForAge)
        }
    }

    /// What cannot wait any longer for the log is told to be lost to it.
    private func giveUp(all: Bool = false, _ course: inout Course, _ post: Post) {
        guard let error = course.outage.error else { return }
        let kept = all ? 0 : course.outage.patience(with: course.entries, now: .now)
        self.tell(course.entries[kept...], error, post)
        course.entries.removeSubrange(kept...)
    }

    private func tell(_ entries: ArraySlice<SpoolEntry>, _ error: TrackingError?, _ post: Post) {
        for (place, seqs) in Self.places(entries) {
            if let error {
                post(place.trackable, .appendFailed(place.stream, seqs, error))
            } else {
                self.logger.trace("logged", metadata: ["stream": "\(place.stream)", "seqs": "\(Self.text(seqs))"])
                post(place.trackable, .appended(place.stream, seqs))
            }
        }
    }

    /// All at once: of thousands of trackables they share a few transactions.
    private func remove(_ course: inout Course, _ post: Post) async {
        guard !course.outage.isClosed else { return }
        let errors = await withTaskGroup(of: TrackingError?.self) { group in
            for (place, seqs) in course.removals.take() {
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
        for error in errors { self.logger.warning("log", metadata: ["reason": "\(error)"]) }
        if errors.contains(where: { $0.code == .spoolDamaged }) { await self.reopen(&course, post) }
    }

    private func perform(_ job: Job, _ course: inout Course, _ post: Post) async {
        switch job {
        case .question(let question):
            if await question(self.storage)?.code == .spoolDamaged { await self.reopen(&course, post) }
        case .action(let id, let action):
            guard let error = await self.perform(action, of: id, post) else { return }
            self.logger.warning("log", metadata: ["trackable": "\(id)", "reason": "\(error)"])
            if error.code == .spoolDamaged { await self.reopen(&course, post) }
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

    /// Keeps the log within its limits, where that is due.
    ///
    /// - Parameter grew: Whether something was added.
    private func trim(_ course: inout Course, grew: Bool = false, _ post: Post) async {
        guard !course.outage.isClosed,
            var limits = course.trimming.due(self.queue.limits, grew: grew, now: .now)
        else { return }
        if limits.maximumAge != nil, !self.mayLetGoForAge { limits.maximumAge = nil }
        // What is safe elsewhere takes nobody's room.
        await self.remove(&course, post)
        guard !course.outage.isClosed else { return }
        do throws(TrackingError) {
            for part in try await self.storage.trim(to: limits, now: self.clock()) {
                post(part.trackable, .dropped(part.stream, part.seqs))
            }
        } catch {
            self.logger.warning("log", metadata: ["reason": "\(error)"])
            if error.code == .spoolDamaged { await self.reopen(&course, post) }
        }
    }

    /// The file is damaged: what is whole in it is taken over, and new streams begin.
    ///
    /// - Returns: Whether it is open again; it may be that this was not tried (``LogOutage``).
    @discardableResult
    private func reopen(_ course: inout Course, isLast: Bool = false, _ post: Post) async -> Bool {
        guard course.outage.mayTry(isLast: isLast, now: .now) else { return false }
        _ = await self.attempt { () async throws(TrackingError) in try await self.storage.close() }
        do throws(TrackingError) {
            let contents = try await self.storage.open(now: self.clock())
            course.outage.opened()
            Self.tell(contents, self.logger)
            for (trackable, held) in contents.trackables { post(trackable, .reopened(held)) }
            return true
        } catch {
            if course.outage.failed(error, now: .now) {
                self.logger.error("the log cannot be opened again", metadata: ["reason": "\(error)"])
            }
            return false
        }
    }

    /// Says what is wrong with a log that was opened, or became of a damaged one.
    static func tell(_ contents: SpoolContents, _ logger: Logger) {
        if let salvage = contents.salvage { Self.tell(salvage, logger) }
        if let damage = contents.damage {
            logger.error("the log is damaged and cannot be made anew", metadata: ["reason": "\(damage)"])
        }
    }

    private static func tell(_ salvage: SpoolSalvage, _ logger: Logger) {
        let missing = salvage.missing.map { part in
            "\(part.trackable) \(part.stream): \(Self.text(part.seqs))"
        }
        logger.error(
            "the log was damaged and set aside",
            metadata: [
                "file": "\(salvage.path)", "reason": "\(salvage.reason)", "salvaged": "\(salvage.count)",
                "missing": "\(missing.joined(separator: "; "))", "orphans": "\(salvage.orphans)",
                "kept": "\(salvage.keptFiles) files, \(salvage.keptBytes) bytes",
            ])
    }

    /// As in `1-3 5`.
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

    /// What is safe and is to be removed. A queue that drains asks for a removal and the next batch in one breath: the batch
    /// is read first, and removals are done together, so that not each of them is a transaction of its own. An agent that is
    /// killed meanwhile sends them once more.
    private struct Removals {
        private var seqs: [Place: SeqSet] = [:]
        private var since: ContinuousClock.Instant?

        mutating func add(_ seqs: SeqSet, _ place: Place, now: ContinuousClock.Instant) {
            self.seqs[place, default: SeqSet()].formUnion(seqs)
            self.since = self.since ?? now
        }

        /// Whether they wait no longer: five batches of the usual size, or a second.
        func areDue(now: ContinuousClock.Instant) -> Bool {
            guard let since = self.since else { return false }
            return self.seqs.values.reduce(0) { $0 + $1.count } >= 1000 || since.advanced(by: .seconds(1)) <= now
        }

        mutating func take() -> [Place: SeqSet] {
            defer { self = Removals() }
            return self.seqs
        }
    }

    /// How many records are recorded anew in one transaction.
    static let renumberedAtOnce = 1000
    /// The most records in one transaction.
    private static let maximumAppend = 10_000
}
