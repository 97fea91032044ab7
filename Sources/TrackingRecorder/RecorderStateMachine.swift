public import TrackingCore

/// Decides when what came is stored, and what is acknowledged then: to the broker, and to the devices.
///
/// Two connections: one takes in, and the broker hears that messages are safe only when they are durable; the other is the
/// recorder's voice: its liveness, and the acknowledgements to the devices.
public struct RecorderStateMachine: Sendable {
    /// What happens.
    public enum Event: Sendable {
        /// The connection that takes in told something.
        case intake([TransportEvent])
        /// The connection that acknowledges told something.
        case voice([TransportEvent])
        /// The batch given last is durable: what may be acknowledged.
        case stored([TrackableID: Acknowledgement])
        /// The batch given last was not stored.
        case storeFailed(TrackingError)
        /// A deadline has come, or not.
        case timer
        /// Take leave in order.
        case stop
    }

    /// What is to be done.
    public enum Action: Hashable, Sendable {
        case intake([TransportCommand])
        case voice([TransportCommand])
        /// Store this, in one commit, and say what came of it.
        case store(RecordingBatch)
        case tell(RecorderEvent)
    }

    /// What is being stored.
    enum Storing: Sendable {
        /// Nothing. Can transition to: `busy`.
        case idle
        /// The store is at it. Can transition to: `idle`, `waiting`, `busy` with the next part.
        case busy(Attempt)
        /// It failed, and is tried again. Can transition to: `busy`.
        case waiting(Attempt, until: MonotonicTime)
    }

    /// A page on its way into the store.
    struct Attempt: Sendable {
        var page: RecorderPage
        var failures = 0
        /// When it was given to the store first.
        let since: MonotonicTime
        /// Whether it was told that the store does not answer.
        var isOverdue = false

        /// When it is to be told that the store does not answer; where it has failed, that was told.
        var overdueAt: MonotonicTime? {
            self.failures > 0 || self.isOverdue ? nil : self.since.advanced(by: RecorderConfiguration.longestCommit)
        }
    }

    let configuration: RecorderConfiguration
    var session: SessionStateMachine
    var storing = Storing.idle
    var waiting = RecorderPage()
    /// How many messages came on the connection of this number.
    private var taken = 0
    private var connection = -1
    /// When the last message came.
    private var lastReceived = UnixTime(-.infinity)
    private var refusals = RefusedFilters()
    /// What is to be acknowledged and has not been said, and when it is said at the latest.
    var owed: [TrackableID: Acknowledgement] = [:]
    var owedUntil: MonotonicTime?
    /// What was said and not answered.
    var said: [TransportToken: (id: TrackableID, acknowledgement: Acknowledgement)] = [:]
    var isRefusalTold = false
    var lastToken: TransportToken = 3
    /// How many messages the broker said it had dropped; `nil` before it did on this connection.
    var dropped: Int?
    /// What clears what others left behind, where this recorder may.
    var housekeeper: Housekeeper?
    /// What is to be cleared and was not answered, and how much of it the broker took so far.
    var clearing: Set<TransportToken> = []
    var cleared = 0
    var isClearingRefusalTold = false
    private var stopUntil: MonotonicTime?
    private var isLeaving = false
    private var isIntakeOver = false
    var isVoiceOver = false
    /// Why it cannot go on.
    public internal(set) var failure: TrackingError?

    /// Starts a recorder that is not connected.
    public init(configuration: RecorderConfiguration) {
        self.configuration = configuration
        self.session = SessionStateMachine(
            client: configuration.client, session: configuration.session, lease: configuration.lease)
        self.housekeeper = configuration.clearsAfter.map { Housekeeper(root: configuration.topicRoot, patience: $0) }
    }

    /// Whether nothing more is taken in until the store has taken what came.
    public var isFull: Bool {
        if case .idle = self.storing { return false }
        return !self.isStopping && self.waiting.isFull(of: self.configuration.window)
    }

    /// How many messages came and are not stored yet.
    public var withheld: Int { self.waiting.messages + (self.storedNow?.messages ?? 0) }

    /// How long the oldest of them has waited.
    public func lag(at now: MonotonicTime) -> Duration {
        let since = MonotonicTime.earlier(self.storedNow?.since, self.waiting.since)
        return since.map { max(.zero, $0.duration(to: now)) } ?? .zero
    }

