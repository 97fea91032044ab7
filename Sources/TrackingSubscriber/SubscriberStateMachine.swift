package import TrackingCore

/// Decides for a subscriber which topics it subscribes to, which messages it publishes, and which events it delivers to
/// the program. Touches no network, clock or log.
///
/// Every input enters through ``happened(_:at:)`` and leaves as actions.
package struct SubscriberStateMachine: Sendable {
    /// An input of the subscriber's state machine.
    package enum Event: Hashable, Sendable {
        /// The connection to the broker changed, or delivered a message or an answer.
        case transport(TransportEvent)
        /// The program watches a trackable, and requests a resolution for it or none (`nil`).
        case watch(TrackableID, Resolution?)
        /// The program stops watching a trackable.
        case unwatch(TrackableID)
        /// The program requests another resolution, or withdraws its request (`nil`).
        case request(TrackableID, Resolution?)
        /// The program publishes a tracking event. It is answered by the action `published` with this number.
        case publish(TrackingEvent, of: TrackableID, request: UInt64)
        /// The program stops the subscriber.
        case stop
        /// The time of ``SubscriberStateMachine/nextDeadline`` came.
        case timer
    }

    /// An output of the subscriber's state machine, which ``AssetSubscriber`` performs.
    package enum Action: Hashable, Sendable {
        /// Send these commands to the connection, in order.
        case send([TransportCommand])
        /// Deliver this event to the program.
        case deliver(SubscriberEvent)
        /// Answer the program's request of this number to publish an event: `nil` if the broker accepted the event.
        case published(request: UInt64, TrackingError?)
    }

    enum Purpose: Hashable, Sendable {
        /// The last subscribe packet of a connection, with its topic filters. Its answer settles the connection.
        case settle([TopicFilter])
        /// A subscribe packet of a connection before the last one, with its topic filters.
        case part([TopicFilter])
        /// The subscription to a trackable that the program started to watch while connected.
        case watching(TrackableID)
        /// Another attempt to subscribe to topic filters that the broker rejected.
        case retry([TopicFilter])
        /// The publish of a presence or resolution request of this subscriber, on this topic.
        case announcement(Topic)
        /// The publish of a tracking event for the program, by the number of its request.
        case event(UInt64)
        /// A subscription whose answer has no effect.
        case ignored
    }

    typealias Member = MemberStateMachine<Purpose>

    enum Timer: Hashable, Sendable {
        /// The time at which a trackable becomes stale.
        case stale(TrackableID)
        /// The time at which a trackable is reported as silent, because no message about it arrived since the broker
        /// granted the subscriptions.
        case silent(TrackableID)
    }

    let configuration: SubscriberConfiguration
    var member: Member
    var random: SplitMix64
    var assets: [TrackableID: WatchedAsset] = [:]
    var timers = DeadlineQueue<Timer>()
    /// The error of a takeover of the client id by another program; `nil` while there was none.
    var failure: TrackingError?
    var isStopping = false
    /// The trackables for which this run requested a resolution. A publisher may still remember the request, even if it
    /// was withdrawn since.
    var requested: Set<TrackableID> = []
    /// The trackables that are watched by name and of which no message has arrived. Each of them is reported once.
    var silent: Set<TrackableID> = []
    var refusals = FilterRefusals<TopicFilter>()
    /// The topics on which the broker rejected a message of this subscriber since the connection was made. Each of them
    /// is reported once.
    var refusedTopics: Set<Topic> = []
    /// The earliest time of the next search for trackables that make room for another one; `nil` before the first
    /// search.
    var nextRoom: MonotonicTime?
    var sweep = RetainedSweep()
    /// The number of messages that the broker dropped; always zero without
    /// ``SubscriberConfiguration/readsBrokerDrops``.
    package internal(set) var brokerDrops = BrokerDrops()

    /// Creates the state machine of a subscriber that watches nothing and is not connected.
    ///
    /// - Parameter seed: The seed of random delays.
    package init(configuration: SubscriberConfiguration, seed: UInt64) {
        self.configuration = configuration
        self.random = SplitMix64(seed: seed)
        self.member = Member(configuration, lease: configuration.lease)
    }

    /// The time at which the subscriber expects the event `timer`; `nil` for never.
    package var nextDeadline: MonotonicTime? {
        guard !self.isStopping else { return nil }
        let next = MonotonicTime.earlier(self.member.nextDeadline, self.timers.next)
        return .earlier(next, .earlier(self.refusals.retryAt, self.sweep.deadline))
    }

    /// `true` once the connection is closed and will not be made again: no further event follows.
    package var isClosed: Bool { self.member.isClosed }

    /// `true` while the subscriber is connected and the broker has answered all subscriptions of the connection.
    package var isSettled: Bool { self.member.session.isAnnounced }

    /// The number of received messages that were skipped because they are invalid.
    package var badMessages: Int { self.member.badMessages }

    /// The trackables that are watched.
    package var trackables: [TrackableID] { Array(self.assets.keys) }

    /// Returns the time at which the next position of a trackable is due, provided that it moves; `nil` while none is
    /// expected.
    package func nextExpected(_ id: TrackableID) -> MonotonicTime? { self.assets[id]?.nextExpected }

    /// Handles an event of the connection, the program or the timer.
    ///
    /// - Parameter moment: The time of the event.
    /// - Returns: The actions to perform, in order.
    package mutating func happened(_ event: Event, at moment: Moment) -> [Action] {
        guard !self.isStopping else { return self.happenedAfterGoodbye(event) }
        var actions: [Action] = []
        switch event {
        case .transport(let event): actions = self.happened(event, at: moment)
        case .watch(let id, let request): actions += self.watch(id, request, at: moment)
        case .unwatch(let id): actions += self.unwatch(id, at: moment)
        case .request(let id, let resolution): actions += self.request(resolution, for: id, at: moment)
        case .publish(let event, let id, let request): actions.append(self.publish(event, of: id, request))
        case .stop: actions += self.stop()
        case .timer: break
        }
        return actions + self.timersFired(at: moment)
    }

    /// Handles an event after the subscriber has published its goodbye: nothing more is published.
    private mutating func happenedAfterGoodbye(_ event: Event) -> [Action] {
        switch event {
        case .publish(_, _, let request): [Self.notPublished(request)]
        case .transport(.disconnected(let disconnection)): self.disconnected(disconnection)
        case .transport, .watch, .unwatch, .request, .stop, .timer: []
        }
    }

    // MARK: - Watching

    mutating func watch(_ id: TrackableID, _ request: Resolution?, at moment: Moment) -> [Action] {
        guard self.assets[id] == nil else { return self.request(request, for: id, at: moment) }
        self.assets[id] = WatchedAsset(id: id, request: request)
        guard !self.configuration.watchesAll else {
            return self.announce(id, at: moment) + self.stateMayHaveChanged(id, reason: nil)
        }
        self.silent.insert(id)
        let actions = self.stateMayHaveChanged(id, reason: nil)
        if self.member.session.isOffline { return actions }
        return actions + [.send([self.member.subscribe(self.configuration.filters(of: id), .watching(id))])]
    }

    mutating func unwatch(_ id: TrackableID, at moment: Moment) -> [Action] {
        guard let asset = self.assets.removeValue(forKey: id) else { return [] }
        self.timers.remove(.stale(id))
        self.timers.remove(.silent(id))
        self.silent.remove(id)
        let filters = self.configuration.filters(of: id)
        for filter in filters { self.refusals.remove(filter) }
        var actions = self.handle(self.member.forget(id), at: moment)
        if self.member.session.isConnected, !self.configuration.watchesAll {
            actions.append(.send([self.member.unsubscribe(filters)]))
        }
        return asset.since == nil ? actions : actions + self.leave(id)
    }

    // MARK: - Deadlines

    private mutating func timersFired(at moment: Moment) -> [Action] {
        var actions = self.handle(self.member.timerFired(now: moment.now), at: moment)
        for timer in self.timers.popExpired(now: moment.now) {
            switch timer {
            case .stale(let id):
                self.assets[id]?.signs.isStale = true
                actions += self.stateMayHaveChanged(id, reason: nil)
            case .silent(let id):
                if self.silent.remove(id) != nil { actions.append(.deliver(.silent(id))) }
            }
        }
        if let deadline = self.sweep.deadline, deadline <= moment.now { actions += self.sweepEnded(at: moment) }
        return actions + self.subscribeAgain(at: moment)
    }

    private mutating func subscribeAgain(at moment: Moment) -> [Action] {
        let filters = self.refusals.retryDue(now: moment.now)
        guard !filters.isEmpty, self.member.session.isAnnounced else { return [] }
        return self.subscribe(filters) { part, _ in .retry(part) }
    }

    /// Ends the sweep over the retained positions and delivers the trackables that have one. Trackables that the broker
    /// does not let this subscriber read count as having one, because nothing is known about them.
    private mutating func sweepEnded(at moment: Moment) -> [Action] {
        guard self.refusal(of: nil) == nil else {
            self.sweep.postpone(by: SubscriberConfiguration.sweepTime.unconfirmed, now: moment.now)
            return []
        }
        guard var located = self.sweep.ended() else { return [] }
        for id in self.assets.keys {
            if self.refusal(of: id) != nil {
                located.insert(id)
            } else if !located.contains(id) {
                self.assets[id]?.positionIsMissing()
            }
        }
        return [.deliver(.positionsKept(located))]
    }

    // MARK: - States

    /// Delivers the subscriber's state for a trackable and the presence of its publisher, where they differ from those
    /// delivered last.
    ///
    /// - Parameter reason: The reason for a lost connection; `nil` if there is none.
    mutating func stateMayHaveChanged(_ id: TrackableID, reason: TrackingError?) -> [Action] {
        let refusal = self.refusals.isEmpty ? nil : self.refusal(of: id) ?? self.refusal(of: nil)
        let isConnected = self.member.session.isAnnounced && refusal == nil
        let link = WatchedAsset.Link(
            isConnected: isConnected, isFailed: self.failure != nil || refusal?.isNameRefusal == true,
            reason: self.failure ?? refusal ?? (isConnected ? nil : reason))
        return self.assets[id]?.stateEvents(link).map { .deliver($0) } ?? []
    }

    /// Sets the time at which a trackable becomes stale, according to its last sign of life.
    mutating func expectSign(of id: TrackableID) {
        self.timers.keep(.stale(id), at: self.member.session.isAnnounced ? self.assets[id]?.staleDeadline : nil)
    }

    /// Sets the time after which a trackable without a message is reported as silent, once the broker has granted its
    /// subscriptions.
    mutating func expectMessage(of id: TrackableID, at moment: Moment) {
        guard self.silent.contains(id), self.timers.deadline(of: .silent(id)) == nil,
            self.refusal(of: id) == nil, self.refusal(of: nil) == nil
        else { return }
        self.timers.set(.silent(id), deadline: moment.now.advanced(by: SubscriberConfiguration.silentAfter))
    }

    /// Returns the reason for which the broker rejects the subscriptions of a trackable, or those of all trackables
    /// where `id` is `nil`; `nil` if the broker granted them.
    func refusal(of id: TrackableID?) -> TrackingError? {
        guard !self.refusals.isEmpty else { return nil }
        let filters = id.map { self.configuration.filters(of: $0) } ?? self.configuration.filtersForAll
        return filters.lazy.compactMap { self.refusals[$0] }.first
    }
}
