package import Logging
import ServiceLifecycle
import Synchronization
package import TrackingCore
import TrackingRuntime
package import TrackingStore
package import TrackingSubscriber

/// Looks at everything that is heard with the rules in hand, and puts what they find, and what webhooks want, into the outbox; the
/// rules' findings go to their trackables' event topics from there.
package final class RuleKeeper: Service {
    /// What it is told once.
    package struct Configuration: Sendable {
        /// What is put into the outbox of what is heard; the rules' events always are.
        package var kinds: Set<Outbox.Kind> = []
        /// Who else reads the outbox; the place of anybody else is forgotten.
        package var readers: [String] = []
        /// The clock.
        package var now: @Sendable () -> UnixTime
        /// Draws random names.
        package var seed: UInt64

        /// Makes a configuration.
        package init(
            kinds: Set<Outbox.Kind> = [], readers: [String] = [], seed: UInt64,
            now: @escaping @Sendable () -> UnixTime
        ) {
            self.kinds = kinds
            self.readers = readers
            self.seed = seed
            self.now = now
        }
    }

    /// The outbox's reader that tells the rules' events on their topics.
    package static let topicReader = "mqtt"

    let configuration: Configuration
    private let database: GatewayDatabase
    private let store: RuleStore
    private let outbox: Outbox
    private let events: AsyncStream<SubscriberEvent>
    private let publish: @Sendable (TrackingEvent, TrackableID) async throws(TrackingError) -> Void
    private let dropped: @Sendable (Int) -> Void
    let history: (any HistoryStore)?
    private let gate: OutboxGate
    let logger: Logger
    private let clock: DeviceClock
    /// When it was made.
    private let begun: Moment
    let desk: Mutex<Desk>

    /// The most messages that wait in memory for the file.
    private static let maximumWaiting = 10_000
    /// The most bytes of them: 64 MB.
    private static let maximumWaitingBytes = 67_108_864

    /// Makes a keeper that looks at nothing yet.
    ///
    /// - Parameters:
    ///   - events: What is heard.
    ///   - history: What was recorded, and what of it was erased; `nil` for none.
    ///   - gate: Opened once nothing is in the outbox any more that was erased meanwhile.
    ///   - publish: Tells an event on its topic; returns when the broker has it.
    ///   - dropped: Receives the number of messages for webhooks that are dropped unread.
    package init(
        configuration: Configuration, database: GatewayDatabase, events: AsyncStream<SubscriberEvent>,
        history: (any HistoryStore)? = nil, gate: OutboxGate = OutboxGate(),
        publish: @escaping @Sendable (TrackingEvent, TrackableID) async throws(TrackingError) -> Void,
        dropped: @escaping @Sendable (Int) -> Void = { _ in },
        logger: Logger = Logger(label: "godwit.rules")
    ) {
        self.configuration = configuration
        self.database = database
        self.store = RuleStore(database)
        self.outbox = Outbox(database)
        self.events = events
        self.history = history
        self.gate = gate
        self.publish = publish
        self.dropped = dropped
        self.logger = logger
        self.clock = DeviceClock()
        self.begun = Moment(now: self.clock.moment.now, wall: configuration.now())
        self.desk = Mutex(
            Desk(
                book: RuleBook([], now: configuration.now()), numbers: RuleStreams(seed: configuration.seed)))
    }

    /// Looks until a graceful shutdown or cancellation; what was found by then is kept.
    package func run() async throws {
        try await self.outbox.begin(Self.topicReader)
        try await self.outbox.keep(readers: [Self.topicReader] + self.configuration.readers)
        try await self.start()
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await event in self.events { self.heard(event) } }
                group.addTask { await self.tick() }
                group.addTask { await self.tell() }
                if !self.configuration.kinds.isEmpty { group.addTask { await self.tellMissed() } }
                await group.waitForAll()
            }
        }
        self.desk.withLock { $0.isCursorDue = true }
        do throws(TrackingError) { try await self.save() } catch {
            self.logger.error("what rules found last is lost", metadata: ["reason": "\(error.message)"])
        }
    }

    private func start() async throws(TrackingError) {
        // Before the rules: what changes between the two is seen as new.
        let version = try await self.store.version()
        let rules = try await self.store.rules()
        let now = self.configuration.now()
        try await self.outbox.beginRange(now: now)
        let kept = try await self.database.read { db in try RuleRows.entries(db) }
        let former = try await self.outbox.ownStreams(unreadBy: Self.topicReader)
        let (streams, trips) = try await self.database.read { db in
            (try RuleRows.names(db, in: .ruleStream), try RuleRows.names(db, in: .outboxTrip))
        }
        let (told, until) = try await self.toldBefore()
        self.desk.withLock { desk in
            desk.book = RuleBook(rules, kept: kept, now: now)
            desk.book.deaf(now: now)
            desk.numbers = RuleStreams(
                seed: self.configuration.seed, former: former.union(streams.values.map(\.stream)))
            desk.trips = ToldTrips(trips)
            desk.told = told
            desk.hasListened = until != nil
            let oldest = now.advanced(by: .zero - Outbox.maximumAge)
            desk.missed = until.map {
                // By a clock that was ahead it is not known until when.
                MissedRecords(since: $0 > now ? oldest : max($0, oldest), before: told, trips: desk.trips)
            }
            desk.version = version
        }
        if try await self.outbox.unreadTrackables().isEmpty { self.gate.open() }
    }

    /// What webhooks were told, and until when they were told everything. Where there are none, whoever comes later begins anew.
    private func toldBefore() async throws(TrackingError) -> (ToldRecords, UnixTime?) {
        guard !self.configuration.kinds.isEmpty else {
            try await self.database.write { db in try RuleRows.forgetTold(before: nil, in: db) }
            return (ToldRecords(), nil)
        }
        return try await self.database.read { db in (ToldRecords(try RuleRows.told(db)), try RuleRows.toldUntil(db)) }
    }

    // MARK: - Looking

    private func heard(_ event: SubscriberEvent) {
        let now = self.configuration.now()
        self.desk.withLock { desk in
            switch event {
            case .connection(nil):
                desk.listening(now: now)
            case .connection(_?):
                desk.deaf(now: now)
            case .positionsKept(let ids):
                desk.kept = ids
                desk.missed?.until = now
            case .location(let id, let update):
                desk.kept?.insert(id)
                if !update.isRetained, update.update.kind == .actual { desk.book.heard(id, now: now) }
                guard update.update.kind == .actual, !update.isLate else { return }
                desk.findings += desk.book.moved(id, update.update.location, passing: update.skipped, now: now)
                guard !update.isRetained else { return }
                let names = (update.skipped + [update.update.location]).compactMap(\.name)
                self.take(.position, names, id, &desk, now) { try? LocationCodec.encode(update.update) }
            case .locationCleared(let id):
                desk.clear(id, now: now)
                desk.withdrawn.insert(id)
            case .resolution(let id, let inForce):
                desk.findings += desk.book.came(near: inForce?.isNear, id, now: now)
            case .trip(let id, let trip?):
                guard self.configuration.kinds.contains(.trip), desk.trips.isNews(trip, of: id) else { return }
                let name = RecordName(stream: trip.stream, seq: trip.seq)
                self.take(.trip, [name], id, &desk, now) { MessageCodec.encode(trip) }
            case .tripRecorded(let id, let trip):
                let name = RecordName(stream: trip.stream, seq: trip.seq)
                self.take(.trip, [name], id, &desk, now) { MessageCodec.encode(trip) }
            case .event(let id, let event) where !desk.numbers.isOwn(event.stream, of: id):
                let name = RecordName(stream: event.stream, seq: event.seq)
                self.take(.event, [name], id, &desk, now) { MessageCodec.encode(event) }
            default:
                break
            }
        }
    }

    /// - Parameter names: The records that are told with it.
    private func take(
        _ kind: Outbox.Kind, _ names: [RecordName], _ id: TrackableID, _ desk: inout Desk, _ now: UnixTime,
        _ payload: () -> [UInt8]?
    ) {
        guard self.configuration.kinds.contains(kind), let payload = payload() else { return }
        guard desk.drafts.count < Self.maximumWaiting, desk.draftBytes + payload.count <= Self.maximumWaitingBytes
        else { return desk.lost += 1 }
        desk.put(kind, names, of: id, payload, now: now)
    }

    // MARK: - Keeping

    /// Every 50 ms what was found, every second the rules, every minute the outbox.
    private func tick() async {
        var count = 0
        var steps = ClockStep()
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(50))
            count += 1
            let moment = self.clock.moment
            if steps.told(monotonic: moment.now, wall: moment.wall) != nil {
                self.desk.withLock { $0.book.clockStepped(now: self.configuration.now()) }
            }
            do throws(TrackingError) {
                self.desk.withLock { $0.findings += $0.book.timerFired(now: self.configuration.now()) }
                try await self.save()
                if count.isMultiple(of: 20) { try await self.reload() }
                if count.isMultiple(of: 1200) { try await self.trim() }
                try await self.compare()
            } catch {
                // What is read while it ends is broken off; nothing is wrong then.
                guard !Task.isCancelled else { return }
                self.logger.error("rules and webhooks wait", metadata: ["reason": "\(error.message)"])
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// What waits of trackables that were erased, or whose position was cleared, while nobody listened is not told any more, nor kept
    /// where it was set aside.
    private func compare() async throws(TrackingError) {
        guard let kept = self.desk.withLock({ $0.kept }) else { return }
        if self.desk.withLock({ !$0.hasCompared }), let history = self.history {
            let setAside = try await Quarantine(database: self.database).trackables()
            for id in try await self.outbox.unreadTrackables().union(setAside) {
                guard let limit = try await history.verify(id)?.erasedBefore else { continue }
                try await self.database.write { db in
                    try Outbox.remove(id, before: limit, from: db)
                    try Quarantine.remove(id, before: limit, from: db)
                }
            }
        }
        let known = try await self.database.read { db in try RuleRows.trackables(db) }
        let missing = Array(known.subtracting(kept))
        let stored = missing.isEmpty ? [] : try await self.history?.lastPositions(of: missing).map(\.trackable) ?? []
        let now = self.configuration.now()
        self.desk.withLock { desk in
            for id in Set(missing).subtracting(stored) where desk.kept?.contains(id) == false {
                desk.clear(id, now: now)
            }
            desk.kept = nil
            desk.hasCompared = true
        }
        try await self.save()
        self.gate.open()
    }

    private func reload() async throws(TrackingError) {
        let version = try await self.store.version()
        guard self.desk.withLock({ $0.version != version }) else { return }
        let rules = try await self.store.rules()
        self.desk.withLock {
            $0.book.replace(rules, now: self.configuration.now())
            $0.version = version
        }
    }

    /// The time by which what waits grows old: a clock that jumps ahead lets nothing go.
    var agingTime: UnixTime {
        let passed = self.begun.now.duration(to: self.clock.moment.now)
        return min(self.configuration.now(), self.begun.wall.advanced(by: passed))
    }

    private func trim() async throws(TrackingError) {
        let now = self.agingTime
        let unread = try await self.outbox.trim(now: now)
        let oldest = now.advanced(by: .zero - Outbox.maximumAge)
        try await self.database.write { db in try RuleRows.forgetTold(before: oldest, in: db) }
        self.note(dropped: unread)
        let lost = self.desk.withLock { desk in
            desk.told.forget(before: oldest)
            desk.isCursorDue = true
            defer { desk.lost = 0 }
            return desk.lost
        }
        if lost > 0 {
            self.dropped(lost)
            self.logger.warning("messages were not kept for webhooks", metadata: ["count": "\(lost)"])
        }
    }

    /// Counts and reports messages for webhooks that were dropped unread.
    private func note(dropped count: Int) {
        guard count > 0 else { return }
        self.dropped(count)
        self.logger.warning("messages were let go unread", metadata: ["count": "\(count)"])
    }

    /// Findings, states and numbers in one transaction: what is told once is not told again. It is tried until it is done, unless
    /// this is to end.
    private func save() async throws(TrackingError) {
        let now = self.configuration.now()
        let rows = self.desk.withLock { $0.takeRows(now: now) }
        guard !rows.isEmpty else { return }
        while true {
            do throws(TrackingError) {
                return try await self.write(rows)
            } catch {
                guard !Task.isCancelled, !Task.isShuttingDownGracefully else { throw error }
                self.logger.error("what rules found is not kept yet", metadata: ["reason": "\(error.message)"])
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// In a task of its own: what was found before a cancellation is kept all the same.
    private func write(_ rows: RuleRows) async throws(TrackingError) {
        let writing = Task { () async -> Result<Int, TrackingError> in
            do throws(TrackingError) {
                return .success(
                    try await self.database.write { db in
                        try rows.write(to: db)
                        return try Outbox.trim(in: db)
                    })
            } catch {
                return .failure(error)
            }
        }
        self.note(dropped: try await writing.value.get())
    }

    // MARK: - Telling

    /// The rules' events on their topics, in order, each once the broker has the one before it.
    private func tell() async {
        var wait = Duration.milliseconds(50)
        await self.gate.opened()
        while !Task.isCancelled {
            do throws(TrackingError) {
                wait = try await self.tellNext() ? .zero : .milliseconds(100)
            } catch {
                wait = min(max(wait, .milliseconds(250)) * 2, .seconds(30))
                self.logger.info("an event of a rule waits", metadata: ["reason": "\(error.message)"])
            }
            try? await Task.sleep(for: wait)
        }
    }

    private func tellNext() async throws(TrackingError) -> Bool {
        let (entries, through) = try await self.outbox.next(
            Self.topicReader, kinds: [.event], ownAlone: true, limit: 100)
        for entry in entries {
            do throws(TrackingError) {
                try await self.publish(try MessageCodec.decodeEvent(entry.payload.utf8), entry.trackable)
            } catch  where error.code == .notAuthorized {
                self.logger.warning(
                    "an event of a rule is not on its topic: the broker's rules let this user not write there",
                    metadata: ["trackable": "\(entry.trackable)"])
            }
            try await self.outbox.told(Self.topicReader, through: entry.place)
        }
        try await self.outbox.told(Self.topicReader, through: through)
        return !entries.isEmpty
    }
}
