import TrackingCore

/// The connection of an enhancer's state machine: subscriptions, received messages, and the updates that the enhancer
/// publishes.
extension EnhancerStateMachine {
    mutating func happened(_ event: TransportEvent, at moment: Moment) -> [Action] {
        switch event {
        case .connected(let connection, _, let broker): self.connected(connection, to: broker, now: moment.now)
        case .disconnected(let disconnection): self.disconnected(disconnection)
        case .received(let message): self.received(message, at: moment)
        case .subscribed(let token, let refusals): self.subscribed(token, refusals, at: moment)
        case .published(let token, let refusal): self.published(token, refusal)
        }
    }

    /// Subscribes twice to the enhancer's own liveness. Mosquitto answers a subscription before it sends the retained
    /// messages. Therefore only the answer to the second subscription shows that the retained liveness has arrived.
    private mutating func connected(_ connection: Int, to broker: Int, now: MonotonicTime) -> [Action] {
        self.member.connected(connection, broker: broker, now: now)
        self.refusals.connected()
        self.hasReportedRefusal = false
        self.membership?.connected(connection, of: self.configuration.session)
        let own = [self.member.ownLiveness]
        // A member of a group reads positions only after the others know it.
        if self.membership != nil {
            return self.subscribe([.everyLiveness]) + [.send([self.member.subscribe(own, .settle)])]
        }
        return [.send([self.member.subscribe(own, .ignored)])] + self.subscribe(self.configuration.filters)
            + [.send([self.member.subscribe(own, .settle)])]
    }

    mutating func subscribe(_ filters: [TopicFilter]) -> [Action] {
        SubscriptionSlices.packets(filters).map { .send([self.member.subscribe($0, .positions($0))]) }
    }

    /// Subscribes again to the filters that the broker rejected, if it is time for that.
    mutating func subscribeAgain(now: MonotonicTime) -> [Action] { self.subscribe(self.refusals.retryDue(now: now)) }

    private mutating func disconnected(_ disconnection: Disconnection) -> [Action] {
        for case .update(let id) in self.member.disconnected(disconnection) { self.unpublished.insert(id) }
        self.refusals.disconnected()
        self.journeys.disconnected()
        self.leaveGroup()
        return [.deliver(.disconnected(disconnection))]
    }

    private mutating func subscribed(
        _ token: TransportToken, _ refusals: [TrackingError?], at moment: Moment
    ) -> [Action] {
        switch self.member.subscribed(token) {
        case .settle: return self.settled(at: moment)
        case .takeOver(let number): return self.tookOver(number, at: moment)
        case .positions(let filters):
            var actions: [Action] = []
            for (filter, refusal) in zip(filters, refusals) {
                if let refusal, self.refusals[filter] == nil {
                    actions.append(
                        .deliver(.subscriptionRefused(filter: self.configuration.topicRoot.path(filter), refusal)))
                }
                self.refusals.answered(filter, refusal)
            }
            self.refusals.scheduleRetry(now: moment.now)
            return actions + (filters.contains(.everyLiveness) ? self.takeOver() : [])
        case .update, .estimate, .ignored, nil: return []
        }
    }

    /// Handles the answer to the last subscription of a connection. The enhancer publishes its liveness, and the newest
    /// update of each trackable for which the broker may not have it.
    private mutating func settled(at moment: Moment) -> [Action] {
        self.member.group = self.membership?.announcement
        switch self.member.settled(now: moment.now) {
        case .notConnected: return []
        case .takenOver(let error):
            self.failure = error
            return [.deliver(.failed(error)), .send([.close(within: .zero)])]
        case .announced(let commands):
            guard self.membership == nil else { return [.deliver(.connected), .send(commands)] + self.joinedGroup() }
            let ids = self.unpublished.sorted()
            self.unpublished = []
            let updates = ids.flatMap { id in
                self.send(self.fleet[id]?.lastPublished.map { [$0] } ?? [], of: id)
            }
            let fleet = self.fleet
            let estimates = self.journeys.settled(at: moment) { fleet[$0]?.lastPublished?.location }
            return [.deliver(.connected), .send(commands)] + updates + Self.sending(self.member.clearAgain())
                + self.perform(estimates)
        }
    }

