package import TrackingCore

/// The decisions of a subscriber: its subscriptions and messages on the connection, and the events delivered to the
/// program. It touches no socket, clock or log.
///
/// Everything enters through ``happened(_:at:)`` and leaves as actions.
package struct SubscriberStateMachine: Sendable {
    /// An input.
    package enum Event: Hashable, Sendable {
        /// The connection changed, or brought a message or an answer.
        case transport(TransportEvent)
        /// The program watches a trackable, with a request for a resolution or without one.
        case watch(TrackableID, Resolution?)
        /// The program stops watching a trackable.
        case unwatch(TrackableID)
        /// The program requests another resolution, or withdraws its request (`nil`).
        case request(TrackableID, Resolution?)
        /// The program publishes an event; answered under this number.
        case publish(TrackingEvent, of: TrackableID, request: UInt64)
        /// The program stops the subscriber.
        case stop
        /// The deadline came.
        case timer
    }

    /// An output.
    package enum Action: Hashable, Sendable {
        /// Give these to the connection, in order.
        case send([TransportCommand])
        /// Deliver this to the program.
        case deliver(SubscriberEvent)
        /// Answer the program's publish of this number: `nil` if the broker accepted the event.
        case published(request: UInt64, TrackingError?)
    }

    enum Purpose: Hashable, Sendable {
        /// The last packet of subscriptions of a connection, with its filters.
        case settle([TopicFilter])
        /// Any other packet of them.
        case part([TopicFilter])
        /// The subscription to a trackable that was added while connected.
        case watching(TrackableID)
        /// Another attempt to subscribe to filters that were refused.
        case retry([TopicFilter])
        /// A presence or request of this subscriber.
        case announcement(Topic)
        /// An event that the program publishes, by its number.
        case event(UInt64)
        /// A subscription whose answer has no effect.
        case ignored
    }

    typealias Member = MemberStateMachine<Purpose>

    enum Timer: Hashable, Sendable {
        /// A trackable becomes stale.
        case stale(TrackableID)
        /// No message about a trackable has arrived since the broker's grant.
        case silent(TrackableID)
    }

    let configuration: SubscriberConfiguration
    var member: Member
    var random: SplitMix64
    var assets: [TrackableID: WatchedAsset] = [:]
    var timers = DeadlineQueue<Timer>()
    /// The takeover of the client id; `nil` before it.
    var failure: TrackingError?
    var isStopping = false
    /// The trackables of which a resolution was requested in this session: a publisher may remember the request, even
    /// if it was withdrawn since.
    var requested: Set<TrackableID> = []
    /// The trackables that are watched by name and have no received message. Each is reported once.
    var silent: Set<TrackableID> = []
    var refusals = FilterRefusals<TopicFilter>()
    /// The topics on which the broker refuses this subscriber's messages on this connection, as reported.
    var refusedTopics: Set<Topic> = []
    /// The next time at which room for one more trackable is looked for; `nil` before the first time.
    var nextRoom: MonotonicTime?
    var sweep = RetainedSweep()
    /// The messages that the broker dropped; only with ``SubscriberConfiguration/readsBrokerDrops``.
    package internal(set) var brokerDrops = BrokerDrops()

    /// Makes a subscriber that watches nothing and is not connected.
    ///
    /// - Parameter seed: The seed of random moments.
    package init(configuration: SubscriberConfiguration, seed: UInt64) {
        self.configuration = configuration
        self.random = SplitMix64(seed: seed)
        self.member = Member(configuration, lease: configuration.lease)
    }

    /// The time of the next `timer` event; `nil` for never.
    package var nextDeadline: MonotonicTime? {
        guard !self.isStopping else { return nil }
        let next = MonotonicTime.earlier(self.member.nextDeadline, self.timers.next)
        return .earlier(next, .earlier(self.refusals.retryAt, self.sweep.deadline))
    }

    /// `true` once the connection is closed for good: no event follows.
    package var isClosed: Bool { self.member.isClosed }

    /// `true` while the subscriber is connected and the broker has answered all subscriptions of the connection.
    package var isSettled: Bool { self.member.session.isAnnounced }

    /// The number of messages that were skipped because they cannot be read.
    package var badMessages: Int { self.member.badMessages }

    /// The watched trackables.
    package var trackables: [TrackableID] { Array(self.assets.keys) }

    /// The time at which the next update of a trackable is due if it moves; `nil` while none is expected.
    package func nextExpected(_ id: TrackableID) -> MonotonicTime? { self.assets[id]?.nextExpected }

    /// Handles an event.
    ///
    /// - Parameter moment: The time of the event.
    /// - Returns: The actions, in order.
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

    /// Nothing is published after the goodbye.
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

    /// The broker's retained positions have arrived. Those of trackables that this subscriber may not read remain
    /// unknown.
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

    /// Delivers the state and the publisher's presence, where they differ from those delivered last.
    ///
    /// - Parameter reason: The reason for which there is no connection.
    mutating func stateMayHaveChanged(_ id: TrackableID, reason: TrackingError?) -> [Action] {
        let refusal = self.refusals.isEmpty ? nil : self.refusal(of: id) ?? self.refusal(of: nil)
        let isConnected = self.member.session.isAnnounced && refusal == nil
        let link = WatchedAsset.Link(
            isConnected: isConnected, isFailed: self.failure != nil || refusal?.isNameRefusal == true,
            reason: self.failure ?? refusal ?? (isConnected ? nil : reason))
        return self.assets[id]?.stateEvents(link).map { .deliver($0) } ?? []
    }

    /// Sets the deadline of staleness.
    mutating func expectSign(of id: TrackableID) {
        self.timers.keep(.stale(id), at: self.member.session.isAnnounced ? self.assets[id]?.staleDeadline : nil)
    }

    /// Starts the time within which a message about a new trackable is expected, once the broker has granted its
    /// filters.
    mutating func expectMessage(of id: TrackableID, at moment: Moment) {
        guard self.silent.contains(id), self.timers.deadline(of: .silent(id)) == nil,
            self.refusal(of: id) == nil, self.refusal(of: nil) == nil
        else { return }
        self.timers.set(.silent(id), deadline: moment.now.advanced(by: SubscriberConfiguration.silentAfter))
    }

    /// The reason for which the broker refuses a trackable; of all trackables where `id` is `nil`.
    func refusal(of id: TrackableID?) -> TrackingError? {
        guard !self.refusals.isEmpty else { return nil }
        let filters = id.map { self.configuration.filters(of: $0) } ?? self.configuration.filtersForAll
        return filters.lazy.compactMap { self.refusals[$0] }.first
    }
}
