import TrackingCore
import TrackingStore
import TrackingSubscriber

/// Decides which events the gateway's rules produce, and which messages are queued for webhooks. Also decides when to
/// save changes to the database, when to remove old messages, and when to read the history.
///
/// The state machine touches no clock, file or network. Its caller passes the time and performs the returned actions.
///
/// Three parts decide independently: ``RuleBook`` evaluates the rules, ``CatchUp`` finds the records that webhooks
/// missed, and ``SaveSchedule`` batches the writes.
struct RulesStateMachine: Sendable {
    /// The settings of the rules' state machine: the kinds of messages for webhooks, the limit of
    /// trackables, and the seed of random ids.
    struct Configuration: Sendable {
        /// The kinds of received messages that are queued for webhooks. Events of rules are queued in any case.
        var kinds: Set<Outbox.Kind> = []
        /// The largest number of known trackables.
        var trackables = 20_000
        /// The seed of the random stream ids and event ids.
        var seed: UInt64
    }

    /// An input of the rules' state machine: an event of the subscriber, a timer, or the result of an action.
    enum Input: Sendable {
        /// The gateway's subscriber delivered an event.
        case received(SubscriberEvent)
        /// The deadline ``RulesStateMachine/nextDeadline(at:)`` has passed.
        case timerFired
        /// A process, this one or another, wrote to the gateway's database.
        case databaseChanged
        /// The gateway has read the rules from its database; `nil` if the state machine already has this version of the
        /// rules.
        case rulesLoaded([Rule]?, version: Int64)
        case loadingFailed
        case saved
        case saveFailed
        /// The answer to the action `compare`: the trackables that have data in the gateway's database, but neither a
        /// position at the broker nor one in the history.
        case compared(missing: Set<TrackableID>)
        case comparisonFailed
        /// The gateway has no history, or the history's file does not exist yet.
        case historyAbsent
        case historyRead(HistoryRead, HistoryPage)
        case historyReadFailed(HistoryRead)
    }

    /// An instruction of the rules' state machine that ``RulesService`` performs, such as to save changes or to read
    /// the history.
    enum Action: Hashable, Sendable {
        /// Write these changes to the database in one transaction. Answered by `saved` or `saveFailed`.
        case save(RuleRows)
        /// Read the rules from the database, unless their version is the given one. Answered by `rulesLoaded` or
        /// `loadingFailed`.
        case loadRules(unless: Int64)
        /// Remove the messages from the outbox that are too old at the given time, and forget which old records were
        /// queued for webhooks.
        case trim(now: UnixTime)
        /// Find the trackables that have data in the gateway's database, but no position at the broker or in the
        /// history. `retained` contains the trackables with a position at the broker.
        ///
        /// With `removingErased`, also remove the data of trackables that were erased from the history. Answered by
        /// `compared` or `comparisonFailed`.
        case compare(retained: Set<TrackableID>, removingErased: Bool)
        /// Open the outbox's gate: the delivery of the messages in the outbox to webhooks may begin.
        case openOutbox
        /// Check whether a history can be read. Answered by `historyAbsent` when none can; otherwise not answered.
        case checkHistory
        /// Read a page of the history to find records that webhooks missed. Answered by `historyRead` or
        /// `historyReadFailed`.
        case readHistory(HistoryRead)
        /// Log that webhooks miss the records from the time without a connection to the broker, because there is no
        /// history from which the gateway could read them.
        case reportMissingHistory
        /// Count and log this number of webhook messages that were dropped because the memory for them was full.
        case reportLost(Int)
    }

    /// The time between two removals of old messages from the outbox.
    private static let trimInterval = Duration.seconds(60)

    let configuration: Configuration
    private let start: Moment
    private var book: RuleBook
    private var streams: RuleEventStreams
    private var findings: [RuleBook.Finding] = []
    private var pending = PendingMessages()
    private var trips: TripWatermarks
    private var watermarks: RecordWatermarks
    private var cursor: QueueCursor
    private var cleared = ClearedTrackables()
    private var comparison = RetainedComparison()
    private var catchUp: CatchUp?
    private var saving = SaveSchedule()
    private var rules: RuleReloading
    private var trimDeadline: MonotonicTime
    private var clockStep = ClockStep()