    private mutating func received(_ message: IncomingMessage, at moment: Moment) -> [Action] {
        do throws(TrackingError) {
            switch try self.member.received(message, now: moment.now) {
            case .role(.location(let id)) where self.serves(id) && !self.isStopping:
                guard !message.payload.isEmpty else { return self.cleared(id) }
                let update = try LocationCodec.decode(message.payload)
                // A predicted position may be off the road that the trackable takes.
                guard update.kind == .actual else { return [] }
                return self.received(update, of: id, now: moment.now)
                    + self.perform(self.journeys.moved(update.location, of: id, at: moment))
            case .role(.journey(let id)) where self.owns(id) && !self.isStopping:
                let fix = self.fleet[id]?.lastPublished?.location
                return self.perform(
                    try self.journeys.received(journey: Array(message.payload), of: id, at: fix, moment))
            case .role(.estimate(let id)) where self.owns(id) && message.isRetained:
                self.journeys.received(retainedEstimate: message.payload, of: id)
                return []
            case .role(.enhanced(let id)) where self.owns(id):
                return try self.received(enhanced: message.payload, of: id, now: moment.now)
            case .ownLiveness(let commands): return Self.sending(commands)
            case .liveness(of: let client, isLive: _, _):
                return try self.received(liveness: message, of: client, moment.now)
            case .role, .presence, .foreign: return []
            }
        } catch {
            _ = self.member.skipped(message.topic, error)
            return [.deliver(.badMessage(topic: message.topic, error))]
        }
    }

    private mutating func published(_ token: TransportToken, _ refusal: TrackingError?) -> [Action] {
        guard let answer = self.member.published(token), let refusal, !self.hasReportedRefusal else { return [] }
        switch answer {
        case .role(.update(let id)), .role(.estimate(let id)):
            self.hasReportedRefusal = true
            return [.deliver(.publishRefused(id, refusal))]
        default: return []
        }
    }

    // MARK: - Journeys

    /// Returns the actions for the decisions about journeys and estimates.
    mutating func perform(_ decisions: [JourneyEstimates.Action]) -> [Action] {
        decisions.flatMap { decision -> [Action] in
            switch decision {
            case .route(let number, let request): [.route(number, request)]
            case .publish(let topic, let payload):
                topic.trackable.map { id in
                    Self.sending([self.member.publish(topic, payload, .estimate(id))])
                } ?? []
            }
        }
    }

    // MARK: - Updates

    /// Counts updates of a trackable, and returns the actions that publish them. Without a connection, the newest
    /// update is published on the next connection.
    mutating func publish(_ updates: [LocationUpdate], of id: TrackableID) -> [Action] {
        for update in updates {
            switch update.enhancement?.confidence {
            case .matched: self.figures.matched += 1
            case .presumed: self.figures.presumed += 1
            case .offRoad, nil: self.figures.offRoad += 1
            }
        }
        return self.send(updates, of: id)
    }

    private mutating func send(_ updates: [LocationUpdate], of id: TrackableID) -> [Action] {
        guard !updates.isEmpty else { return [] }
        guard self.member.session.isAnnounced else {
            self.unpublished.insert(id)
            return []
        }
        return Self.sending(
            updates.compactMap { update in
                guard let payload = try? LocationCodec.encode(update) else { return nil }
                return self.member.publish(.enhanced(id), payload, .update(id))
            })
    }

    static func sending(_ commands: [TransportCommand]) -> [Action] { commands.isEmpty ? [] : [.send(commands)] }

    // MARK: - The end

    /// Returns the actions of an orderly stop. They publish the waiting fixes as the devices sent them, and that the
    /// enhancer is offline, and close the connection.
    mutating func stop() -> [Action] {
        guard !self.isStopping else { return [] }
        self.isStopping = true
        guard self.member.session.isAnnounced else { return [.send([.close(within: .zero)])] }
        var actions: [Action] = []
        for id in self.fleet.ids { actions += self.publish(self.fleet.change(id) { $0.publishAll() } ?? [], of: id) }
        let goodbye = self.member.publishGoodbye(isClientRandom: self.configuration.isClientRandom)
        return actions + [.send([goodbye, .close(within: .seconds(2))])]
    }
}
