package import Logging
package import ServiceLifecycle
import Synchronization
import TrackingCore
import TrackingRuntime
package import TrackingStore
package import TrackingSubscriber

/// Evaluates the gateway's rules on everything that the gateway's MQTT subscriber receives.
///
/// The service writes the events of rules, and the messages for webhooks, to the outbox, a message queue in the
/// gateway's database. It then publishes the rule events on the event topics of their trackables.
///
/// ``RulesStateMachine`` makes the decisions. The service performs its actions and gives it the time.
package final class RulesService: Service {
    /// The streams of one run of the rules' state machine, from its start until it stops.
    private struct Activity: Sendable {
        let actions = AsyncStream.makeStream(of: RulesStateMachine.Action.self)
        let wakes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    private struct State {
        var machine: RulesStateMachine
        /// The streams of the running state machine; `nil` while this gateway does not evaluate the rules.
        var activity: Activity?
        /// The state of the trackables, for a gateway that shares its database with others.
        var view = StandbyView()
        /// The time until which the timer task sleeps: the last deadline that the rules' state machine returned to it;
        /// `nil` before the first one.
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
    /// The lease with which this gateway evaluates the rules; `nil` if it does not share its database.
    private let lease: GatewayLease?
    private let companion: (any Service)?

    /// Creates a rules service that is not running yet.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the service.
    ///   - database: The gateway's database.
    ///   - events: Everything that a subscriber receives, in order.
    ///   - history: The recorder's database. The service reads messages from it that webhooks missed, and learns from
    ///     it which trackables were erased; `nil` for none.
    ///   - gate: The gate that holds back deliveries from the outbox. The service opens it once the outbox has no
    ///     message about trackables that were erased while the gateway was not running.
    ///   - companion: A service that runs while this service evaluates the rules, and ends with it; `nil` for none.
    ///   - effects: The functions through which the service acts on other components.
    ///   - logger: The logger for failures and dropped messages.
    package init(
        configuration: Configuration, database: GatewayDatabase, events: AsyncStream<SubscriberEvent>,
        history: (any HistoryStore)? = nil, gate: OutboxGate = OutboxGate(), companion: (any Service)? = nil,
        effects: Effects, logger: Logger = Logger(label: "godwit.rules")
    ) {
        self.configuration = configuration
        self.database = database
        self.outbox = Outbox(database)
        self.events = events
        self.history = history
        self.gate = gate
        self.companion = companion
        self.lease = GatewayLease(database)
        self.effects = effects
        self.logger = logger
        let moment = Moment(now: self.clock.moment.now, wall: configuration.now())
        let settings = RulesStateMachine.Configuration(
            kinds: configuration.kinds, trackables: configuration.trackables, seed: configuration.seed)
        self.state = Mutex(State(machine: RulesStateMachine(settings, at: moment)))
    }

    /// Evaluates rules until a graceful shutdown or cancellation. Then saves the changes that are not saved yet.
    ///
    /// Of the gateways that share a database, one evaluates the rules at a time (``GatewayLease``). The others wait.
    ///
    /// - Throws: `storeFailed`, `storeUnusable` when the gateway's database cannot be read or written at the start.
    package func run() async throws {
        guard let lease = self.lease else { return try await self.evaluate() }
        try await cancelWhenGracefulShutdown {
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask { for await event in self.events { self.receive(event) } }
                try await lease.whileHeld(self.logger) { () throws(TrackingError) in try await self.evaluate() }
                group.cancelAll()
            }
        }
        // The task of this function may be cancelled, and would not wait for the database.
        await Task { await lease.release() }.value
    }

    /// Evaluates rules from the saved state on, until a graceful shutdown or cancellation.
    private func evaluate() async throws(TrackingError) {
        let topics = RuleEventPublisher(
            outbox: self.outbox, gate: self.gate, publish: self.effects.publish, logger: self.logger)
        try await topics.begin()
        try await self.outbox.removeReaders(except: [RuleEventPublisher.reader] + self.configuration.readers)
        let changes = self.database.changes()
        let activity = Activity()
        try await self.load(activity)
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                if self.lease == nil {
                    group.addTask { for await event in self.events { self.handle(.received(event)) } }
                }
                group.addTask { for await _ in changes { self.handle(.databaseChanged) } }
                group.addTask { await self.runTimer(activity) }
                group.addTask { await topics.run() }
                if let companion = self.companion { group.addTask { try? await companion.run() } }
                for await action in activity.actions.stream { group.addTask { await self.perform(action) } }
            }
        }
        await self.saveRest()
    }

    private func load(_ activity: Activity) async throws(TrackingError) {
        let now = self.configuration.now()
        try await self.outbox.beginRange(now: now)
        let saved = try await self.savedState()
        let isRead = try await self.outbox.unreadTrackables().isEmpty
        self.state.withLock { state in
            var settings = state.machine.configuration
            if self.lease != nil {
                // The names of streams and events must differ from those of an earlier time with the lease.
                var seeds = SplitMix64(seed: settings.seed)
                settings.seed = seeds.next()
            }
            state.machine = RulesStateMachine(settings, saved: saved, at: self.moment)
            state.activity = activity
            for event in state.view.events { self.handle(.received(event), &state) }
        }
        if isRead { self.gate.open() }
    }

    private func savedState() async throws(TrackingError) -> RulesStateMachine.Saved {
        var saved = RulesStateMachine.Saved()
        // The version is read before the rules, so that a change between the two reads counts as new.
        let store = RuleStore(self.database)
        saved.version = try await store.version()
        saved.rules = try await self.rules(in: store)
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
            // Without webhooks the watermarks are removed: a webhook that is added later receives no earlier
            // messages.
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

    /// Handles an event of the subscriber at a gateway that shares its database.
    private func receive(_ event: SubscriberEvent) {
        self.state.withLock { state in
            state.view.received(event)
            self.handle(.received(event), &state)
        }
    }

    private func handle(_ input: RulesStateMachine.Input) { self.state.withLock { self.handle(input, &$0) } }

    private func handle(_ input: RulesStateMachine.Input, _ state: inout State) {
        guard let activity = state.activity else { return }
        let moment = self.moment
        // The actions are queued within the lock, so that they keep the order of the inputs.
        for action in state.machine.handle(input, at: moment) { activity.actions.continuation.yield(action) }
        let deadline = state.machine.nextDeadline(at: moment)
        if let awaited = state.awaited, deadline < awaited { activity.wakes.continuation.yield() }
    }

    /// Gives the rules' state machine the input `timerFired` at each of its deadlines. If the next deadline becomes
    /// earlier, the sleep is shortened.
    private func runTimer(_ activity: Activity) async {
        var wakes = activity.wakes.stream.makeAsyncIterator()
        while !Task.isCancelled {
            let deadline = self.state.withLock { state in
                let deadline = state.machine.nextDeadline(at: self.moment)
                state.awaited = deadline
                return deadline
            }
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await self.clock.sleep(until: deadline)
                    if !Task.isCancelled { activity.wakes.continuation.yield() }
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
            self.logger.warning(
                """
                Webhooks miss the messages that were published while the gateway was not connected: \
                the gateway has no history to read them from. Give it a history with --store
                """)
        case .reportLost(let count):
            self.effects.dropped(count)
            self.logger.warning(
                "Memory for webhook messages that are not saved yet is full: the gateway dropped messages, and never delivers them. Check the disk of the gateway's database",
                metadata: ["count": "\(count)"])
        }
    }

    private func save(_ rows: RuleRows) async {
        do throws(TrackingError) {
            try await self.write(rows)
            self.handle(.saved)
        } catch {
            guard error.code != .takenOver else { return self.handle(.saveFailed) }
            self.logger.error(
                "State of the rules could not be saved to the gateway's database: the gateway tries again, and may repeat events after a restart. Free space on the disk, or follow the reason",
                metadata: ["reason": "\(error.message)"])
            self.handle(.saveFailed)
        }
    }

    /// Writes changes to the gateway's database in a separate task. A cancellation of the service therefore does not
    /// interrupt the transaction.
    private func write(_ rows: RuleRows) async throws(TrackingError) {
        let writing = Task { () async -> Result<Int, TrackingError> in
            do throws(TrackingError) {
                return .success(
                    try await self.database.write { db in
                        try self.lease?.check(db)
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
        let unsaved = self.state.withLock { state in
            (state.activity, state.awaited) = (nil, nil)
            return state.machine.stop(at: moment)
        }
        do throws(TrackingError) {
            for rows in unsaved { try await self.write(rows) }
        } catch {
            // The gateway that has the lease now reads the records that this one received.
            guard error.code != .takenOver else { return }
            self.logger.error(
                "Gateway's database could not be written at the shutdown: any events that rules produced and that were not saved yet are lost. Free space on the disk, or follow the reason",
                metadata: ["reason": "\(error.message)"])
        }
    }

    private func loadRules(unless known: Int64) async {
        let store = RuleStore(self.database)
        await self.trying(
            "Changed rules could not be read from the gateway's database: the gateway applies the rules that it read before, and tries again",
            orElse: .loadingFailed
        ) { () throws(TrackingError) in
            let version = try await store.version()
            return .rulesLoaded(version == known ? nil : try await self.rules(in: store), version: version)
        }
    }

    /// Returns the rules to apply, and logs each stored rule that cannot be applied.
    private func rules(in store: RuleStore) async throws(TrackingError) -> [Rule] {
        for rule in try await store.unusableRules() {
            self.logger.warning(
                "Rule is not applied because its stored definition cannot be used: it produces no events, and the other rules are applied. Add the rule again, or remove it with godwit rule remove",
                metadata: ["rule": "\(rule.name)", "reason": "\(rule.reason)"])
        }
        return try await store.rules()
    }

    private func trim(now: UnixTime) async {
        do throws(TrackingError) {
            self.report(dropped: try await self.outbox.trim(now: now))
            let oldest = now.advanced(by: .zero - Outbox.maximumAge)
            try await self.database.write { db in try RuleRows.removeWatermarks(before: oldest, in: db) }
        } catch {
            guard !Task.isCancelled else { return }
            self.logger.error(
                "Old webhook messages could not be removed from the gateway's database: they use space on the disk until the gateway succeeds. It tries again in a minute",
                metadata: ["reason": "\(error.message)"])
        }
    }

    private func compare(_ retained: Set<TrackableID>, removingErased: Bool) async {
        await self.trying(
            "Gateway could not find out which trackables were cleared while it was not connected, from its database and the history: it tries again. Follow the reason",
            orElse: .comparisonFailed
        ) { () throws(TrackingError) in
            if removingErased { try await self.removeErased() }
            let known = try await self.database.read { db in try RuleRows.trackables(db) }
            let missing = known.subtracting(retained)
            guard !missing.isEmpty, let history = self.history else { return .compared(missing: missing) }
            let stored = try await history.lastPositions(of: Array(missing)).map(\.trackable)
            return .compared(missing: missing.subtracting(stored))
        }
    }

    /// Removes the data of trackables that were erased from the history while the gateway was not running: the outbox
    /// messages and the records of other components that are older than the erased time.
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
        await self.trying(
            "Messages that webhooks missed could not be read from the history: webhooks receive them later, after the gateway has read them. It tries again",
            orElse: .historyReadFailed(read)
        ) {
            () throws(TrackingError) in .historyRead(read, try await history.page(read))
        }
    }

    /// Performs the operation `body`, and gives the input that it returns to the rules' state machine. If the operation
    /// throws, logs the message `problem` and gives the input `failure` to the state machine instead.
    private func trying(
        _ problem: Logger.Message, orElse failure: RulesStateMachine.Input,
        _ body: () async throws(TrackingError) -> RulesStateMachine.Input
    ) async {
        do throws(TrackingError) {
            self.handle(try await body())
        } catch {
            // A read that is interrupted by the end of the service is not logged.
            guard !Task.isCancelled else { return }
            self.logger.error(problem, metadata: ["reason": "\(error.message)"])
            self.handle(failure)
        }
    }

    /// Counts and logs webhook messages that were removed before their delivery.
    private func report(dropped count: Int) {
        guard count > 0 else { return }
        self.effects.dropped(count)
        self.logger.warning(
            "Undelivered webhook messages were removed and are never delivered: the outbox exceeded its limit of age, count or size. Check the server of the webhook",
            metadata: ["count": "\(count)"])
    }
}