    /// Creates the rules' state machine from the data that an earlier run saved. The gateway counts as not connected to
    /// the broker.
    init(_ configuration: Configuration, saved: Saved = Saved(), at moment: Moment) {
        self.configuration = configuration
        self.start = moment
        self.book = RuleBook(
            saved.rules, kept: saved.states, now: moment.wall, maximumTrackables: configuration.trackables)
        self.book.connectionLost(now: moment.wall)
        self.streams = RuleEventStreams(seed: configuration.seed, former: saved.formerStreams)
        self.trips = saved.trips
        self.watermarks = saved.watermarks
        self.cursor = QueueCursor(wasConnected: saved.cursor != nil)
        self.rules = RuleReloading(version: saved.version)
        self.trimDeadline = moment.now.advanced(by: Self.trimInterval)
        let oldest = moment.wall.advanced(by: .zero - Outbox.maximumAge)
        self.catchUp = saved.cursor.map { cursor in
            // A cursor in the future was saved with a clock that was ahead: the gap may have begun at any time.
            CatchUp(
                since: cursor > moment.wall ? oldest : max(cursor, oldest), watermarks: saved.watermarks,
                tripWatermarks: saved.trips)
        }
    }

    /// Handles one input of the rules' state machine: an event of the subscriber, a timer, or the result of an action.
    ///
    /// - Returns: The actions to perform, in order.
    mutating func handle(_ input: Input, at moment: Moment) -> [Action] {
        if self.clockStep.didRead(monotonic: moment.now, wall: moment.wall) != nil {
            self.book.clockStepped(now: moment.wall)
        }
        var actions: [Action] = []
        switch input {
        case .received(let event): actions += self.received(event, at: moment)
        case .timerFired: break
        case .databaseChanged: self.rules.databaseChanged(at: moment.now)
        case .rulesLoaded(let rules, let version):
            self.rules.loaded(version: version, at: moment.now)
            if let rules { self.book.replace(rules, now: moment.wall) }
        case .loadingFailed: self.rules.loadingFailed(at: moment.now)
        case .saved: if self.saving.saved() { actions.append(.openOutbox) }
        case .saveFailed: self.saving.saveFailed(at: moment.now)
        case .compared(let missing): self.compared(missing: missing, at: moment)
        case .comparisonFailed: self.comparison.failed(at: moment.now)
        case .historyAbsent:
            guard self.catchUp != nil else { break }
            self.finishCatchUp()
            actions.append(.reportMissingHistory)
        case .historyRead(let read, let page): self.read(page, read, at: moment)
        case .historyReadFailed(let read): self.catchUp?.readFailed(read, at: moment)
        }
        if case .timerFired = input {} else { self.saving.request(at: moment.now) }
        return actions + self.dueActions(at: moment)
    }

    /// Returns the time at which the caller must give the input `timerFired` to the rules' state machine next.
    func nextDeadline(at moment: Moment) -> MonotonicTime {
        let rules = self.book.nextDeadline.map { moment.now.advanced(by: max(.zero, $0.since(moment.wall))) }
        let catchUp = self.pending.wantsPage ? self.catchUp?.deadline : nil
        let deadlines = [rules, catchUp, self.saving.deadline, self.rules.deadline, self.comparison.deadline]
        return deadlines.reduce(self.trimDeadline) { min($0, $1 ?? $0) }
    }

    /// Returns the changes that the service must save before it ends: first those whose saving failed or was not
    /// answered, then all later ones.
    mutating func stop(at moment: Moment) -> [RuleRows] {
        self.cursor.isDue = true
        return [self.saving.takeUnsaved(), self.takeRows(now: moment.wall)].compactMap { $0 }.filter { !$0.isEmpty }
    }

    // MARK: - Deadlines

    private mutating func dueActions(at moment: Moment) -> [Action] {
        self.findings += self.book.timerFired(now: moment.wall)
        var actions: [Action] = []
        if self.trimDeadline <= moment.now { actions += self.trim(at: moment) }
        if let retained = self.comparison.begin(at: moment.now) {
            actions.append(.compare(retained: retained, removingErased: !self.comparison.hasCompared))
        }
        if self.rules.begin(at: moment.now) { actions.append(.loadRules(unless: self.rules.version)) }
        if self.pending.wantsPage,
            let read = self.catchUp?.nextRead(clearings: self.cleared.count, at: moment)
        {
            actions.append(.readHistory(read))
        }
        return actions + self.save(at: moment)
    }

    private mutating func save(at moment: Moment) -> [Action] {
        if !self.findings.isEmpty { self.saving.request(at: moment.now) }
        switch self.saving.begin(at: moment.now) {
        case .nothing: return []
        case .again(let rows): return [.save(rows)]
        case .changes:
            let rows = self.takeRows(now: moment.wall)
            guard !rows.isEmpty else { return self.saving.hadNothingToSave() ? [.openOutbox] : [] }
            self.saving.began(rows)
            return [.save(rows)]
        }
    }

