import TrackingCore

/// The part of a subscriber's state machine that handles its connection: subscriptions, the broker's answers, and the
/// messages that the subscriber publishes.
extension SubscriberStateMachine {
    mutating func happened(_ event: TransportEvent, at moment: Moment) -> [Action] {
        switch event {
        case .connected(let connection, _, let broker): self.connected(connection, to: broker, at: moment)
        case .disconnected(let disconnection): self.disconnected(disconnection)
        case .received(let message): self.received(message, at: moment)
        case .published(let token, let refusal): self.published(token, refusal)
        case .subscribed(let token, let refusals): self.subscribed(token, refusals, at: moment)
        }
    }

    private mutating func connected(_ connection: Int, to broker: Int, at moment: Moment) -> [Action] {
        self.member.connected(connection, broker: broker, now: moment.now)
        self.refusals.connected()
        self.refusedTopics = []
        let own = self.member.ownLiveness
        let named =
            self.configuration.watchesAll
            ? self.configuration.filtersForAll : self.assets.keys.flatMap { self.filters(of: $0) }
        let filters = named + self.member.watchedLiveness + [own]
        self.retained.connected(filters)
        self.journeys.connected()
        return [.deliver(.connection(nil)), .send([self.member.subscribe([own], .ignored)])]
            // The count of drops comes first, so that drops of retained messages increase it.
            + self.readBrokerDrops() + self.subscribe(self.retained.nextPackets(now: moment.now))
    }

    /// Returns the actions that send these SUBSCRIBE packets, which are a slice of the subscriptions of a new
    /// connection.
    mutating func subscribe(_ packets: [RetainedCollection.Packet]) -> [Action] {
        packets.map {
            .send([self.member.subscribe($0.filters, $0.isLast ? .settle($0.filters) : .part($0.filters))])
        }
    }

    /// Returns the action that subscribes to the broker's count of dropped messages; none if the configuration does not
    /// ask for the count. It does not matter if the broker rejects this subscription.
    private mutating func readBrokerDrops() -> [Action] {
        guard self.configuration.readsBrokerDrops else { return [] }
        self.brokerDrops.connected()
        return [.send([self.member.subscribe([BrokerDrops.topic], .ignored)])]
    }

    /// Returns the actions that subscribe to topic filters, in as many packets as necessary.
    ///
    /// - Parameters:
    ///   - filters: The topic filters.
    ///   - purpose: Returns the purpose of a packet, given its filters.
    mutating func subscribe(_ filters: [TopicFilter], _ purpose: ([TopicFilter]) -> Purpose) -> [Action] {
        SubscriptionSlices.packets(filters).map { .send([self.member.subscribe($0, purpose($0))]) }
    }

    mutating func disconnected(_ disconnection: Disconnection) -> [Action] {
        self.isRenewing = disconnection.isRenewal && self.member.session.isAnnounced
        let unanswered = self.member.disconnected(disconnection)
        self.refusals.disconnected()
        self.retained.disconnected()
        self.silence.disconnected()
        for id in self.assets.keys {
            self.staleDeadlines.remove(id)
            self.assets[id]?.disconnected()
        }
        return unanswered.compactMap { if case .event(let request) = $0 { Self.notPublished(request) } else { nil } }
            + [.deliver(.connection(disconnection))]
            + self.assets.keys.flatMap { self.stateMayHaveChanged($0, reason: disconnection.reason) }
    }

    private mutating func subscribed(
        _ token: TransportToken, _ refusals: [TrackingError?], at moment: Moment
    ) -> [Action] {
        switch self.member.subscribed(token) {
        case .settle(let filters):
            self.retained.answered(now: moment.now)
            return self.settled(filters, refusals, at: moment)
        case .part(let filters):
            self.retained.answered(now: moment.now)
            return self.answered(filters, refusals, at: moment)
        case .watching(let id):
            guard self.member.session.isAnnounced, let asset = self.assets[id] else { return [] }
            if asset.signs.last == nil { self.assets[id]?.signs.last = moment.now }
            let answer = self.answered(self.filters(of: id), refusals, at: moment)
            self.expectMessage(of: id, at: moment)
            return answer + self.announce(id, at: moment) + self.stateMayHaveChanged(id, reason: nil)
        case .retry(let filters):
            let answer = self.answered(filters, refusals, at: moment)
            for id in self.silence.ids { self.expectMessage(of: id, at: moment) }
            return answer + self.assets.keys.flatMap { self.stateMayHaveChanged($0, reason: nil) }
        case .preferring(let filters):
            return self.answered(filters, refusals, at: moment)
        case .asking:
            self.retained.questionAnswered(now: moment.now)
            return []
        case .announcement, .event, .ignored, nil:
            return []
        }
    }

    /// Handles the broker's answer to the last subscription of a connection. All retained messages for the earlier
    /// subscriptions have then been received. The subscriber now publishes that it is online, and announces its
    /// presence on the watched trackables.
    private mutating func settled(
        _ filters: [TopicFilter], _ refusals: [TrackingError?], at moment: Moment
    ) -> [Action] {
        var actions: [Action] = []
        self.isRenewing = false
        switch self.member.settled(now: moment.now) {
        case .notConnected: return []
        case .takenOver(let error): return self.takenOver(error)
        case .announced(let commands): actions.append(.send(commands))
        }
        actions += self.answered(filters, refusals, at: moment)
        self.retained.settled(now: moment.now)
        for id in self.assets.keys {
            self.assets[id]?.signs.restart(now: moment.now)
            actions += self.announce(id, at: moment) + self.stateMayHaveChanged(id, reason: nil)
            self.expectSign(of: id)
            self.expectMessage(of: id, at: moment)
        }
        return actions + Self.sending(self.member.clearAgain())
    }

