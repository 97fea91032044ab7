package import TrackingCore

/// Decides for a subscriber which topics it subscribes to, which messages it publishes, and which events it delivers to
/// the program. Uses no network, clock or log itself.
///
/// Every input enters through ``happened(_:at:)``, which returns the actions to perform.
package struct SubscriberStateMachine: Sendable {
    /// An input of the subscriber's state machine.
    package enum Event: Hashable, Sendable {
        /// The connection to the broker was made or lost, or the broker sent a message or an answer.
        case transport(TransportEvent)
        /// The program begins to watch a trackable, and requests a resolution for it or none (`nil`). It prefers a kind
        /// of positions, or that of the configuration (`nil`).
        case watch(TrackableID, Resolution?, PositionKind? = nil)
        /// The program stops watching a trackable.
        case unwatch(TrackableID)
        /// The program requests another resolution for a watched trackable, or withdraws its request (`nil`).
        case request(TrackableID, Resolution?)
        /// The program publishes a tracking event of a trackable. The action `published` with the same request number
        /// answers it.
        case publish(TrackingEvent, of: TrackableID, request: UInt64)
        /// The program knows from its history that these trackables had a position. A subscriber of all trackables asks
        /// the broker for those of the positions that do not arrive.
        case expect([TrackableID])
        /// The program sends a command to the publisher of a trackable. The action `published` with the same request
        /// number answers it.
        case send(Command, to: TrackableID, request: UInt64)
        /// The program sets the journey of a trackable, or clears it (`nil`). The action `published` with the same
        /// request number answers it.
        case setJourney(Journey?, of: TrackableID, request: UInt64)
        /// The program asks for the known publishers of these trackables, or of all watched trackables (`nil`). The
        /// action `publishers` with the same request number answers it.
        case listPublishers([TrackableID]?, request: UInt64)
        /// The program stops the subscriber.
        case stop
        /// The time in ``SubscriberStateMachine/nextDeadline`` has come.
        case timer
    }

    /// An output of the subscriber's state machine, which ``AssetSubscriber`` performs.
    package enum Action: Hashable, Sendable {
        /// Send these commands to the connection, in order.
        case send([TransportCommand])
        /// Deliver this event to the program.
        case deliver(SubscriberEvent)
        /// Report the outcome of a tracking event, a command or a journey to the program: `nil` if the broker accepted it,
        /// otherwise the error. The number identifies the program's request to publish it.
        case published(request: UInt64, TrackingError?)
        /// Return the known publishers to the program. The number identifies the program's request for them.
        case publishers(request: UInt64, [KnownPublisher])
    }

    enum Purpose: Hashable, Sendable {
        /// The last of the subscribe packets that are sent after a connection was made, with its topic filters. When
        /// the broker has answered it, the subscriptions are complete.
        case settle([TopicFilter])
        /// One of the subscribe packets that are sent after a connection was made, with its topic filters. The last of
        /// these packets is ``settle(_:)`` instead.
        case part([TopicFilter])
        /// A subscribe packet for a trackable that the program began to watch while the subscriber was connected.
        case watching(TrackableID)
        /// A subscribe packet that repeats topic filters which the broker rejected before.
        case retry([TopicFilter])
        /// A subscribe packet for the enhanced positions of a watched trackable, with its topic filters.
        case preferring([TopicFilter])
        /// A message of this subscriber on this topic: its presence on a trackable, or its resolution request.
        case announcement(Topic)
        /// The request publishes a tracking event, a command or a journey of the program. The value is the program's number for
        /// it.
        case event(UInt64)
        /// A subscribe packet that asks the broker again for missing retained messages.
        case asking
        /// A subscribe packet whose answer from the broker is ignored.
        case ignored
    }

    typealias Member = MemberStateMachine<Purpose>

    let configuration: SubscriberConfiguration
    var member: Member
    var random: SplitMix64
    var assets: [TrackableID: WatchedAsset] = [:]
    /// The time at which each trackable becomes stale unless a position arrives before. The time follows from the
    /// maximum silence that the trackable's publisher announced.
    var staleDeadlines = DeadlineQueue<TrackableID>()
    /// The time at which each trackable's newest withheld update is delivered unless an enhanced one arrives before.
    var preferenceDeadlines = DeadlineQueue<TrackableID>()
    /// The topic filters of enhanced positions that the broker rejected. Each of them is reported once.
    var enhancedRefusals: Set<TopicFilter> = []
    /// The error that another program took over the client id; `nil` if this did not happen.
    var failure: TrackingError?
    var isStopping = false
    /// `true` from the moment at which the client ended its connection to connect again with new credentials, until the
    /// subscriptions of the next connection are complete or an attempt to connect fails. The states of the trackables
    /// remain as they were.
    var isRenewing = false
    /// The presences that the subscriber announces, and the resolutions that it requests, for the watched trackables.
    var attendance: Attendance
    /// The trackables that are watched by id and of which no message has arrived yet, with the times at which they are
    /// reported as silent.
    var silence = SilentTrackables()
    var refusals = FilterRefusals<TopicFilter>()
    /// The topics on which the broker rejected a message of this subscriber during the present connection. Each of them
    /// is reported once.
    var refusedTopics: Set<Topic> = []
    /// The search for trackables that the subscriber may stop watching when the limit of watched trackables is reached:
    /// those that have had no publisher for a day.
    var room = WatchRoom()
    /// The collection of the messages that the broker retains: which trackables' positions arrived on the present
    /// connection, and which messages are missing.
    var retained: RetainedCollection
    /// The journeys and estimates that the broker retains, as far as they were delivered.
    var journeys = RetainedJourneys()
    /// The number of messages that the broker dropped for any client since this program connected, by the broker's own
    /// count; always zero without ``SubscriberConfiguration/readsBrokerDrops``.
    package internal(set) var brokerDrops = BrokerDrops()

    /// Creates the state machine of a subscriber that watches nothing and is not connected.
    ///
    /// - Parameter seed: The seed of the random delays.
    package init(configuration: SubscriberConfiguration, seed: UInt64) {
        self.configuration = configuration
        self.random = SplitMix64(seed: seed)
        // A trackable can have several publishers and subscribers.
        let presences = max(PresenceStateMachine.defaultLimit, configuration.maximumTrackables * 2)
        self.member = Member(configuration, lease: configuration.lease, presences: presences)
        self.attendance = Attendance(configuration: configuration)
        self.retained = RetainedCollection(configuration: configuration)
    }

    /// The time at which the owner of the state machine must pass it the event `timer`; `nil` for never.
    package var nextDeadline: MonotonicTime? {
        guard !self.isStopping else { return nil }
        let watching = MonotonicTime.earlier(self.staleDeadlines.next, self.silence.nextDeadline)
        let withheld = MonotonicTime.earlier(self.preferenceDeadlines.next, watching)
        let next = MonotonicTime.earlier(self.member.nextDeadline, withheld)
        return .earlier(.earlier(next, self.refusals.retryAt), self.retained.nextDeadline)
    }

    /// `true` once the connection is closed for good. No further event follows then.
    package var isClosed: Bool { self.member.isClosed }

    /// `true` while the subscriber is connected and the broker has answered the subscriptions that follow each new
    /// connection.
    package var isSettled: Bool { self.member.session.isAnnounced }

    /// The number of received messages that were skipped because they are invalid.
    package var badMessages: Int { self.member.badMessages }

    /// The trackables that the subscriber watches at present, in no particular order.
    package var trackables: [TrackableID] { Array(self.assets.keys) }

    /// Returns the time at which the next position of a trackable is expected; `nil` while the interval of the
    /// positions is unknown. A trackable that does not move may publish later.
    package func nextExpected(_ id: TrackableID) -> MonotonicTime? { self.assets[id]?.nextExpected }

    /// Handles one event of the connection, the program or the timer. Then also does everything that is due at the time
    /// of the event.
    ///
    /// - Parameter moment: The time of the event.
    /// - Returns: The actions to perform, in order.
    package mutating func happened(_ event: Event, at moment: Moment) -> [Action] {
        guard !self.isStopping else { return self.happenedAfterGoodbye(event) }
        var actions: [Action] = []
        switch event {
        case .transport(let event): actions = self.happened(event, at: moment)
        case .watch(let id, let request, let kind):
            actions += self.watch(id, request, preferring: kind, at: moment)
        case .unwatch(let id): actions += self.unwatch(id, at: moment)
        case .request(let id, let resolution): actions += self.request(resolution, for: id, at: moment)
        case .publish(let event, let id, let request): actions.append(self.publish(event, of: id, request))
        case .expect(let ids): self.retained.expect(ids, self.assets, now: moment.now)
        case .send(let command, let id, let request): actions.append(self.send(command, to: id, request))
        case .setJourney(let journey, let id, let request): actions.append(self.setJourney(journey, of: id, request))
        case .listPublishers(let ids, let request):
            actions.append(.publishers(request: request, self.knownPublishers(of: ids, at: moment)))
        case .stop: actions += self.stop()
        case .timer: break
        }
        return actions + self.timersFired(at: moment)
    }

    /// Handles an event after the subscriber has published its orderly goodbye. The subscriber publishes nothing any
    /// more.
    private mutating func happenedAfterGoodbye(_ event: Event) -> [Action] {
        switch event {
        case .publish(_, _, let request), .send(_, _, let request), .setJourney(_, _, let request):
            [Self.notPublished(request)]
        case .listPublishers(_, let request): [.publishers(request: request, [])]
        case .transport(.disconnected(let disconnection)): self.disconnected(disconnection)
        case .transport, .watch, .unwatch, .request, .expect, .stop, .timer: []
        }
    }

    // MARK: - Watching

    mutating func watch(
        _ id: TrackableID, _ request: Resolution?, preferring kind: PositionKind? = nil, at moment: Moment
    ) -> [Action] {
        guard self.assets[id] == nil else {
            return self.request(request, for: id, at: moment) + (kind.map { self.prefer($0, for: id) } ?? [])
        }
        let isFree = !self.configuration.watchesAll
        self.assets[id] = WatchedAsset(
            id: id, preferring: isFree ? kind ?? self.configuration.prefers : self.configuration.prefers)
        self.attendance.watch(id, request)
        guard !self.configuration.watchesAll else {
            return self.announce(id, at: moment) + self.stateMayHaveChanged(id, reason: nil)
        }
        self.silence.watch(id)
        let actions = self.stateMayHaveChanged(id, reason: nil)
        if self.member.session.isOffline { return actions }
        return actions + [.send([self.member.subscribe(self.filters(of: id), .watching(id))])]
    }

    mutating func unwatch(_ id: TrackableID, at moment: Moment) -> [Action] {
        let filters = self.filters(of: id)
        guard self.assets.removeValue(forKey: id) != nil else { return [] }
        self.staleDeadlines.remove(id)
        self.preferenceDeadlines.remove(id)
        self.silence.forget(id)
        for filter in filters { self.refusals.remove(filter) }
        self.enhancedRefusals.subtract(filters)
        self.retained.forget(id, filters)
        self.journeys.forget(id)
        var actions = self.handle(self.member.forget(id), at: moment)
        if self.member.session.isConnected, !self.configuration.watchesAll {
            actions.append(.send([self.member.unsubscribe(filters)]))
        }
        return actions + self.perform(self.attendance.unwatch(id, self.member.client))
    }

    /// Returns the topic filters to which the subscriber subscribes for a trackable that the program watches by its id.
    func filters(of id: TrackableID) -> [TopicFilter] {
        self.configuration.filters(of: id, preferring: self.assets[id]?.prefers ?? self.configuration.prefers)
    }

    // MARK: - Deadlines

    private mutating func timersFired(at moment: Moment) -> [Action] {
        var actions = self.handle(self.member.timerFired(now: moment.now), at: moment)
        for id in self.staleDeadlines.popExpired(now: moment.now) {
            self.assets[id]?.signs.isStale = true
            actions += self.stateMayHaveChanged(id, reason: nil)
        }
        for id in self.preferenceDeadlines.popExpired(now: moment.now) {
            actions += self.deliver(self.assets[id]?.withheldUpdate(now: moment.now), of: id)
        }
        actions += self.silence.takeDue(now: moment.now).map { .deliver(.silent($0)) }
        actions += self.subscribe(self.retained.duePackets(now: moment.now))
        if let question = self.retained.askAgain(now: moment.now) {
            let ended = SubscriptionSlices.packets(question.ended)
            let asked = self.subscribe(question.asked) { _ in .asking }
            self.retained.asked(packets: asked.count, now: moment.now)
            actions += ended.map { .send([self.member.unsubscribe($0)]) } + asked
        }
        return actions + self.collectionEnded(at: moment) + self.subscribeAgain(at: moment)
    }

    private mutating func subscribeAgain(at moment: Moment) -> [Action] {
        let filters = self.refusals.retryDue(now: moment.now)
        guard !filters.isEmpty, self.member.session.isAnnounced else { return [] }
        return self.subscribe(filters) { .retry($0) }
    }

    /// Ends the collection of retained positions if it is over now, and delivers the set of trackables that have a
    /// position. Otherwise returns no action.
    ///
    /// The set includes the trackables that the broker does not let this subscriber read, because their positions are
    /// unknown and not cleared.
    private mutating func collectionEnded(at moment: Moment) -> [Action] {
        let isRefused = self.refusal(of: nil) != nil
        guard var located = self.retained.end(self.assets, isRefused: isRefused, now: moment.now) else { return [] }
        for id in self.assets.keys {
            if self.refusal(of: id) != nil {
                located.insert(id)
            } else if !located.contains(id) {
                self.assets[id]?.positionIsMissing()
            }
        }
        return [.deliver(.positionsKept(located))] + self.deliverClearedJourneys()
    }

    // MARK: - States

    /// Delivers the subscriber's state for a trackable and the presence of its publisher, if they changed since they
    /// were delivered last.
    ///
    /// - Parameter reason: The reason for a lost connection; `nil` if there is none.
    mutating func stateMayHaveChanged(_ id: TrackableID, reason: TrackingError?) -> [Action] {
        let refusal = self.refusals.isEmpty ? nil : self.refusal(of: id) ?? self.refusal(of: nil)
        let isConnected = (self.member.session.isAnnounced || self.isRenewing) && refusal == nil
        let link = WatchedAsset.Link(
            isConnected: isConnected, isFailed: self.failure != nil || refusal?.isNameRefusal == true,
            reason: self.failure ?? refusal ?? (isConnected ? nil : reason))
        return self.assets[id]?.stateEvents(link).map { .deliver($0) } ?? []
    }

    /// Sets the time at which a trackable becomes stale unless a position arrives before. The time follows from the
    /// last position, and from the maximum silence and interval that the publisher announced. While the subscriber is
    /// not connected, no time is set.
    mutating func expectSign(of id: TrackableID) {
        self.staleDeadlines.keep(id, at: self.member.session.isAnnounced ? self.assets[id]?.staleDeadline : nil)
    }

    /// Starts the timer after which a trackable without any message is reported as silent, once the broker has granted
    /// its subscriptions.
    mutating func expectMessage(of id: TrackableID, at moment: Moment) {
        guard self.silence.ids.contains(id), self.refusal(of: id) == nil, self.refusal(of: nil) == nil else { return }
        self.silence.granted(id, now: moment.now)
    }

    /// Returns the reason with which the broker rejects the subscriptions of a trackable; `nil` if the broker rejects
    /// none of them. Without an id, the subscriptions of all trackables are meant.
    func refusal(of id: TrackableID?) -> TrackingError? {
        guard !self.refusals.isEmpty else { return nil }
        let filters = id.map { self.filters(of: $0) } ?? self.configuration.filtersForAll
        return filters.lazy.compactMap { self.refusals[$0] }.first
    }
}