    private mutating func trim(at moment: Moment) -> [Action] {
        self.trimDeadline = moment.now.advanced(by: Self.trimInterval)
        let now = self.agingTime(at: moment)
        self.watermarks.remove(before: now.advanced(by: .zero - Outbox.maximumAge))
        self.cursor.isDue = true
        self.saving.request(at: moment.now)
        let lost = self.pending.takeLost()
        return [.trim(now: now)] + (lost > 0 ? [.reportLost(lost)] : [])
    }

    /// Returns the present time from which the ages of outbox messages are counted. A wall clock that jumps ahead does
    /// not make messages older.
    func agingTime(at moment: Moment) -> UnixTime {
        min(moment.wall, self.start.wall.advanced(by: self.start.now.duration(to: moment.now)))
    }

    // MARK: - Received messages

    private mutating func received(_ event: SubscriberEvent, at moment: Moment) -> [Action] {
        let now = moment.wall
        switch event {
        case .connection(nil):
            self.book.connected(now: now)
            self.cursor.connected()
        case .connection(_?):
            self.connectionLost(now: now)
        case .positionsKept(let ids):
            self.comparison.received(ids, at: moment.now)
            self.catchUp?.connected(at: moment)
            return self.catchUp == nil ? [] : [.checkHistory]
        case .location(let id, let update):
            self.received(update, of: id, now: now)
        case .locationCleared(let id):
            self.clear(id, now: now)
            self.cleared.withdrawn.insert(id)
        case .resolution(let id, let inForce):
            self.findings += self.book.came(near: inForce?.isNear, id, now: now)
        case .trip(let id, let trip?):
            guard self.configuration.kinds.contains(.trip), self.trips.advance(to: trip, of: id) else { break }
            self.queue(trip, of: id, now: now)
        case .tripRecorded(let id, let trip):
            self.queue(trip, of: id, now: now)
        case .event(let id, let event) where !self.streams.isOwn(event.stream, of: id):
            let name = RecordName(stream: event.stream, seq: event.seq)
            self.queue(.event, [name], of: id, now: now) { MessageCodec.encode(event) }
        default:
            break
        }
        return []
    }

    private mutating func received(_ update: ReceivedUpdate, of id: TrackableID, now: UnixTime) {
        self.comparison.received(id)
        guard update.update.kind == .actual else { return }
        if !update.isRetained { self.book.received(id, now: now) }
        guard !update.isLate else { return }
        self.findings += self.book.moved(id, update.update.location, passing: update.skipped, now: now)
        guard !update.isRetained else { return }
        let names = (update.skipped + [update.update.location]).compactMap(\.name)
        self.queue(.position, names, of: id, now: now) { try? LocationCodec.encode(update.update) }
    }

    private mutating func connectionLost(now: UnixTime) {
        self.book.connectionLost(now: now)
        self.catchUp?.connectionLost()
        guard self.cursor.wasConnected, self.catchUp == nil else { return }
        self.catchUp = CatchUp(since: now, watermarks: self.watermarks, tripWatermarks: self.trips)
    }

    private mutating func queue(_ trip: Trip, of id: TrackableID, now: UnixTime) {
        self.queue(.trip, [RecordName(stream: trip.stream, seq: trip.seq)], of: id, now: now) {
            MessageCodec.encode(trip)
        }
    }

    /// Queues a received message for webhooks, if they receive its kind and the memory for messages is not full.
    private mutating func queue(
        _ kind: Outbox.Kind, _ names: [RecordName], of id: TrackableID, now: UnixTime, _ payload: () -> [UInt8]?
    ) {
        guard self.configuration.kinds.contains(kind), let payload = payload(), self.pending.reserve(payload.count)
        else { return }
        self.append(kind, names, of: id, payload, now: now)
    }

    /// Adds a message to the messages that are written to the outbox next.
    ///
    /// - Parameter names: The names (stream and number) of the records in the message. They count as queued from then
    ///   on.
    private mutating func append(
        _ kind: Outbox.Kind, _ names: [RecordName], of id: TrackableID, _ payload: [UInt8], now: UnixTime
    ) {
        self.watermarks.advance(kind, to: names, of: id, now: now)
        self.catchUp?.didQueue(names, of: id)
        self.pending.append(
            Outbox.Draft(
                trackable: id, kind: kind, time: now, payload: String(decoding: payload, as: UTF8.self),
                record: kind == .position ? nil : names.first))
    }

