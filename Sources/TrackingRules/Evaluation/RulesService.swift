package import Logging
import ServiceLifecycle
import Synchronization
package import TrackingCore
import TrackingRuntime
package import TrackingStore
package import TrackingSubscriber

/// Evaluates the rules on everything that a subscriber receives. Findings and messages for webhooks go to the outbox, and the
/// events of rules from there to the event topics of their trackables.
///
/// ``RulesStateMachine`` decides; the service performs its actions, reads the clock and waits for its deadlines.
package final class RulesService: Service {
    /// The settings of a service.
    package struct Configuration: Sendable {
        /// The kinds of received messages that are queued for webhooks. Events of rules are always queued.
        package var kinds: Set<Outbox.Kind> = []
        /// The webhooks' reader names. The places of all other readers of the outbox are removed.
        package var readers: [String] = []
        /// Other components whose records in the database are erased together with the messages in the outbox.
        package var related: [ErasableRecords] = []
        /// The seed of random names.
        package var seed: UInt64
        /// Returns the time of the wall clock.
        package var now: @Sendable () -> UnixTime

        /// Creates a configuration.
        package init(
            kinds: Set<Outbox.Kind> = [], readers: [String] = [], related: [ErasableRecords] = [], seed: UInt64,
            now: @escaping @Sendable () -> UnixTime
        ) {
            self.kinds = kinds
            self.readers = readers
            self.related = related
            self.seed = seed
            self.now = now
        }
    }

    /// The functions through which a service acts on other components.
    package struct Effects: Sendable {
        /// Publishes an event of a rule on its topic; returns after the broker's acknowledgement.
        package var publish: @Sendable (TrackingEvent, TrackableID) async throws(TrackingError) -> Void
        /// Receives the number of messages for webhooks that were dropped before delivery.
        package var dropped: @Sendable (Int) -> Void

        /// Creates the functions.
        package init(
            publish: @escaping @Sendable (TrackingEvent, TrackableID) async throws(TrackingError) -> Void,
            dropped: @escaping @Sendable (Int) -> Void = { _ in }
        ) {
            self.publish = publish
            self.dropped = dropped
        }
    }

    private struct State {
        var machine: RulesStateMachine
        /// The deadline that the timer task waits for.
        var awaited: MonotonicTime?
    }

    private let configuration: Configuration
    private let database: GatewayDatabase
    private let outbox: Outbox
    private let events: AsyncStream<SubscriberEvent>
    private let history: (any HistoryStore)?
    private let gate: OutboxGate
    private let effects: Effects
    private let logger: Logger
    private let clock = DeviceClock()
    private let state: Mutex<State>
    private let actions = AsyncStream.makeStream(of: RulesStateMachine.Action.self)
    private let wakes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Creates a service that is not running yet.
    ///
    /// - Parameters:
    ///   - database: The gateway's database.
    ///   - events: Everything that a subscriber receives, in order.
    ///   - history: The recorded history, which also knows what was erased; `nil` for none.
    ///   - gate: Opened once the outbox contains nothing that was erased while the gateway was away.
    ///   - effects: The functions through which the service acts on other components.
    package init(
        configuration: Configuration, database: GatewayDatabase, events: AsyncStream<SubscriberEvent>,
        history: (any HistoryStore)? = nil, gate: OutboxGate = OutboxGate(), effects: Effects,
        logger: Logger = Logger(label: "godwit.rules")
    ) {
        self.configuration = configuration
        self.database = database
        self.outbox = Outbox(database)
        self.events = events
        self.history = history
        self.gate = gate
        self.effects = effects
        self.logger = logger
        let moment = Moment(now: self.clock.moment.now, wall: configuration.now())
        self.state = Mutex(
            State(machine: RulesStateMachine(.init(kinds: configuration.kinds, seed: configuration.seed), at: moment)))
    }

    /// Runs until a graceful shutdown or cancellation, then saves the last findings.
    ///
    /// - Throws: `storeFailed`, `storeUnusable` when the saved state cannot be read at the start.
    package func run() async throws {
        let topics = RuleEventPublisher(
            outbox: self.outbox, gate: self.gate, publish: self.effects.publish, logger: self.logger)
        try await topics.begin()
        try await self.outbox.removeReaders(except: [RuleEventPublisher.reader] + self.configuration.readers)
        let changes = self.database.changes()
        try await self.load()
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { for await event in self.events { self.handle(.received(event)) } }
                group.addTask { for await _ in changes { self.handle(.databaseChanged) } }
                group.addTask { await self.runTimer() }
                group.addTask { await topics.run() }
                for await action in self.actions.stream { group.addTask { await self.perform(action) } }
            }
        }
        await self.saveRest()
    }

    private func load() async throws(TrackingError) {
        let now = self.configuration.now()
        try await self.outbox.beginRange(now: now)
        let saved = try await self.savedState()
        self.state.withLock { state in
            state.machine = RulesStateMachine(state.machine.configuration, saved: saved, at: self.moment)
        }
        if try await self.outbox.unreadTrackables().isEmpty { self.gate.open() }
    }

    private func savedState() async throws(TrackingError) -> RulesStateMachine.Saved {
        var saved = RulesStateMachine.Saved()
        // The version before the rules: a change in between counts as new.
        let store = RuleStore(self.database)
        saved.version = try await store.version()
        saved.rules = try await store.rules()
        let former = try await self.outbox.ownStreams(unreadBy: RuleEventPublisher.reader)
        let (states, streams, trips) = try await self.database.read { db in
            (
                try RuleRows.entries(db), try RuleRows.names(db, in: .ruleStream),
                try RuleRows.names(db, in: .outboxTrip)
            )
        }
        saved.states = states
        saved.formerStreams = former.union(streams.values.map(\.stream))
        saved.trips = TripWatermarks(trips)
        guard !self.configuration.kinds.isEmpty else {
            // Without webhooks, a webhook that is added later begins anew.
            try await self.database.write { db in try RuleRows.removeWatermarks(before: nil, in: db) }
            return saved
        }
        let (marks, cursor) = try await self.database.read { db in
            (try RuleRows.watermarks(db), try RuleRows.cursor(db))
        }
        (saved.watermarks, saved.cursor) = (RecordWatermarks(marks), cursor)
        return saved
    }

    // MARK: - Deciding

    private var moment: Moment { Moment(now: self.clock.moment.now, wall: self.configuration.now()) }

    private func handle(_ input: RulesStateMachine.Input) {
        let moment = self.moment
        let isEarlier = self.state.withLock { state in
            // Within the lock, so that actions keep the order of the inputs.
            for action in state.machine.handle(input, at: moment) { self.actions.continuation.yield(action) }
            let deadline = state.machine.nextDeadline(at: moment)
            return state.awaited.map { deadline < $0 } ?? false
        }
        if isEarlier { self.wakes.continuation.yield() }
    }

    /// Waits for each deadline of the machine. An earlier deadline ends the wait.
    private func runTimer() async {
        var wakes = self.wakes.stream.makeAsyncIterator()
        while !Task.isCancelled {
            let deadline = self.state.withLock { state in
                let deadline = state.machine.nextDeadline(at: self.moment)
                state.awaited = deadline
                return deadline
            }
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await self.clock.sleep(until: deadline)
                    if !Task.isCancelled { self.wakes.continuation.yield() }
                }
                await wakes.next()
                group.cancelAll()
            }
            self.handle(.timerFired)
        }
    }

    // MARK: - Acting

    private func perform(_ action: RulesStateMachine.Action) async {
        switch action {
        case .save(let rows): await self.save(rows)
        case .loadRules(let version): await self.loadRules(unless: version)
        case .trim(let now): await self.trim(now: now)
        case .compare(let retained, let removesErased): await self.compare(retained, removingErased: removesErased)
        case .openOutbox: self.gate.open()
        case .checkHistory: if self.history?.isPresent != true { self.handle(.historyAbsent) }
        case .readHistory(let read): await self.readHistory(read)
        case .reportMissingHistory:
            self.logger.warning("Webhooks miss messages of a connection gap: no history to read them from")
        case .reportLost(let count):
            self.effects.dropped(count)
            self.logger.warning("Memory for webhook messages full: messages dropped", metadata: ["count": "\(count)"])
        }
    }

    private func save(_ rows: RuleRows) async {
        do throws(TrackingError) {
            try await self.write(rows)
            self.handle(.saved)
        } catch {
            self.logger.error("State of rules not saved yet", metadata: ["reason": "\(error.message)"])
            self.handle(.saveFailed)
        }
    }

    /// Writes rows in a task of its own, so that a cancellation does not interrupt the transaction.
    private func write(_ rows: RuleRows) async throws(TrackingError) {
        let writing = Task { () async -> Result<Int, TrackingError> in
            do throws(TrackingError) {
                return .success(
                    try await self.database.write { db in
                        try rows.write(to: db, related: self.configuration.related)
                        return try Outbox.trim(in: db)
                    })
            } catch {
                return .failure(error)
            }
        }
        self.report(dropped: try await writing.value.get())
    }

    private func saveRest() async {
        let moment = self.moment
        do throws(TrackingError) {
            for rows in self.state.withLock({ $0.machine.stop(at: moment) }) { try await self.write(rows) }
        } catch {
            self.logger.error("Last findings of rules lost", metadata: ["reason": "\(error.message)"])
        }
    }

    private func loadRules(unless known: Int64) async {
        let store = RuleStore(self.database)
        await self.trying("Rules not read yet", orElse: .loadingFailed) { () throws(TrackingError) in
            let version = try await store.version()
            return .rulesLoaded(version == known ? nil : try await store.rules(), version: version)
        }
    }

    private func trim(now: UnixTime) async {
        do throws(TrackingError) {
            self.report(dropped: try await self.outbox.trim(now: now))
            let oldest = now.advanced(by: .zero - Outbox.maximumAge)
            try await self.database.write { db in try RuleRows.removeWatermarks(before: oldest, in: db) }
        } catch {
            guard !Task.isCancelled else { return }
            self.logger.error("Old webhook messages not removed yet", metadata: ["reason": "\(error.message)"])
        }
    }

    private func compare(_ retained: Set<TrackableID>, removingErased: Bool) async {
        await self.trying("Cleared trackables not known yet", orElse: .comparisonFailed) { () throws(TrackingError) in
            if removingErased { try await self.removeErased() }
            let known = try await self.database.read { db in try RuleRows.trackables(db) }
            let missing = known.subtracting(retained)
            guard !missing.isEmpty, let history = self.history else { return .compared(missing: missing) }
            let stored = try await history.lastPositions(of: Array(missing)).map(\.trackable)
            return .compared(missing: missing.subtracting(stored))
        }
    }

    /// Removes messages and related records of trackables that were erased from the history while the gateway was away.
    private func removeErased() async throws(TrackingError) {
        guard let history = self.history else { return }
        let related = self.configuration.related
        var ids = try await self.outbox.unreadTrackables()
        for records in related { ids.formUnion(try await self.database.read { db in try records.trackables(db) }) }
        for id in ids {
            guard let limit = try await history.verify(id)?.erasedBefore else { continue }
            try await self.database.write { db in
                try Outbox.remove(id, before: limit, from: db)
                for records in related { try records.remove(id, limit, db) }
            }
        }
    }

    private func readHistory(_ read: HistoryRead) async {
        guard let history = self.history else { return self.handle(.historyAbsent) }
        await self.trying("Missed webhook messages not read yet", orElse: .historyReadFailed(read)) {
            () throws(TrackingError) in .historyRead(read, try await history.page(read))
        }
    }

    /// Performs an action, and handles its answer or its failure.
    private func trying(
        _ problem: Logger.Message, orElse failure: RulesStateMachine.Input,
        _ body: () async throws(TrackingError) -> RulesStateMachine.Input
    ) async {
        do throws(TrackingError) {
            self.handle(try await body())
        } catch {
            // A read that the end of the service interrupts is no problem.
            guard !Task.isCancelled else { return }
            self.logger.error(problem, metadata: ["reason": "\(error.message)"])
            self.handle(failure)
        }
    }

    /// Counts and logs messages for webhooks that were removed before their delivery.
    private func report(dropped count: Int) {
        guard count > 0 else { return }
        self.effects.dropped(count)
        self.logger.warning("Undelivered webhook messages removed", metadata: ["count": "\(count)"])
    }
}
