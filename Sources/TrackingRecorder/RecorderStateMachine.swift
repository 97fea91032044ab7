package import TrackingCore

/// The decisions of a recorder: the time at which messages are stored, and the acknowledgements that follow.
///
/// A recorder has two connections. On the intake connection the broker is given its acknowledgements only when the
/// messages are durable. On the member connection the recorder publishes its liveness and the acknowledgements for the
/// devices.
package struct RecorderStateMachine: Sendable {
    /// An input.
    package enum Event: Sendable {
        /// Events of the intake connection.
        case intake([TransportEvent])
        /// Events of the member connection.
        case voice([TransportEvent])
        /// The last batch is durable; these records may be acknowledged.
        case stored([TrackableID: Acknowledgement])
        /// The last batch was not stored.
        case storeFailed(TrackingError)
        /// The deadline came.
        case timer
        /// Stop in order.
        case stop
    }

    /// An output.
    package enum Action: Hashable, Sendable {
        /// Give these to the intake connection, in order.
        case intake([TransportCommand])
        /// Give these to the member connection, in order.
        case voice([TransportCommand])
        /// Store this batch in one commit; answered by `stored` or `storeFailed`.
        case store(RecordingBatch)
        /// Deliver this to the program.
        case deliver(RecorderEvent)
    }

    /// The reasons for requests on the member connection.
    enum Purpose: Hashable, Sendable {
        /// The second subscription to the own liveness, whose answer settles the connection.
        case settle
        /// The subscription of the housekeeper.
        case housekeeping
        /// An acknowledgement for the devices of a trackable.
        case acknowledgement(TrackableID, Acknowledgement)
        /// The clearing of a message that a member left behind.
        case clearing
        /// A request whose answer has no effect.
        case ignored
    }

    /// A refusal that is reported once in each connection.
    enum Refusal: Hashable, Sendable {
        case acknowledgements
        case clearing
    }

    /// The state of the store.
    enum Storing: Sendable {
        /// No batch is with the store. Can transition to: `busy`.
        case idle
        /// The store has a batch. Can transition to: `idle`, `waiting`, `busy` with the next part.
        case busy(Attempt)
        /// The store failed and is tried again. Can transition to: `busy`.
        case waiting(Attempt, until: MonotonicTime)

        /// The page that is being stored; `nil` for none.
        var page: RecorderPage? {
            switch self {
            case .idle: nil
            case .busy(let attempt), .waiting(let attempt, _): attempt.page
            }
        }
    }

    /// A page on its way into the store.
    struct Attempt: Sendable {
        var page: RecorderPage
        var backoff = Backoff(
            first: RecorderConfiguration.firstStoreWait, maximum: RecorderConfiguration.longestStoreWait)
        /// The time at which the page was given to the store first.
        let since: MonotonicTime
        /// `true` once it was reported that the store does not answer.
        var isOverdue = false

        /// The time at which a store without an answer is reported; `nil` if that, or a failure, was reported before.
        var overdueAt: MonotonicTime? {
            self.backoff.failures > 0 || self.isOverdue
                ? nil : self.since.advanced(by: RecorderConfiguration.longestCommit)
        }
    }

    /// The phase of an orderly end.
    enum Ending: Hashable, Sendable {
        /// The recorder runs. Can transition to: `storing`.
        case none
        /// The received messages are stored, until this time at the latest. Can transition to: `leaving`.
        case storing(until: MonotonicTime)
        /// The connections close. Final.
        case leaving
    }

    let configuration: RecorderConfiguration
    var member: MemberStateMachine<Purpose>
    var intake = RecorderIntake()
    var storing = Storing.idle
    /// The messages that are not with the store yet.
    var waiting = RecorderPage()
    var acknowledgements = AcknowledgementQueue()
    /// The refusals that were reported in this connection.
    var reported: Set<Refusal> = []
    var drops = BrokerDropCounter()
    /// Clears messages that other members left behind; `nil` if this recorder does not.
    var housekeeper: Housekeeper?
    private var ending = Ending.none
    /// The error that ended the recorder; `nil` while there is none.
    package private(set) var failure: TrackingError?

    /// Makes a recorder that is not connected.
    package init(configuration: RecorderConfiguration) {
        self.configuration = configuration
        self.member = MemberStateMachine(configuration, lease: configuration.lease)
        self.housekeeper = configuration.clearsAfter.map { Housekeeper(root: configuration.topicRoot, patience: $0) }
    }

    /// `true` while no message can be received until the store has accepted a page.
    package var isFull: Bool {
        if case .idle = self.storing { return false }
        return !self.isStopping && self.waiting.isFull(of: self.configuration.window)
    }

    /// The number of messages that were received and are not stored yet.
    package var withheld: Int { self.waiting.messages + (self.storing.page?.messages ?? 0) }

    /// The time for which the oldest of these messages has waited.
    package func lag(at now: MonotonicTime) -> Duration {
        let since = MonotonicTime.earlier(self.storing.page?.since, self.waiting.since)
        return since.map { max(.zero, $0.duration(to: now)) } ?? .zero
    }

    /// `true` once both connections are closed for good.
    package var isClosed: Bool { self.intake.isClosed && self.member.isClosed }

    /// The time of the next ``Event/timer``; `nil` for never.
    package var nextDeadline: MonotonicTime? {
        var deadlines = [self.acknowledgements.deadline, self.member.nextDeadline, self.intake.retryAt]
        if case .storing(let until) = self.ending { deadlines.append(until) }
        if self.member.session.isAnnounced { deadlines.append(self.housekeeper?.checkAt) }
        switch self.storing {
        case .idle: deadlines.append(self.waiting.since?.advanced(by: RecorderConfiguration.longestWait))
        case .busy(let attempt): deadlines.append(attempt.overdueAt)
        case .waiting(_, let until): deadlines.append(until)
        }
        return deadlines.compactMap { $0 }.min()
    }

    /// Handles an event.
    ///
    /// - Parameter moment: The time of the event.
    /// - Returns: The actions, in order.
    package mutating func happened(_ event: Event, at moment: Moment) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .intake(let events): for event in events { actions += self.intake(event, at: moment) }
        case .voice(let events): for event in events { actions += self.member(event, at: moment) }
        case .stored(let acknowledgements): actions = self.stored(acknowledgements, at: moment)
        case .storeFailed(let error): actions = self.storeFailed(error, at: moment)
        case .timer: actions = self.timerFired(at: moment)
        case .stop:
            if !self.isStopping {
                self.ending = .storing(until: moment.now.advanced(by: RecorderConfiguration.stopLimit))
            }
        }
        return actions + self.storeIfDue(at: moment) + self.closeIfDone(at: moment)
    }

    // MARK: - Intake

    private mutating func intake(_ event: TransportEvent, at moment: Moment) -> [Action] {
        switch event {
        case .connected(let connection, let sessionPresent):
            let subscription = self.intake.connected(connection, filters: self.configuration.filters)
            let isGap = !sessionPresent && !(self.configuration.isFirstRun && connection == 0)
            if isGap {
                let note = RefusedMessage(
                    topic: self.configuration.topicRoot.path, receivedAt: moment.wall,
                    reason: RefusedMessage.possibleGapReason, payload: [])
                self.waiting.add(note, now: moment.now)
            }
            return [.deliver(.connected(sessionPresent: sessionPresent)), .intake([subscription])]
                + (isGap ? [.deliver(.possibleGap)] : [])
        case .disconnected(let disconnection):
            self.intake.disconnected(disconnection)
            return [.deliver(.disconnected(disconnection))]
        case .received(let message):
            // A message after the last page is not acknowledged: the broker keeps it for the next run.
            guard !self.isStopping else { return [] }
            let time = self.intake.messageArrived(at: moment.wall)
            self.waiting.add(message, root: self.configuration.topicRoot, receivedAt: time, now: moment.now)
            return []
        case .subscribed(_, let refusals):
            let group = self.configuration.group
            return self.intake.answered(refusals, now: moment.now).map {
                .deliver(.subscriptionRefused(filter: group?.withoutSecret($0.filter) ?? $0.filter, $0.reason))
            }
        case .published: return []
        }
    }

    // MARK: - Storing

    /// A page is closed when it is full, when its first message has waited long enough, or when the one before it is
    /// done.
    private mutating func storeIfDue(at moment: Moment, isNext: Bool = false) -> [Action] {
        guard case .idle = self.storing, let since = self.waiting.since, self.failure == nil else { return [] }
        guard
            isNext || self.isStopping || self.waiting.isFull(of: self.configuration.window)
                || since.duration(to: moment.now) >= RecorderConfiguration.longestWait
        else { return [] }
        var page = self.waiting
        page.through = self.intake.received
        page.connection = self.intake.connection
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
        if attempt.backoff.failures > 0 || attempt.isOverdue {
            actions.append(.deliver(.storeBack(after: attempt.since.duration(to: moment.now))))
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
                return (refusal == .search ? [.deliver(.storeRefuses(error))] : []) + [.store(attempt.page.batch)]
            }
        }
        let wait = attempt.backoff.next()
        self.storing = .waiting(attempt, until: moment.now.advanced(by: wait))
        return [.deliver(.storeAway(error, retry: wait))]
    }

    mutating func fail(_ error: TrackingError, at moment: Moment) -> [Action] {
        self.failure = self.failure ?? error
        self.storing = .idle
        self.waiting = RecorderPage()
        if self.ending != .leaving { self.ending = .storing(until: moment.now) }
        return [.deliver(.failed(error))]
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
            actions.append(.deliver(.storeAway(error, retry: nil)))
        case .idle, .waiting: break
        }
        if let until = self.acknowledgements.deadline, until <= moment.now { actions += self.publishAcknowledgements() }
        if let command = self.intake.retryDue(now: moment.now) { actions.append(.intake([command])) }
        for case .send(let commands) in self.member.timerFired(now: moment.now) { actions.append(.voice(commands)) }
        actions += self.clearAbandoned(now: moment.now)
        return actions
    }

    // MARK: - The end

    /// Closes the connections once all received messages are stored, or the time for that is over.
    private mutating func closeIfDone(at moment: Moment) -> [Action] {
        guard case .storing(let until) = self.ending else { return [] }
        var isDone = until <= moment.now
        if case .idle = self.storing, self.waiting.since == nil { isDone = true }
        guard isDone else { return [] }
        self.ending = .leaving
        return self.publishAcknowledgements() + [.intake([.close(within: .zero)])] + self.publishGoodbye()
    }

    private var isStopping: Bool { self.ending != .none }
}
