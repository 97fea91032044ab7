import TrackingCore

/// What the connection tells, and what is said on it.
extension SubscriberStateMachine {
    mutating func happened(_ event: TransportEvent, at moment: Moment) -> [Action] {
        switch event {
        case .connected(let connection, _): return self.connected(connection, at: moment)
        case .disconnected(let disconnection): return self.disconnected(disconnection)
        case .received(let message): return self.received(message, at: moment)
        case .published(let token, let refusal):
            return self.published(token, refusal)
        case .subscribed(let token, let refusals): return self.subscribed(token, refusals, at: moment)
        }
    }

    private mutating func connected(_ connection: Int, at moment: Moment) -> [Action] {
        self.session.connected(connection: connection)
        self.presence.connected(now: moment.now)
        let own: [TopicFilter] = [.topic(.liveness(self.session.client))]
        let named = self.configuration.watchesAll ? self.filtersForAll : self.assets.keys.flatMap { self.filters($0) }
        let clients = self.watched.map { TopicFilter.topic(.liveness($0)) }
        // Everything is asked for anew.
        self.refused = [:]
        self.refusedTopics = []
        self.timers.remove(.retry)
        self.kept = []
        let all = named + clients + own
        return [.tell(.connection(nil)), self.subscribe(own, .other)]
            // Answers come in order: with the last one it is settled.
            + self.subscribe(all) { part, isLast in isLast ? .settle(part) : .part(part) } + self.readBrokerDrops()
    }

    /// Subscribes to the broker's count of dropped messages. A refusal has no effect.
    private mutating func readBrokerDrops() -> [Action] {
        guard self.configuration.readsBrokerDrops else { return [] }
        self.brokerDrops.connected()
        return [.send([.subscribe([BrokerDrops.topic], self.token(.other))])]
    }

    /// The most filters in one packet: brokers limit its size, and a filter can be as long as 700 bytes.
    static let maximumFilters = 200

    /// In as many packets as it takes; `purpose` is told the filters of each, and whether it is the last one.
    mutating func subscribe(_ filters: [TopicFilter], _ purpose: ([TopicFilter], Bool) -> Purpose) -> [Action] {
        stride(from: 0, to: filters.count, by: Self.maximumFilters).map { start in
            let end = min(start + Self.maximumFilters, filters.count)
            let part = Array(filters[start..<end])
            return self.subscribe(part, purpose(part, end == filters.count))
        }
    }

    mutating func disconnected(_ disconnection: Disconnection) -> [Action] {
        self.session.disconnected()
        self.presence.disconnected()
        let unpublished = self.loseEvents()
        self.outstanding = [:]
        self.isClosed = disconnection.retry == nil
        self.timers.remove(.retry)
        self.timers.remove(.kept)
        self.kept = nil
        for id in self.assets.keys {
            self.timers.remove(.stale(id))
            self.timers.remove(.announce(id))
            self.timers.remove(.unheard(id))
            self.assets[id]?.keptOfOthers = nil
        }
        return unpublished + [.tell(.connection(disconnection))]
            + self.assets.keys.flatMap { self.told($0, reason: disconnection.reason) }
    }

    private mutating func subscribed(
        _ token: TransportToken, _ refusals: [TrackingError?], at moment: Moment
    ) -> [Action] {
        switch self.outstanding.removeValue(forKey: token) {
        case .settle(let filters):
            guard self.session.settled(now: moment.now) else { return self.takenOver() }
            var actions = [self.publish(.liveness(self.session.client), MessageCodec.encode(self.session.birth))]
            actions += self.answered(filters, refusals, at: moment)
            self.expectKept(within: SubscriberConfiguration.keptAfter.unconfirmed, at: moment)
            for id in self.assets.keys {
                self.assets[id]?.lastSign = moment.now
                self.assets[id]?.isStale = false
                actions += self.enter(id, at: moment) + self.told(id, reason: nil)
                self.expect(id)
                self.expectToHear(id, at: moment)
            }
            // What is said again stands rightly.
            return actions + self.clearAgain()
        case .watching(let id):
            guard self.session.isAnnounced, self.assets[id] != nil else { return [] }
            let lastSign = self.assets[id]?.lastSign ?? moment.now
            self.assets[id]?.lastSign = lastSign
            let answer = self.answered(self.filters(id), refusals, at: moment)
            self.expectToHear(id, at: moment)
            return answer + self.enter(id, at: moment) + self.told(id, reason: nil)
        case .part(let filters):
            return self.answered(filters, refusals, at: moment)
        case .refused(let filters):
            let answer = self.answered(filters, refusals, at: moment)
            for id in self.unheard { self.expectToHear(id, at: moment) }
            return answer + self.assets.keys.flatMap { self.told($0, reason: nil) }
        case .saying, .telling, .other, nil:
            return []
        }
    }

