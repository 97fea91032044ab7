import TrackingCore

/// What the connection tells, and what is said on it.
extension PublisherStateMachine {
    mutating func happened(_ event: TransportEvent, at moment: Moment) -> [Action] {
        switch event {
        case .connected(let connection, _):
            return self.connected(connection, at: moment)
        case .disconnected(let disconnection):
            return self.disconnected(disconnection, at: moment)
        case .received(let message):
            return self.received(message, at: moment)
        case .published(let token, let refusal):
            return self.published(token, refusal, at: moment)
        case .subscribed(let token, let refusals):
            return self.subscribed(token, refusals, at: moment)
        }
    }

    /// Brokers answer a subscription before they send what stands, and one after the other: the answer to the last tells
    /// that what stands on all of them was read.
    private mutating func connected(_ connection: Int, at moment: Moment) -> [Action] {
        self.connectionRefusal = nil
        self.link = .init(isUp: true, since: moment.wall)
        self.session.connected(connection: connection)
        self.presence.connected(now: moment.now)
        let own: [TopicFilter] = [.topic(.liveness(self.session.client))]
        let ids = self.assets.values.filter { $0.failure == nil }.map(\.trackable.id)
        let all = ids.flatMap { self.filters($0) }
        let watched = self.watched.map { TopicFilter.topic(.liveness($0)) }
        let left = self.leftBehind
        self.expectRequests(at: moment)
        return [
            .connectionChanged(nil), self.subscribe(all + watched + left.map { .publishers($0) } + own, .all(ids)),
        ] + self.listenForCommands(on: Array(self.assets.keys)) + self.listenForClearings(of: Array(self.assets.keys))
            + [self.subscribe(own, .settle(ids, leftTo: left))]
    }

    mutating func disconnected(_ disconnection: Disconnection, at moment: Moment) -> [Action] {
        self.link = .init(
            isUp: false, since: self.link.isUp ? moment.wall : self.link.since ?? moment.wall,
            reason: disconnection.reason?.message ?? self.link.reason)
        self.session.disconnected()
        self.presence.disconnected()
        self.timers.remove(.requests)
        self.outstanding = [:]
        for id in self.departures.keys { self.departures[id]?.isSaid = false }
        self.forgetLesserRefusals()
        self.isClosed = disconnection.retry == nil
        if let failure = disconnection.failure {
            self.connectionRefusal = failure.isAboutWhoWeAre ? failure : nil
        }
        var actions: [Action] = []
        for id in self.assets.keys {
            actions += self.closeRecords(of: id, at: moment)
            self.assets[id]?.connectionLost()
            self.timers.remove(.announce(id))
        }
        return [.connectionChanged(disconnection)] + actions + self.states(reason: disconnection.reason, at: moment)
    }

    private mutating func subscribed(
        _ token: TransportToken, _ refusals: [TrackingError?], at moment: Moment
    ) -> [Action] {
        guard let purpose = self.outstanding.removeValue(forKey: token) else { return [] }
        switch purpose {
        case .all(let ids):
            return ids.enumerated().flatMap { index, id -> [Action] in
                let count = self.filters(id).count
                let refusal = refusals.dropFirst(index * count).prefix(count).compactMap { $0 }.first
                return refusal.map { self.refused(id, $0, at: moment) } ?? []
            }
        case .settle(let ids, let left):
            guard self.session.settled(now: moment.now) else { return self.takenOver(at: moment) }
            let paths = left.filter { self.assets[$0] == nil }.map {
                self.configuration.topicRoot.path(.publishers($0))
            }
            return self.settled(ids, at: moment) + (paths.isEmpty ? [] : [.send([.unsubscribe(paths)])])
        case .adding(let id):
            if let refusal = refusals.compactMap({ $0 }).first { return self.refused(id, refusal, at: moment) }
            return [self.subscribe([.topic(.liveness(self.session.client))], .entering(id))]
        case .entering(let id):
            return self.session.isAnnounced ? self.enter(id, at: moment) : []
        case .commands(let ids):
            return zip(ids, refusals).flatMap { self.commandsAnswered(of: $0, $1, at: moment) }
        case .update, .raw, .history, .presence, .resolution, .departure, .clearing, .other:
            return []
        }
    }

