package import TrackingCore

/// Decides for a recorder when received messages are stored, and which acknowledgements are published. Touches no
/// network, file or clock.
///
/// A recorder has two connections. On the intake connection it receives messages, and acknowledges them to the broker
/// only once they are durable. On the member connection it publishes its liveness, and the acknowledgements for the
/// devices.
package struct RecorderStateMachine: Sendable {
    /// An input of the recorder's state machine.
    package enum Event: Sendable {
        /// Events of the intake connection, on which the recorder receives messages, in the order in which they
        /// happened.
        case intake([TransportEvent])
        /// Events of the member connection, on which the recorder publishes acknowledgements, in the order in which
        /// they happened.
        case voice([TransportEvent])
        /// The history store has made the batch durable that it was given last. The value contains the acknowledgements
        /// that the recorder may publish now, by trackable.
        case stored([TrackableID: Acknowledgement])
        /// The history store has not stored the batch that it was given last.
        case storeFailed(TrackingError)
        /// The history contains a position of each of these trackables, so the broker should have a retained position
        /// of each.
        case expect([TrackableID])
        /// The deadline ``RecorderStateMachine/nextDeadline`` has passed.
        case timer
        /// The program requests that the recorder stops in an orderly way.
        case stop
        /// The program requests that the recorder stops at once and stores nothing more.
        case abandon
    }

    /// An output of the recorder's state machine, which ``Recorder`` performs.
    package enum Action: Hashable, Sendable {
        /// Send these commands to the intake connection, in order.
        case intake([TransportCommand])
        /// Send these commands, in order, over the recorder's member connection: the connection on which it publishes
        /// its liveness and acknowledgements.
        case voice([TransportCommand])
        /// Store this batch of records in one transaction. The program answers with the event `stored` or
        /// `storeFailed`.
        case store(RecordingBatch)
        /// Deliver this event to the readers of the recorder's event stream.
        case deliver(RecorderEvent)
    }

    /// The purpose of a subscription or publish on the recorder's member connection, by which its answer is handled.
    enum Purpose: Hashable, Sendable {
        /// The second subscription to the recorder's own liveness. The broker's answer to it shows that the retained
        /// liveness message, if there is one, was received.
        case settle
        /// The subscription of the ``Housekeeper``, which looks for retained messages of vanished clients.
        case housekeeping
        /// The publish of an acknowledgement for the devices of a trackable.
        case acknowledgement(TrackableID, Acknowledgement)
        /// The publish that clears a retained message of a vanished client.
        case clearing
        /// A subscription or publish whose answer from the broker the recorder ignores.
        case ignored
    }

    /// A kind of refusal by the broker that the recorder reports at most once for each connection.
    enum Refusal: Hashable, Sendable {
        case acknowledgements
        case clearing
    }

    /// The phase of the recorder's orderly stop.
    enum Ending: Hashable, Sendable {
        /// The recorder was not asked to stop. Can transition to: `storing`.
        case none
        /// The recorder stores the messages that it has already received. At this time at the latest it closes its
        /// connections. Can transition to: `leaving`.
        case storing(until: MonotonicTime)
        /// The recorder closes its connections. Final.
        case leaving
    }

    let configuration: RecorderConfiguration
    var member: MemberStateMachine<Purpose>
    var intake: RecorderIntake
    /// The queue of received messages that the history store has not made durable yet.
    private var store: StoreQueue
    var acknowledgements = AcknowledgementQueue()
    /// The kinds of the broker's rejections that were reported since the member connection was made. Each kind is
    /// reported once.
    var reported: Set<Refusal> = []
    var drops = BrokerDropCounter()
    /// The test of the shared subscription, if this recorder belongs to a group.
    var share = ShareProbe()
    /// The housekeeper, which finds retained messages of vanished clients; `nil` if this recorder does not clear them.
    var housekeeper: Housekeeper?
    private var ending = Ending.none
    /// The error that makes the recorder end; `nil` while there is none.
    package private(set) var failure: TrackingError?

    /// Creates the state machine of a recorder that is not connected.
    package init(configuration: RecorderConfiguration) {
        self.configuration = configuration
        self.intake = RecorderIntake(configuration: configuration)
        self.store = StoreQueue(configuration: configuration)
        self.member = MemberStateMachine(configuration, lease: configuration.lease)
        self.housekeeper = configuration.clearsAfter.map { Housekeeper(root: configuration.topicRoot, patience: $0) }
    }

    /// `true` while the recorder must not receive further messages: the store still works on one page of messages, and
    /// the next page is full.
    package var isFull: Bool { !self.isStopping && self.store.isFull }

    /// The number of received messages that the recorder has not stored yet and therefore has not acknowledged to the
    /// broker.
    package var withheld: Int { self.store.messages }

    /// Returns the age of the oldest received message that is not stored yet; zero without such a message.
    package func lag(at now: MonotonicTime) -> Duration {
        self.store.since.map { max(.zero, $0.duration(to: now)) } ?? .zero
    }

    /// `true` once both connections of the recorder are closed and will not be made again.
    package var isClosed: Bool { self.intake.isClosed && self.member.isClosed }

    /// The time at which the program must give the event `timer` to the state machine; `nil` for no such time.
    package var nextDeadline: MonotonicTime? {
        var deadlines = [self.store.nextDeadline, self.acknowledgements.deadline, self.member.nextDeadline]
        if !self.isStopping { deadlines += [self.intake.nextDeadline, self.share.deadline] }
        if case .storing(let until) = self.ending { deadlines.append(until) }
        if self.member.session.isAnnounced { deadlines.append(self.housekeeper?.checkAt) }
        return deadlines.compactMap { $0 }.min()
    }

    /// Handles an event of a connection, the history store, the timer or the program.
    ///
    /// - Parameter moment: The time of the event.
    /// - Returns: The actions that the program must perform, in order.
    package mutating func happened(_ event: Event, at moment: Moment) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .intake(let events): for event in events { actions += self.intake(event, at: moment) }
        case .voice(let events): for event in events { actions += self.member(event, at: moment) }
        case .stored(let acknowledgements): actions = self.stored(acknowledgements, at: moment)
        case .storeFailed(let error): actions = self.storeFailed(error, at: moment)
        case .expect(let ids): self.intake.expect(ids, now: moment.now)
        case .timer: actions = self.timerFired(at: moment)
        case .stop:
            if !self.isStopping {
                self.ending = .storing(until: moment.now.advanced(by: RecorderConfiguration.stopLimit))
            }
        case .abandon: self.discardAll(at: moment)
        }
        return actions + self.storeIfDue(at: moment) + self.closeIfDone(at: moment)
    }

    // MARK: - Intake

    private mutating func intake(_ event: TransportEvent, at moment: Moment) -> [Action] {
        switch event {
        case .connected(let connection, let sessionPresent, _):
            let subscriptions = self.intake.connected(connection, now: moment.now)
            if self.intake.isShared { self.share.begin() }
            let isGap = !sessionPresent && !(self.configuration.isFirstRun && connection == 0)
            if isGap { self.store.addPossibleGap(at: moment) }
            return [.deliver(.connected(sessionPresent: sessionPresent)), .intake(subscriptions)]
                + (isGap ? [.deliver(.possibleGap)] : [])
        case .disconnected(let disconnection):
            self.intake.disconnected(disconnection)
            self.share.disconnected()
            return [.deliver(.disconnected(disconnection))]
        case .received(let message):
            // A message that arrives during the stop is neither stored nor acknowledged: the broker keeps it for the
            // next run.
            guard !self.isStopping else { return [] }
            if let actions = self.receivedProbe(message, at: moment) { return actions }
            let time = self.intake.messageArrived(message, at: moment)
            self.store.add(message, receivedAt: time, now: moment.now)
            return []
        case .subscribed(RecorderIntake.probeToken, let refusals):
            self.share.answered(isGranted: refusals.allSatisfy { $0 == nil })
            return self.beatForShare(now: moment.now)
        case .subscribed(let token, let refusals):
            let group = self.configuration.group
            return self.intake.answered(token, refusals, now: moment.now).map {
                .deliver(.subscriptionRefused(filter: group?.withoutSecret($0.filter) ?? $0.filter, $0.reason))
            }
        case .published: return []
        }
    }

    // MARK: - Storing

    /// Gives the waiting messages to the store if the store is idle and the messages are due.
    ///
    /// - Parameter isNext: `true` if the store has just stored the previous page.
    private mutating func storeIfDue(at moment: Moment, isNext: Bool = false) -> [Action] {
        guard self.failure == nil else { return [] }
        return self.store.next(
            through: self.intake.received, connection: self.intake.connection, isDue: isNext || self.isStopping,
            now: moment.now)
    }

    private mutating func stored(_ acknowledgements: [TrackableID: Acknowledgement], at moment: Moment) -> [Action] {
        switch self.store.stored(acknowledgements, now: moment.now) {
        case .none: return []
        case .part(let batch): return [.store(batch)]
        case .page(let page, let outage):
            if page.hasRetained { self.intake.retainedStored(now: moment.now) }
            var actions: [Action] = outage.map { [.deliver(.storeBack(after: $0))] } ?? []
            if page.connection >= 0 {
                // A message of the test of a shared subscription is on no page.
                let isLast = self.withheld == 0 && page.connection == self.intake.connection
                let through = isLast ? self.intake.received : page.through
                actions.append(.intake([.acknowledge(through: through, connection: page.connection)]))
            }
            actions += self.acknowledge(page.acknowledgements, awaited: page.awaited, now: moment.now)
            return actions + self.storeIfDue(at: moment, isNext: true)
        }
    }

    private mutating func storeFailed(_ error: TrackingError, at moment: Moment) -> [Action] {
        guard error.code == .storeUnusable, self.store.isBusy else { return self.store.failed(error, now: moment.now) }
        return self.fail(error, at: moment)
    }

    mutating func fail(_ error: TrackingError, at moment: Moment) -> [Action] {
        self.failure = self.failure ?? error
        self.discardAll(at: moment)
        return [.deliver(.failed(error))]
    }

    /// Begins to stop without storing the received messages. The broker delivers them again, because they are not
    /// acknowledged.
    private mutating func discardAll(at moment: Moment) {
        self.store.discardAll()
        if self.ending != .leaving { self.ending = .storing(until: moment.now) }
    }

    private mutating func timerFired(at moment: Moment) -> [Action] {
        var actions = self.store.timerFired(now: moment.now)
        if let until = self.acknowledgements.deadline, until <= moment.now { actions += self.publishAcknowledgements() }
        if !self.isStopping {
            actions += self.perform(self.share.timerFired(now: moment.now), now: moment.now)
            let subscriptions = self.intake.timerFired(now: moment.now)
            if !subscriptions.isEmpty { actions.append(.intake(subscriptions)) }
        }
        for case .send(let commands) in self.member.timerFired(now: moment.now) { actions.append(.voice(commands)) }
        actions += self.clearAbandoned(now: moment.now)
        return actions
    }

    // MARK: - The end

    /// Closes the connections of a stopping recorder once all received messages are stored, or
    /// ``RecorderConfiguration/stopLimit`` has passed.
    private mutating func closeIfDone(at moment: Moment) -> [Action] {
        guard case .storing(let until) = self.ending else { return [] }
        guard self.store.isEmpty || until <= moment.now else { return [] }
        self.ending = .leaving
        return self.publishAcknowledgements() + [.intake([.close(within: .zero)])] + self.publishGoodbye()
    }

    private var isStopping: Bool { self.ending != .none }
}