    private mutating func published(_ token: TransportToken, _ refusal: TrackingError?) -> [Action] {
        let purpose = self.outstanding.removeValue(forKey: token)
        if case .telling(let request) = purpose { return [.published(request: request, refusal)] }
        if case .saying(let topic) = purpose, self.unclear[topic] == token { self.unclear[topic] = nil }
        guard case .saying(let topic) = purpose, let refusal, self.refusedTopics.insert(topic).inserted else {
            return []
        }
        return [.tell(.publishRefused(topic: self.configuration.topicRoot.path(topic), refusal))]
    }

    private mutating func takenOver() -> [Action] {
        self.failure = TrackingError(
            .takenOver,
            "another program uses the client id '\(self.session.client)'; give each program a client id of its own")
        return self.assets.keys.flatMap { self.told($0, reason: self.failure) } + [.send([.close(within: .zero)])]
    }

    // MARK: - What is said

    /// Publishes the request and then the presence, with which the request takes effect: for the publisher the two are one change.
    /// A request that was dropped is cleared again, because a publisher that was away at that time remembers it.
    mutating func enter(_ id: TrackableID, at moment: Moment) -> [Action] {
        guard self.session.isAnnounced, let asset = self.assets[id], self.isPresent(asking: asset.request) else {
            return []
        }
        let since = asset.since ?? moment.wall
        self.assets[id]?.since = since
        let presence = Presence(
            kind: .subscriber, session: self.session.session, connection: self.session.connection,
            lease: self.session.lease, since: since)
        var actions: [Action] = []
        if let resolution = asset.request {
            actions.append(self.publish(resolution, for: id))
        } else if self.asked.contains(id) {
            actions.append(self.publish(.request(id, self.session.client), []))
        }
        return actions + [self.publish(.subscriber(id, self.session.client), MessageCodec.encode(presence))]
    }

    private mutating func publish(_ resolution: Resolution, for id: TrackableID) -> Action {
        self.asked.insert(id)
        let request = ResolutionRequest(session: self.session.session, resolution: resolution)
        return self.publish(.request(id, self.session.client), MessageCodec.encode(request))
    }

    /// Whether it is counted present on a trackable of which it asks for this.
    private func isPresent(asking request: Resolution?) -> Bool {
        !self.configuration.isSilent && (request != nil || !self.configuration.isPresentOnlyWhileAsking)
    }

    mutating func watch(_ id: TrackableID, _ request: Resolution?, at moment: Moment) -> [Action] {
        guard self.assets[id] == nil, !self.isStopping else { return self.ask(id, request, at: moment) }
        self.assets[id] = WatchedAsset(id: id, request: request)
        guard !self.configuration.watchesAll else { return self.enter(id, at: moment) + self.told(id, reason: nil) }
        self.unheard.insert(id)
        let actions = self.told(id, reason: nil)
        if case .offline = self.session.phase { return actions }
        return actions + [self.subscribe(self.filters(id), .watching(id))]
    }

    mutating func unwatch(_ id: TrackableID) -> [Action] {
        guard let asset = self.assets.removeValue(forKey: id) else { return [] }
        self.timers.remove(.stale(id))
        self.timers.remove(.announce(id))
        self.timers.remove(.unheard(id))
        self.unheard.remove(id)
        for filter in self.filters(id) { self.refused[filter] = nil }
        var actions = self.apply(self.presence.forget(id), at: nil)
        if self.session.isConnected, !self.configuration.watchesAll {
            actions.append(.send([.unsubscribe(self.filters(id).map { self.configuration.topicRoot.path($0) })]))
        }
        return asset.since == nil ? actions : actions + self.goodbye(id)
    }

    mutating func ask(_ id: TrackableID, _ resolution: Resolution?, at moment: Moment) -> [Action] {
        guard let asset = self.assets[id], asset.request != resolution else { return [] }
        self.assets[id]?.request = resolution
        guard self.isPresent(asking: resolution) else { return self.leave(id) }
        guard asset.since != nil else {
            // One that waits for the answer to its subscription enters then.
            return self.isPresent(asking: asset.request) ? [] : self.enter(id, at: moment)
        }
        guard let resolution else { return self.clear(.request(id, self.session.client)) }
        return self.session.isAnnounced ? [self.publish(resolution, for: id)] : []
    }

    /// Not counted present any more, and still watching.
    private mutating func leave(_ id: TrackableID) -> [Action] {
        self.assets[id]?.since.take() == nil ? [] : self.goodbye(id)
    }

    /// The orderly goodbye: requests and presences first, then liveness, then the connection.
    mutating func stop() -> [Action] {
        guard !self.isStopping else { return [] }
        self.isStopping = true
        guard self.session.isAnnounced else { return [.send([.close(within: .zero)])] }
        var actions = self.assets.values.filter { $0.since != nil }.flatMap { self.goodbye($0.id) }
        let goodbye = SessionStateMachine.goodbye(session: self.session.session, connection: self.session.connection)
        let payload = self.configuration.isClientRandom ? [] : MessageCodec.encode(goodbye)
        actions.append(self.publish(.liveness(self.session.client), payload))
        return actions + [.send([.close(within: .seconds(2))])]
    }

    private mutating func goodbye(_ id: TrackableID) -> [Action] {
        self.clear(.request(id, self.session.client)) + self.clear(.subscriber(id, self.session.client))
    }
}