    private mutating func takenOver(_ error: TrackingError) -> [Action] {
        self.failure = error
        return self.assets.keys.flatMap { self.stateMayHaveChanged($0, reason: error) }
            + [.send([.close(within: .zero)])]
    }

    /// Handles the broker's answer to subscriptions. Reports a rejection of a trackable's filters once, and schedules
    /// another attempt to subscribe to rejected filters. This method's caller must then report the changed states of
    /// the affected trackables.
    private mutating func answered(
        _ filters: [TopicFilter], _ refusals: [TrackingError?], at moment: Moment
    ) -> [Action] {
        var actions: [Action] = []
        for (filter, refusal) in zip(filters, refusals) where filter.isNeeded {
            let id = filter.neededTrackable
            if let id, self.assets[id] == nil { continue }
            if let refusal, self.refusal(of: id) == nil { actions.append(.deliver(.refused(id, refusal))) }
            self.refusals.answered(filter, refusal)
        }
        self.refusals.scheduleRetry(now: moment.now)
        for (filter, refusal) in zip(filters, refusals) where filter.isEnhanced {
            guard let refusal, self.enhancedRefusals.insert(filter).inserted else { continue }
            let id = if case .topic(let topic) = filter { topic.trackable } else { TrackableID?.none }
            actions.append(.deliver(.enhancedRefused(id, refusal)))
        }
        return actions
    }

    private mutating func published(_ token: TransportToken, _ refusal: TrackingError?) -> [Action] {
        switch self.member.published(token) {
        case .role(.event(let request)): return [.published(request: request, refusal)]
        case .role(.announcement(let topic)), .own(let topic):
            guard let refusal, self.refusedTopics.insert(topic).inserted else { return [] }
            return [.deliver(.publishRefused(topic: self.configuration.topicRoot.path(topic), refusal))]
        case .role, .liveness, nil: return []
        }
    }

    // MARK: - Messages of this subscriber

    /// Returns the actions that publish the subscriber's resolution request and its presence for a watched trackable.
    mutating func announce(_ id: TrackableID, at moment: Moment) -> [Action] {
        guard self.assets[id] != nil else { return [] }
        return self.perform(self.attendance.announce(id, self.member.session, at: moment.wall))
    }

    mutating func request(_ resolution: Resolution?, for id: TrackableID, at moment: Moment) -> [Action] {
        guard self.assets[id] != nil else { return [] }
        return self.perform(self.attendance.request(resolution, for: id, self.member.session, at: moment.wall))
    }

    /// Returns the action that publishes and clears these messages, the subscriber's presences and resolution requests;
    /// none if there is nothing to send.
    mutating func perform(_ messages: [Attendance.Message]) -> [Action] {
        Self.sending(
            messages.flatMap { message in
                switch message {
                case .publish(let topic, let payload): [self.member.publish(topic, payload, .announcement(topic))]
                case .clear(let topic): self.member.clear(topic)
                }
            })
    }

    mutating func publish(_ event: TrackingEvent, of id: TrackableID, _ request: UInt64) -> Action {
        guard self.member.session.isAnnounced else { return Self.notPublished(request) }
        return .send([self.member.publish(.event(id), MessageCodec.encode(event), .event(request))])
    }

    mutating func send(_ command: Command, to id: TrackableID, _ request: UInt64) -> Action {
        guard self.member.session.isAnnounced, let payload = try? CommandCodec.encode(command) else {
            return Self.notPublished(request)
        }
        return .send([self.member.publish(.command(id), payload, .event(request))])
    }

    mutating func setJourney(_ journey: Journey?, of id: TrackableID, _ request: UInt64) -> Action {
        // Clearing is a retained message with an empty payload.
        let encoded = journey.map { try? MessageCodec.encode($0) } ?? []
        guard self.member.session.isAnnounced, let payload = encoded else { return Self.notPublished(request) }
        return .send([self.member.publish(.journey(id), payload, .event(request))])
    }

    static func notPublished(_ request: UInt64) -> Action {
        .published(
            request: request,
            TrackingError(
                .connectionLost,
                "cannot publish the tracking event, command or journey: there is no connection to the broker. Try again when the subscriber is connected"
            ))
    }

    /// Returns the actions of an orderly stop. They clear the subscriber's requests and presences, publish that the
    /// subscriber is offline, and close the connection.
    mutating func stop() -> [Action] {
        guard !self.isStopping else { return [] }
        self.isStopping = true
        guard self.member.session.isAnnounced else { return [.send([.close(within: .zero)])] }
        let actions = self.perform(self.attendance.leaveAll(self.member.client))
        let goodbye = self.member.publishGoodbye(isClientRandom: self.configuration.isClientRandom)
        return actions + [.send([goodbye, .close(within: .seconds(2))])]
    }

    static func sending(_ commands: [TransportCommand]) -> [Action] { commands.isEmpty ? [] : [.send(commands)] }
}