    /// The own topic was read: liveness, presences, then what is not known to be cleared.
    private mutating func settled(_ ids: [TrackableID], at moment: Moment) -> [Action] {
        var actions = self.sayAlive()
        // What was added since is entered when its own subscription is answered.
        for id in ids {
            // Whoever claims it since later was asked after as soon as that was read; the answer comes before this one.
            actions +=
                self.isClaimed(id)
                ? [self.subscribe([.topic(.liveness(self.session.client))], .entering(id))] : self.enter(id, at: moment)
        }
        // What is said again stands rightly.
        return actions + self.clearAgain()
    }

    /// What was let go without a connection, and may be another publisher's by now: then what stands there is not to be touched.
    private var leftBehind: [TrackableID] {
        let cleared = self.unclear.keys.compactMap { if case .resolution(let id) = $0 { id } else { nil } }
        return Set(cleared).union(self.departures.keys).filter { self.assets[$0] == nil }
    }

    private mutating func takenOver(at moment: Moment) -> [Action] {
        let error = TrackingError(
            .takenOver,
            "another program uses the client id '\(self.session.client)'; give each program a client id of its own")
        for id in self.assets.keys { self.assets[id]?.failure = error }
        return self.states(reason: error, at: moment) + [.send([.close(within: .zero)])]
    }

    private mutating func published(_ token: TransportToken, _ refusal: TrackingError?, at moment: Moment) -> [Action] {
        guard let purpose = self.outstanding.removeValue(forKey: token) else { return [] }
        switch purpose {
        case .update(let id):
            guard let refusal else {
                self.assets[id]?.isUpdateAcknowledged = true
                self.assets[id]?.lastWait = nil
                self.lastAcknowledged = moment.wall
                return self.updateTaken(of: id, at: moment) + self.state(of: id, reason: nil, at: moment)
            }
            if refusal.isContentRefusal { return self.updateRefused(of: id, refusal, at: moment) }
            // The connection stands: it did not end on the batch that is on its way.
            let actions = self.closeRecords(of: id, isOrderly: true, at: moment)
            self.assets[id]?.lane.failed()
            return actions + self.refused(id, refusal, at: moment)
        case .history(let id):
            if refusal == nil { self.batchTaken(of: id, at: moment) }
            let actions = self.askSpool(of: id, at: moment) { $0.answered(refusal, now: moment.now) }
            // Where nothing is sent live, a batch proves what an update does elsewhere.
            guard refusal == nil, !self.configuration.sendsLive else { return actions }
            self.assets[id]?.isUpdateAcknowledged = true
            return actions + self.state(of: id, reason: nil, at: moment)
        case .raw(let id):
            // A refused raw lane is no reason to hold back the position itself.
            self.assets[id]?.rawLane?.acknowledged()
            return []
        case .presence(let id):
            return refusal.map { self.refused(id, $0, at: moment) } ?? []
        case .resolution(let id):
            guard let underWay = self.assets[id]?.resolutionsUnderWay else { return [] }
            self.assets[id]?.resolutionsUnderWay = max(0, underWay - 1)
            self.answered(.resolution, of: id, isRefused: refusal != nil, at: moment)
            return self.resolutionMayHaveChanged(id, at: moment)
        case .departure(let id):
            return self.departureTaken(of: id)
        case .clearing(let topic):
            if self.unclear[topic] == token { self.unclear[topic] = nil }
            return []
        case .all, .settle, .adding, .entering, .commands, .other:
            return []
        }
    }

    /// The broker takes nothing of this size, or not what it says: it is tried without those that ride along, and they go on the
    /// recording lane, which finds out which record it is. The trackable is not held back: its next position may be taken.
    private mutating func updateRefused(
        of id: TrackableID, _ error: TrackingError, at moment: Moment
    ) -> [Action] {
        let seqs = self.assets[id]?.lane.seqsInFlight ?? SeqSet()
        let goesAgain = self.assets[id]?.lane.refusedForContent() == true
        let actions = self.askSpool(of: id, at: moment) { $0.failedLive(seqs, now: moment.now) }
        return goesAgain
            ? actions : actions + [.badMessage(topic: self.configuration.topicRoot.path(.location(id)), error)]
    }

    /// The broker's rules forbid this trackable: it is tried again later, and only its state tells. A name it can not take it
    /// will never take.
    private mutating func refused(_ id: TrackableID, _ error: TrackingError, at moment: Moment) -> [Action] {
        guard !error.isNameRefusal else {
            self.assets[id]?.failure = error
            self.timers.remove(.silence(id))
            return self.states(reason: error, at: moment)
        }
        self.assets[id]?.refused(error, now: moment.now)
        if let retryAt = self.assets[id]?.refusal?.retryAt { self.timers.set(.retry(id), deadline: retryAt) }
        return self.states(reason: error, at: moment)
    }

