package import TrackingCore

/// Decides for an enhancer which updates with positions on the road are published, and which requests are sent to the
/// routing engine. Touches no network and no clock.
package struct EnhancerStateMachine: Sendable {
    /// An input of the enhancer's state machine.
    package enum Event: Sendable {
        /// Events of the connection to the broker, in the order in which they happened.
        case transport([TransportEvent])
        /// The engine answered a request of this number.
        case answered(Int, Result<RoadMatch, TrackingError>)
        /// The engine answered the request of this number for a route.
        case routed(Int, Result<Route, TrackingError>)
        /// The deadline ``EnhancerStateMachine/nextDeadline`` has passed.
        case timer
        /// The program asks the enhancer to stop in an orderly way.
        case stop
    }

    /// An output of the enhancer's state machine, which ``Enhancer`` performs.
    package enum Action: Hashable, Sendable {
        /// Send these commands to the broker, in order.
        case send([TransportCommand])
        /// Send this request to the engine. The program answers with the event `answered` and the same number.
        case match(Int, MatchRequest)
        /// Request a route from the engine. The program answers with the event `routed` and the same number.
        case route(Int, RouteRequest)
        /// Deliver this event to the readers of the enhancer's event stream.
        case deliver(EnhancerEvent)
    }

    /// The purpose of a subscription or publish, by which its answer is handled.
    enum Purpose: Hashable, Sendable {
        /// The subscription to these filters of positions.
        case positions([TopicFilter])
        /// The last subscription of a connection. Its answer shows that the retained liveness was received.
        case settle
        /// The last subscription of a takeover with this number. Its answer shows that the retained messages of the
        /// taken-over trackables were received.
        case takeOver(Int)
        /// The publish of an update of a trackable.
        case update(TrackableID)
        /// The publish of an estimate or of an event of a trackable.
        case estimate(TrackableID)
        /// A subscription whose answer from the broker the enhancer ignores.
        case ignored
    }

    let configuration: EnhancerConfiguration
    var member: MemberStateMachine<Purpose>
    var fleet = EnhancedFleet()
    private var requests = MatchRequests()
    var refusals = FilterRefusals<TopicFilter>()
    var journeys: JourneyEstimates
    /// The trackables whose last update may not have reached the broker.
    var unpublished: Set<TrackableID> = []
    var hasReportedRefusal = false
    /// The members of the enhancer's group; `nil` without a group.
    var membership: GroupMembership?
    var isStopping = false
    /// The numbers of updates since the last call of ``takeFigures()``.
    var figures = EnhancerFigures()
    /// The error that makes the enhancer end; `nil` while there is none.
    package internal(set) var failure: TrackingError?

    /// Creates the state machine of an enhancer that is not connected.
    package init(configuration: EnhancerConfiguration) {
        self.configuration = configuration
        self.member = MemberStateMachine(configuration, lease: configuration.lease)
        self.journeys = JourneyEstimates(configuration)
        self.membership = configuration.group.map { GroupMembership($0, client: configuration.client) }
    }

    /// `true` once the connection is closed and will not be made again.
    package var isClosed: Bool { self.member.isClosed }

    /// `true` while the routing engine is away.
    package var isEngineAway: Bool { self.requests.isEngineAway }

    /// The number of trackables whose fixes are remembered.
    package var trackableCount: Int { self.fleet.count }

    /// The time at which the program must give the event `timer` to the state machine; `nil` for no such time.
    package var nextDeadline: MonotonicTime? {
        [
            self.member.nextDeadline, self.fleet.nextDeadline, self.refusals.retryAt, self.journeys.nextDeadline,
            self.membership?.nextDeadline,
        ].compactMap(\.self).min()
    }

    /// Returns the counts of published positions since the last call, one count for each outcome, such as on a road
    /// or off the roads. Sets the counts to 0.
    package mutating func takeFigures() -> EnhancerFigures {
        defer { self.figures = EnhancerFigures() }
        return self.figures
    }

    /// Handles an event of the connection, the engine, the timer or the program.
    ///
    /// - Parameter moment: The time of the event.
    /// - Returns: The actions that the program must perform, in order.
    package mutating func happened(_ event: Event, at moment: Moment) -> [Action] {
        switch event {
        case .transport(let events):
            events.flatMap { self.happened($0, at: moment) } + self.startRequests(now: moment.now)
        case .answered(let number, let result):
            self.answered(number, result, now: moment.now) + self.startRequests(now: moment.now)
        case .routed(let number, let result): self.perform(self.journeys.answered(number, result, at: moment))
        case .timer: self.timerFired(at: moment) + self.startRequests(now: moment.now)
        case .stop: self.stop()
        }
    }

    // MARK: - Fixes

    mutating func received(_ update: LocationUpdate, of id: TrackableID, now: MonotonicTime) -> [Action] {
        let actions = self.fleet.contains(id) ? [] : self.makeRoom()
        self.fleet.saw(id, now: now)
        return actions
            + self.change(id, now: now) { trackable in
                trackable.received(update, deadline: now.advanced(by: EnhancerConfiguration.patience))
            }
    }

    /// Handles that the retained position of a trackable was cleared.
    mutating func cleared(_ id: TrackableID) -> [Action] {
        self.forget(id)
        self.unpublished.remove(id)
        return Self.sending(self.member.clear(.enhanced(id)))
    }

    /// Changes the state of a trackable, and lets it wait for a request if it has fixes without an answer. While the
    /// engine is away, its fixes are published as the device sent them.
    private mutating func change(
        _ id: TrackableID, now: MonotonicTime, _ body: (inout TrackableEnhancer) -> [LocationUpdate]
    ) -> [Action] {
        let isAway = self.requests.isBlocked(now: now)
        let changed = self.fleet.change(id) { trackable in
            var updates = body(&trackable)
            if isAway { updates += trackable.publishAll() }
            return (updates: updates, needsMatch: trackable.needsMatch)
        }
        guard let changed else { return [] }
        if !isAway, changed.needsMatch { self.requests.enqueue(id) }
        return self.publish(changed.updates, of: id)
    }

    /// Changes the state of a trackable, and returns the actions that publish the resulting updates.
    private mutating func publish(
        from id: TrackableID, _ body: (inout TrackableEnhancer) -> [LocationUpdate]
    ) -> [Action] {
        self.publish(self.fleet.change(id, body) ?? [], of: id)
    }

    // MARK: - Memory

    /// Forgets the trackables without fixes for the longest time, until there is room for one more.
    mutating func makeRoom() -> [Action] {
        var actions: [Action] = []
        while self.fleet.isFull, case let oldest = self.fleet.popOldest(), !oldest.isEmpty {
            actions += oldest.flatMap { self.drop($0) }
        }
        return actions
    }

    /// Publishes the waiting fixes of a trackable as the device sent them, and forgets the trackable.
    mutating func drop(_ id: TrackableID) -> [Action] {
        let actions = self.publish(from: id) { $0.publishAll() }
        self.forget(id)
        return actions
    }

    mutating func forget(_ id: TrackableID) {
        self.fleet.forget(id)
        self.requests.forget(id)
    }

    // MARK: - The engine

    /// Sends requests while they may be sent and trackables wait.
    private mutating func startRequests(now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        while let id = self.requests.next(now: now) {
            let taken = self.fleet.change(id) { ($0.takeRequest(), $0.profile) }
            guard case let (request?, motion)? = taken else { continue }
            let number = self.requests.started(request, of: id)
            let profile = self.configuration.profile(of: id) ?? motion
            actions.append(.match(number, MatchRequest(points: request.points, profile: profile)))
        }
        return actions
    }

    private mutating func answered(
        _ number: Int, _ result: Result<RoadMatch, TrackingError>, now: MonotonicTime
    ) -> [Action] {
        let (answered, change) = self.requests.answered(number, result, now: now)
        let actions = self.report(change)
        guard let answered else { return actions }
        self.requests.ended(answered)
        return actions
            + self.change(answered.id, now: now) { trackable in
                switch result {
                case .success(let match) where match.points.count == answered.request.points.count:
                    trackable.answered(match, to: answered.request)
                case .failure(let error) where error.code == .noRoad: trackable.foundNoRoad(answered.request)
                case .success, .failure: trackable.publishAll()
                }
            }
    }

    /// Delivers a change in the availability of the engine. When the engine is away, all waiting fixes are published as
    /// the devices sent them.
    private mutating func report(_ change: EngineCircuit.Change?) -> [Action] {
        switch change {
        case .away(let error, let retry):
            return [.deliver(.engineAway(error, retry: retry))]
                + self.requests.popAll().flatMap { id in self.publish(from: id) { $0.publishAll() } }
        case .back(let time): return [.deliver(.engineBack(after: time))]
        case nil: return []
        }
    }

    // MARK: - Time

    private mutating func timerFired(at moment: Moment) -> [Action] {
        var actions: [Action] = []
        for case .send(let commands) in self.member.timerFired(now: moment.now) { actions.append(.send(commands)) }
        for id in self.fleet.popDue(now: moment.now) {
            var late = 0
            actions += self.publish(from: id) { trackable in
                let updates = trackable.expire(now: moment.now)
                late = updates.count
                return updates
            }
            self.figures.late += late
        }
        for id in self.fleet.popIdle(now: moment.now) { actions += self.drop(id) }
        actions += self.perform(self.journeys.timerFired(at: moment)) + self.groupTimerFired(now: moment.now)
        return actions + self.subscribeAgain(now: moment.now)
    }
}

/// The numbers of updates that an enhancer published, by the certainty of the match.
package struct EnhancerFigures: Hashable, Sendable {
    /// The number of positions on a road.
    package var matched = 0
    /// The number of positions that are presumed on a road.
    package var presumed = 0
    /// The number of positions as the device sent them.
    package var offRoad = 0
    /// The number of positions as the device sent them because the engine did not answer in time.
    package var late = 0
}