    // MARK: - Cleared trackables

    /// Forgets a trackable whose position was cleared: removes its rule states, and its events and webhook messages
    /// that are not saved yet. The next save removes its rows from the database.
    private mutating func clear(_ id: TrackableID, now: UnixTime) {
        self.book.forget(id, now: now)
        self.pending.remove(id)
        self.findings.removeAll { $0.trackable == id }
        self.cleared.insert(id)
    }

    private mutating func compared(missing: Set<TrackableID>, at moment: Moment) {
        for id in missing.subtracting(self.comparison.finish()) { self.clear(id, now: moment.wall) }
        self.saving.requestAndOpen(at: moment.now)
    }

    // MARK: - Catching up

    private mutating func read(_ page: HistoryPage, _ read: HistoryRead, at moment: Moment) {
        let (kinds, clearings, hasRoom) = (self.configuration.kinds, self.cleared.count, self.pending.hasRoomForPage)
        let isValid = self.catchUp?.didRead(
            page, for: read, kinds: kinds, clearings: clearings, hasRoom: hasRoom, at: moment)
        guard isValid == true else { return }
        self.queueMissed(page, read, now: moment.wall)
        let hadReadOnce = self.catchUp?.hasReadOnce
        if self.catchUp?.finishReading(at: moment) == true { return self.finishCatchUp() }
        if self.catchUp?.hasReadOnce != hadReadOnce { self.cursor.isDue = true }
    }

    /// Queues for webhooks those records on a page of the history that webhooks missed.
    private mutating func queueMissed(_ page: HistoryPage, _ read: HistoryRead, now: UnixTime) {
        switch (page, read.query) {
        case (.events(let events), .events(let id, _)):
            for event in events where !self.streams.isOwn(event.stream, of: id) {
                let name = RecordName(stream: event.stream, seq: event.seq)
                guard self.catchUp?.isMissed(.event, name, of: id) == true else { continue }
                self.append(.event, [name], of: id, MessageCodec.encode(event), now: now)
            }
        case (.trips(let trips), .trips(let id, _)):
            for trip in trips where self.catchUp?.isMissed(trip, of: id) == true {
                let name = RecordName(stream: trip.stream, seq: trip.seq)
                self.append(.trip, [name], of: id, MessageCodec.encode(trip), now: now)
            }
        case (.points(let page), .points(let id, _)):
            for point in page.points.filter({ !$0.hasClockFault }).map(\.location) {
                guard let name = point.name, self.catchUp?.isMissed(.position, name, of: id) == true,
                    let payload = try? LocationCodec.encode(LocationUpdate(location: point))
                else { continue }
                self.append(.position, [name], of: id, payload, now: now)
            }
        default: break
        }
    }

    private mutating func finishCatchUp() {
        self.catchUp = nil
        self.cursor.isDue = true
    }

    // MARK: - Saving

    /// Removes and returns all changes since the last call, so that they can be saved.
    ///
    /// After a gap in the connection to the broker, new messages are returned as usual. The notes of which records were
    /// queued for webhooks are held back until the history of the gap was read once.
    private mutating func takeRows(now: UnixTime) -> RuleRows {
        let events = self.findings.map { finding in
            let event = self.streams.event(finding)
            return Outbox.Draft(
                trackable: finding.trackable, kind: .event, isOwn: true, time: event.time,
                payload: String(decoding: MessageCodec.encode(event), as: UTF8.self),
                // The outbox recognises the event by its name if a save is repeated whose commit was not answered.
                record: RecordName(stream: event.stream, seq: event.seq))
        }
        self.findings = []
        let (cleared, withdrawn) = self.cleared.takeAll()
        var rows = RuleRows(
            cleared: cleared, withdrawn: withdrawn, states: self.book.takeChanges(), dropped: self.book.takeDropped(),
            streams: self.streams.takeChanges(), drafts: self.pending.takeAll() + events)
        guard self.catchUp?.hasReadOnce != false else { return rows }
        (rows.trips, rows.watermarks) = (self.trips.takeChanges(), self.watermarks.takeChanges())
        if self.cursor.take() { rows.cursor = now }
        return rows
    }
}

extension Location {
    /// The record name (stream and number) of the position; `nil` for a position that lacks one of them.
    fileprivate var name: RecordName? {
        guard let stream = self.stream, let seq = self.seq else { return nil }
        return RecordName(stream: stream, seq: seq)
    }
}