    // MARK: - Receiving

    private mutating func received(_ message: IncomingMessage, at moment: Moment) -> [Action] {
        do throws(TrackingError) {
            guard let topic = self.configuration.topicRoot.topic(message.topic) else { return [] }
            return try self.received(topic, message, at: moment)
        } catch {
            self.badMessages += 1
            return [.badMessage(topic: message.topic, error)]
        }
    }

    private mutating func received(
        _ topic: Topic, _ message: IncomingMessage, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        let payload = message.payload.isEmpty ? nil : message.payload
        switch topic {
        case .liveness(let client):
            let liveness = try payload.map { (bytes) throws(TrackingError) in try MessageCodec.decodeLiveness(bytes) }
            return self.heard(liveness, from: client, isRetained: message.isRetained, at: moment)
        case .publisher(let id, let client):
            let presence = try Self.presence(payload, .publisher)
            return self.heard(presence, .publisher, on: id, from: client, isRetained: message.isRetained, at: moment)
        case .subscriber(let id, let client):
            let presence = try Self.presence(payload, .subscriber)
            return self.heard(presence, .subscriber, on: id, from: client, isRetained: message.isRetained, at: moment)
        case .request(let id, let client):
            return try self.received(request: message.payload, on: id, by: client, at: moment)
        case .ack(let id, let recorder):
            return try self.acknowledged(by: recorder, of: id, payload, isRetained: message.isRetained, at: moment)
        case .command(let id):
            return message.isRetained ? [] : try self.commanded(payload, message.properties, on: id, at: moment)
        case .location(let id):
            if payload == nil { self.positionCleared(of: id) }
            return []
        case .raw, .history, .resolution, .trip, .event, .answer:
            return []
        }
    }

    static func presence(_ payload: ArraySlice<UInt8>?, _ kind: MemberKind) throws(TrackingError) -> Presence? {
        guard let payload else { return nil }
        let presence = try MessageCodec.decodePresence(payload)
        guard presence.kind == kind else {
            throw TrackingError(
                .invalidPayload, "type is \(presence.kind.rawValue), but the topic is that of a \(kind.rawValue)")
        }
        return presence
    }

    // MARK: - Sending

    mutating func subscribe(_ filters: [TopicFilter], _ purpose: Purpose) -> Action {
        let paths = filters.map { self.configuration.topicRoot.path($0) }
        return .send([.subscribe(paths, self.token(purpose))])
    }

    /// The own liveness, where there is anything to be alive for.
    mutating func sayAlive() -> [Action] {
        guard self.configuration.isOn else { return [] }
        return [self.publish(.liveness(self.session.client), MessageCodec.encode(self.session.birth))]
    }

    mutating func publish(_ topic: Topic, _ payload: [UInt8], _ purpose: Purpose = .other) -> Action {
        let message = OutgoingMessage(
            topic: self.configuration.topicRoot.path(topic), payload: payload, isRetained: topic.isRetained)
        let token = self.token(payload.isEmpty ? .clearing(topic) : purpose)
        if payload.isEmpty || !self.unclear.isEmpty { self.unclear[topic] = payload.isEmpty ? token : nil }
        return .send([.publish(message, token)])
    }

    /// Clears what stands there, on the next connection where nothing can be said now.
    mutating func clear(_ topic: Topic) -> [Action] {
        guard self.session.isAnnounced else {
            self.unclear[topic] = 0
            return []
        }
        return [self.publish(topic, [])]
    }

    /// What is to be cleared and not known to be. By name: so a presence goes before the resolution.
    private mutating func clearAgain() -> [Action] {
        let topics = self.unclear.keys.map { (topic: $0, path: self.configuration.topicRoot.path($0)) }
        return topics.sorted { $0.path < $1.path }.flatMap { self.clear($0.topic) }
    }

    /// What a publisher listens to about one of its trackables.
    func filters(_ id: TrackableID) -> [TopicFilter] {
        let recording = self.configuration.recording
        let named = recording.recorders.sorted().map { TopicFilter.topic(.ack(id, $0)) }
        let acknowledgements = named.isEmpty && recording.unnamedRecorder != .none ? [.acks(id)] : named
        return [.publishers(id), .subscribers(id), .requests(id)] + acknowledgements
    }
}