    /// What is being stored.
    private var storedNow: RecorderPage? {
        switch self.storing {
        case .idle: nil
        case .busy(let attempt), .waiting(let attempt, _): attempt.page
        }
    }

    /// Whether both connections are closed.
    public var isClosed: Bool { self.isIntakeOver && self.isVoiceOver }

    /// When it is to be told ``Event/timer``.
    public var nextDeadline: MonotonicTime? {
        var deadlines = [self.owedUntil, self.session.nextDeadline, self.stopUntil, self.refusals.retryAt]
        if self.session.isAnnounced { deadlines.append(self.housekeeper?.checkAt) }
        switch self.storing {
        case .idle: deadlines.append(self.waiting.since?.advanced(by: RecorderConfiguration.longestWait))
        case .busy(let attempt): deadlines.append(attempt.overdueAt)
        case .waiting(_, let until): deadlines.append(until)
        }
        return deadlines.compactMap { $0 }.min()
    }

    /// Something happened.
    public mutating func happened(_ event: Event, at moment: Moment) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .intake(let events): for event in events { actions += self.intake(event, at: moment) }
        case .voice(let events): for event in events { actions += self.voice(event, at: moment) }
        case .stored(let acknowledgements): actions = self.stored(acknowledgements, at: moment)
        case .storeFailed(let error): actions = self.storeFailed(error, at: moment)
        case .timer: actions = self.timerFired(at: moment)
        case .stop: if !self.isStopping { self.stopUntil = moment.now.advanced(by: RecorderConfiguration.stopLimit) }
        }
        return actions + self.storeIfDue(at: moment) + self.closeIfDone(at: moment)
    }

    // MARK: - Taking in

    private mutating func intake(_ event: TransportEvent, at moment: Moment) -> [Action] {
        switch event {
        case .connected(let connection, let sessionPresent):
            self.connection = connection
            self.taken = 0
            self.refusals = RefusedFilters()
            let subscription = Action.intake([.subscribe(self.refusals.asking(self.configuration.filters), 1)])
            let isGap = !sessionPresent && !(self.configuration.isFirstRun && connection == 0)
            if isGap { self.noteGap(at: moment) }
            return [.tell(.connected(sessionPresent: sessionPresent)), subscription]
                + (isGap ? [.tell(.possibleGap)] : [])
        case .disconnected(let disconnection):
            self.isIntakeOver = disconnection.retry == nil
            self.refusals = RefusedFilters()
            return [.tell(.disconnected(disconnection))]
        case .received(let message):
            // What comes after the last page was closed is not acknowledged: the broker keeps it.
            guard !self.isStopping else { return [] }
            self.taken += 1
            self.waiting.take(
                message, root: self.configuration.topicRoot, receivedAt: self.receipt(moment.wall), now: moment.now)
            return []
        case .subscribed(_, let refusals):
            let group = self.configuration.group
            return self.refusals.answered(refusals, now: moment.now).map {
                .tell(.subscriptionRefused(filter: group?.withoutSecret($0.filter) ?? $0.filter, $0.reason))
            }
        case .published: return []
        }
    }

    /// When a message came: many come in one moment, and what stands on a topic has an order. A clock that was set back by more
    /// than a second begins anew.
    private mutating func receipt(_ wall: UnixTime) -> UnixTime {
        let last = self.lastReceived.seconds
        let isBehind = (0..<1).contains(last - wall.seconds)
        self.lastReceived = isBehind ? UnixTime(max(last + 1e-6, last.nextUp)) : wall
        return self.lastReceived
    }

    private mutating func noteGap(at moment: Moment) {
        let note = RefusedMessage(
            topic: self.configuration.topicRoot.path, receivedAt: moment.wall,
            reason: RefusedMessage.possibleGapReason, payload: [])
        self.waiting.take(note, now: moment.now)
    }

    // MARK: - Storing

    /// A page is closed when it is full, when its first message has waited long enough, or when the one before it is done.
    private mutating func storeIfDue(at moment: Moment, isNext: Bool = false) -> [Action] {
        guard case .idle = self.storing, let since = self.waiting.since, self.failure == nil else { return [] }
        guard
            isNext || self.stopUntil != nil || self.waiting.isFull(of: self.configuration.window)
                || since.duration(to: moment.now) >= RecorderConfiguration.longestWait
        else { return [] }
        var page = self.waiting
        page.through = self.taken
        page.connection = self.connection
        page.awaited = page.batch.awaited
        self.waiting = RecorderPage()
        self.storing = .busy(Attempt(page: page, since: moment.now))
        return [.store(page.batch)]
    }

    private mutating func stored(_ acknowledgements: [TrackableID: Acknowledgement], at moment: Moment) -> [Action] {
        guard case .busy(var attempt) = self.storing else { return [] }
        guard attempt.page.stored(acknowledgements) else {
            self.storing = .busy(attempt)
            return [.store(attempt.page.batch)]
        }
        self.storing = .idle
        let page = attempt.page
        var actions: [Action] = []
        if attempt.failures > 0 || attempt.isOverdue {
            actions.append(.tell(.storeBack(after: attempt.since.duration(to: moment.now))))
        }
        if page.connection >= 0 {
            actions.append(.intake([.acknowledge(through: page.through, connection: page.connection)]))
        }
        actions += self.acknowledge(page.acknowledgements, awaited: page.awaited, now: moment.now)
        return actions + self.storeIfDue(at: moment, isNext: true)
    }

    private mutating func storeFailed(_ error: TrackingError, at moment: Moment) -> [Action] {
        guard case .busy(var attempt) = self.storing else { return [] }
        if error.code == .storeUnusable { return self.fail(error, at: moment) }
        if error.code == .storeRefused {
            let refusal = attempt.page.refused(error, root: self.configuration.topicRoot)
            if refusal != .tryAgain {
                self.storing = .busy(attempt)
                return (refusal == .search ? [.tell(.storeRefuses(error))] : []) + [.store(attempt.page.batch)]
            }
        }
        let wait = min(
            RecorderConfiguration.longestStoreWait,
            RecorderConfiguration.firstStoreWait * (1 << min(attempt.failures, 10)))
        attempt.failures += 1
        self.storing = .waiting(attempt, until: moment.now.advanced(by: wait))
        return [.tell(.storeAway(error, retry: wait))]
    }

    mutating func fail(_ error: TrackingError, at moment: Moment) -> [Action] {
        self.failure = self.failure ?? error
        self.storing = .idle
        self.waiting = RecorderPage()
        self.stopUntil = moment.now
        return [.tell(.failed(error))]
    }

    private mutating func timerFired(at moment: Moment) -> [Action] {
        var actions: [Action] = []
        switch self.storing {
        case .waiting(let attempt, let until) where until <= moment.now:
            self.storing = .busy(attempt)
            actions.append(.store(attempt.page.batch))
        case .busy(var attempt):
            guard let overdueAt = attempt.overdueAt, overdueAt <= moment.now else { break }
            attempt.isOverdue = true
            self.storing = .busy(attempt)
            let error = TrackingError(
                .storeFailed, "the history has not answered for \(RecorderConfiguration.longestCommit)")
            actions.append(.tell(.storeAway(error, retry: nil)))
        case .idle, .waiting: break
        }
        if let until = self.owedUntil, until <= moment.now { actions += self.sayAll() }
        if let filters = self.refusals.timerFired(now: moment.now) { actions.append(.intake([.subscribe(filters, 1)])) }
        if self.session.timerFired(now: moment.now) { actions += self.sayBirth() }
        actions += self.clearAbandoned(now: moment.now)
        return actions
    }

    // MARK: - The end

    /// Everything that came before the end is stored, or the time for that is over.
    private mutating func closeIfDone(at moment: Moment) -> [Action] {
        guard let stopUntil = self.stopUntil, !self.isLeaving else { return [] }
        var isDone = stopUntil <= moment.now
        if case .idle = self.storing, self.waiting.since == nil { isDone = true }
        guard isDone else { return [] }
        self.isLeaving = true
        self.stopUntil = nil
        return self.sayAll() + [.intake([.close(within: .zero)])] + self.sayGoodbye()
    }

    private var isStopping: Bool { self.stopUntil != nil || self.isLeaving }
}

extension RecordingBatch {
    /// The trackables that somebody waits for: those a batch came of, also one that cannot be read, and those whose publisher
    /// came.
    fileprivate var awaited: Set<TrackableID> {
        let recorded = self.recordings.lazy.filter { recording in
            recording.declaration != nil
                || recording.state.map { $0.json != nil && $0.name.hasPrefix("publisher/") } ?? false
        }
        return Set(recorded.map(\.trackable)).union(self.refused.lazy.compactMap(\.trackable))
    }
}
