import TrackingCore

/// The events of the broker connection: connections, answers to subscriptions and publishes, and received messages.
extension PublisherStateMachine {
    mutating func happened(_ event: TransportEvent, at moment: Moment) -> [Action] {
        switch event {
        case .connected(let connection, _, let broker): return self.connected(connection, to: broker, at: moment)
        case .disconnected(let disconnection): return self.disconnected(disconnection, at: moment)
        case .received(let message): return self.received(message, at: moment)
        case .published(let token, let refusal): return self.published(token, refusal, at: moment)
        case .subscribed(let token, let refusals): return self.subscribed(token, refusals, at: moment)
        }
    }

    // MARK: - Connecting

    /// Handles a new connection: subscribes to the topics of all trackables, and last to the topic of the publisher's
    /// own liveness.
    ///
    /// The broker answers subscriptions in order. So the last answer follows all retained messages, and announcements
    /// wait for it.
    private mutating func connected(_ connection: Int, to broker: Int, at moment: Moment) -> [Action] {
        self.link.connected(at: moment.wall)
        self.member.connected(connection, broker: broker, now: moment.now)
        let ids = self.table.all.filter { $0.failure == nil }.map(\.id)
        let left = self.leftBehind
        let all = ids.flatMap { self.configuration.filters(of: $0) } + self.member.watchedLiveness
        let own = [self.member.ownLiveness]
        // A journey that an operator has set meanwhile is not cleared.
        let journeys = self.unclearedJourneys.map { TopicFilter.topic(.journey($0)) }
        let decided = self.withAll(at: moment) { $0.connected($1) }
        let filters = all + left.map { .publishers($0) } + journeys + own
        return [.connectionChanged(nil), self.subscribe(filters, .connecting(ids))] + decided
            + self.subscribeToCommands(of: Array(self.table.tracked))
            + self.subscribeToClearings(of: Array(self.table.tracked))
            + [self.subscribe(own, .settling(ids, leftTo: left))]
    }

    /// The trackables that this publisher no longer tracks, and whose retained messages may still have to be cleared.
    ///
    /// On each connection, the publisher checks if another publisher tracks such a trackable now. If so, this publisher
    /// must not clear the trackable's messages.
    private var leftBehind: [TrackableID] {
        let resolutions = self.member.uncleared.compactMap { if case .resolution(let id) = $0 { id } else { nil } }
        return Set(resolutions).union(self.table.departed).subtracting(self.table.tracked).map { $0 }
    }

    /// The trackables with a journey to a former destination that is still to be cleared.
    var unclearedJourneys: [TrackableID] {
        self.member.uncleared.compactMap { if case .journey(let id) = $0 { id } else { nil } }
    }

    mutating func disconnected(_ disconnection: Disconnection, at moment: Moment) -> [Action] {
        self.link.disconnected(disconnection, at: moment.wall)
        _ = self.member.disconnected(disconnection)
        for id in self.table.departed { self.table.changeDormant(id) { $0.departure?.isPublished = false } }
        let lost = self.withAll(at: moment) { $0.connectionLost($1) }
        let reason = disconnection.reason
        return [.connectionChanged(disconnection)] + lost
            + self.withAll(at: moment) { $0.reportState(reason: reason, $1) }
    }

    private mutating func subscribed(
        _ token: TransportToken, _ refusals: [TrackingError?], at moment: Moment
    ) -> [Action] {
        switch self.member.subscribed(token) {
        case .connecting(let ids):
            return ids.enumerated().flatMap { index, id -> [Action] in
                let count = self.configuration.filters(of: id).count
                let refusal = refusals.dropFirst(index * count).prefix(count).compactMap { $0 }.first
                return refusal.map { error in self.with(id, at: moment) { $0.rejected(error, $1) } } ?? []
            }
        case .settling(let ids, let left):
            return self.settled(ids, leftTo: left, at: moment)
        case .adding(let id):
            if let refusal = refusals.compactMap({ $0 }).first {
                return self.with(id, at: moment) { $0.rejected(refusal, $1) }
            }
            return [self.subscribe([self.member.ownLiveness], .entering(id))]
        case .entering(let id):
            return self.member.session.isAnnounced ? self.enter(id, at: moment) : []
        case .commands(let ids):
            return zip(ids, refusals).flatMap { id, refusal in
                self.with(id, at: moment) { $0.grantAnswered(.commands, refusal, $1) }
            }
        case .journey(let id):
            let actions = self.with(id, at: moment) { $0.journeySubscribed(refusals, $1) }
            guard refusals.first == .some(nil) else { return actions }
            return actions + [self.subscribe([self.member.ownLiveness], .readingJourney(id))]
        case .readingJourney(let id):
            self.table.change(id) { $0.destination.readRetained() }
            return []
        case .trackable, .other, nil:
            return []
        }
    }

    /// Handles that all retained messages were received after connecting.
    ///
    /// The publisher announces itself and then its trackables. Then it repeats the clearing of messages that the broker
    /// has not confirmed.
    private mutating func settled(
        _ ids: [TrackableID], leftTo left: [TrackableID], at moment: Moment
    ) -> [Action] {
        var actions: [Action] = []
        switch self.member.settled(now: moment.now) {
        case .notConnected: return []
        case .takenOver(let error): return self.takenOver(error, at: moment)
        case .announced(let commands): actions.append(.send(commands))
        }
        // A trackable that was added since is entered when its own subscription is answered.
        for id in ids {
            let others = self.others(on: id)
            // The liveness of a later publisher was subscribed to when its presence was received: its answer comes
            // before this one.
            let (status, session) = (self.table[id]?.status, self.member.session.session)
            if others.presences.contains(where: { status?.isBehind($0, session) == true }) {
                actions.append(self.subscribe([self.member.ownLiveness], .entering(id)))
            } else {
                actions += self.enter(id, at: moment)
            }
        }
        // A topic that was published again is not cleared.
        actions.append(.send(self.member.clearAgain()))
        let filters = left.filter { !self.table.isTracked($0) }.map { TopicFilter.publishers($0) }
        return actions + (filters.isEmpty ? [] : [.send([self.member.unsubscribe(filters)])])
    }

    private mutating func takenOver(_ error: TrackingError, at moment: Moment) -> [Action] {
        self.withAll(at: moment) { $0.failed(error, $1) } + [.send([.close(within: .zero)])]
    }

    /// Announces a trackable to subscribers, after its retained messages were received.
    mutating func enter(_ id: TrackableID, at moment: Moment) -> [Action] {
        let others = self.others(on: id)
        return self.with(id, at: moment) { $0.enter(others, $1) }
    }

    private mutating func published(
        _ token: TransportToken, _ refusal: TrackingError?, at moment: Moment
    ) -> [Action] {
        guard case .role(.trackable(let id, let publication)) = self.member.published(token) else { return [] }
        switch publication {
        case .departure: return self.withDormant(id, at: moment) { $0.endDeparture(of: id) }
        case .other: return []
        case .update, .raw, .history, .presence, .resolution, .journey:
            return self.with(id, at: moment) { $0.answered(publication, refusal, $1) }
        }
    }

    // MARK: - Receiving

    private mutating func received(_ message: IncomingMessage, at moment: Moment) -> [Action] {
        do throws(TrackingError) {
            switch try self.member.received(message, now: moment.now) {
            case .foreign: return []
            case .role(let topic): return try self.received(topic, message, at: moment)
            case .presence(let presence): return self.received(presence, at: moment)
            case .liveness(_, _, let events): return self.handle(events, at: moment)
            case .ownLiveness(let commands):
                guard commands.isEmpty else { return [.send(commands)] }
                return self.withAll(at: moment) { $0.reportState(reason: nil, $1) }
            }
        } catch {
            return self.handle([self.member.skipped(message.topic, error)], at: moment)
        }
    }

    private mutating func received(
        _ topic: Topic, _ message: IncomingMessage, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        let payload = message.payload.isEmpty ? nil : message.payload
        switch topic {
        case .request(let id, let client):
            return try self.received(request: message.payload, on: id, of: client, at: moment)
        case .ack(let id, let recorder):
            // A recorder that has gone cleared its acknowledgement.
            guard let payload else { return [] }
            let acknowledgement = try HistoryCodec.decodeAcknowledgement(payload)
            let isRetained = message.isRetained
            let actions = self.with(id, at: moment) {
                $0.acknowledged(acknowledgement, by: recorder, isRetained: isRetained, $1)
            }
            return actions + (isRetained ? [] : self.drainForRecorder(at: moment))
        case .command(let id):
            guard self.configuration.takesCommands, !message.isRetained, self.table.isTracked(id), let payload else {
                return []
            }
            return try self.commands.received(
                payload, message.properties, on: id, root: self.configuration.topicRoot, at: moment.wall)
        case .location(let id):
            if payload == nil { self.table.change(id) { $0.positionCleared() } }
            return []
        case .journey(let id):
            try self.received(journey: payload, on: id)
            return []
        case .estimate(let id):
            let estimate = try payload.map { (bytes) throws(TrackingError) in try MessageCodec.decodeEstimate(bytes) }
            return self.with(id, at: moment) { $0.estimateReceived(estimate, $1) }
        case .enhanced, .liveness, .publisher, .subscriber, .raw, .history, .resolution, .trip,
            .event, .answer:
            return []
        }
    }

    /// Receives the journey of a trackable; `nil` after it was cleared. A journey that cannot be decoded counts as an
    /// operator's.
    private mutating func received(
        journey payload: ArraySlice<UInt8>?, on id: TrackableID
    ) throws(TrackingError) {
        var retained = DestinationPublishing.Retained.operators
        defer {
            if !retained.isOfPublisher { self.member.abandonClearing(of: .journey(id)) }
            self.table.change(id) { $0.destination.received(retained) }
        }
        retained = try DestinationPublishing.Retained(payload)
    }

    private mutating func received(_ received: ReceivedPresence, at moment: Moment) -> [Action] {
        let (id, presence, session) = (received.trackable, received.presence, self.member.session)
        let isOwn = received.client == session.client
        // The retained messages are another publisher's from now on.
        let isTaken = received.kind == .publisher && presence != nil && !isOwn
        if isTaken { self.member.abandonClearing(of: .resolution(id)) }
        guard self.table.isTracked(id) else {
            return isTaken ? self.withDormant(id, at: moment) { $0.endDeparture(of: id) } : []
        }
        guard isOwn else { return self.handle(self.member.note(received, now: moment.now), at: moment) }
        // A message under one's own client id never counts as another publisher.
        guard received.kind == .publisher, presence?.session == session.session,
            presence?.connection == session.connection
        else { return [] }
        return self.with(id, at: moment) { $0.presenceReceived($1) }
    }

    // MARK: - Members

    /// Handles the events of the state machine that the publisher shares with other members, such as the arrival of a
    /// subscriber. Returns the resulting actions.
    mutating func handle(_ events: [MemberStateMachine<Purpose>.Event], at moment: Moment) -> [Action] {
        events.flatMap { event -> [Action] in
            switch event {
            case .send(let commands): return [.send(commands)]
            case .badMessage(let topic, let error): return [.badMessage(topic: topic, error)]
            case .announcementsDue(let ids): return self.announceAgain(ids, at: moment)
            case .arrived(let member), .changed(let member), .left(let member):
                return self.changed(member, event, at: moment)
            }
        }
    }

    private mutating func changed(
        _ member: Member, _ event: MemberStateMachine<Purpose>.Event, at moment: Moment
    ) -> [Action] {
        let subscriber = SubscriberID(client: member.client, session: member.presence.session)
        return self.with(member.trackable, at: moment) { trackable, context in
            switch (member.presence.kind, event) {
            case (.subscriber, .arrived): return trackable.arrived(subscriber, context)
            case (.subscriber, .left): return trackable.left(subscriber, context)
            // It connected again, to a broker that may have lost the retained messages.
            case (.subscriber, _): return [.announceSoon]
            case (.publisher, .left): return trackable.status.isSending ? [.announceSoon] : []
            case (.publisher, _):
                let superseded = trackable.compareOwner(member, context)
                // Its retained messages are replaced, as long as it does not know this publisher.
                return superseded.isEmpty && trackable.status.isSending ? [.announceSoon] : superseded
            }
        }
    }

    /// Schedules another announcement of a trackable within a second, for example because a subscriber arrived.
    mutating func announceSoon(_ id: TrackableID, at moment: Moment) {
        guard var random = self.table[id]?.random else { return }
        self.member.announceSoon(id, now: moment.now, using: &random)
        self.table.change(id) { $0.random = random }
    }

    private mutating func announceAgain(_ ids: [TrackableID], at moment: Moment) -> [Action] {
        let ids = ids.filter { self.table[$0]?.status.isSending == true }
        guard !ids.isEmpty else { return [] }
        return [.send(self.member.publishLiveness())]
            + ids.flatMap { id in self.with(id, at: moment) { $0.announce($1) } }
    }

    /// The other publishers of a trackable, as far as their presence messages show.
    func others(on id: TrackableID) -> OtherPublishers {
        let presence = self.member.presence
        return OtherPublishers(presences: presence.standingPublishers(on: id), owner: presence.owner(of: id))
    }

    // MARK: - Requests

    /// Receives a subscriber's request for a resolution of a trackable.
    ///
    /// If the client sends requests too fast, only its latest request waits and takes effect later.
    ///
    /// - Parameter payload: The encoded request; empty if the client withdraws its request.
    /// - Throws: `payloadTooLarge` above ``RequestLimiter/maximumBytes``; `invalidPayload` for an invalid request.
    private mutating func received(
        request payload: ArraySlice<UInt8>, on id: TrackableID, of client: ClientID, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        guard self.table.isTracked(id) else { return [] }
        guard payload.count <= RequestLimiter.maximumBytes else {
            throw TrackingError(
                .payloadTooLarge,
                "cannot read a resolution request of \(payload.count) bytes: the limit is \(RequestLimiter.maximumBytes) bytes"
            )
        }
        self.table.change(id) { $0.requests.confirm(client) }
        let sender = RequestLimiter.Sender(trackable: id, client: client)
        guard self.requestLimits.received(payload, from: sender, now: moment.now) else { return [] }
        return try self.requested(payload, on: id, by: client, at: moment)
    }

    /// Applies the resolution requests that had to wait because their clients sent requests too fast.
    mutating func waitingRequestsDue(at moment: Moment) -> [Action] {
        var actions: [Action] = []
        for waiting in self.requestLimits.takeDue(now: moment.now) {
            let (id, client) = (waiting.sender.trackable, waiting.sender.client)
            do throws(TrackingError) {
                actions += try self.requested(waiting.payload[...], on: id, by: client, at: moment)
            } catch {
                let topic = self.configuration.topicRoot.path(.request(id, client))
                actions += self.handle([self.member.skipped(topic, error)], at: moment)
            }
        }
        return actions
    }

    private mutating func requested(
        _ payload: ArraySlice<UInt8>, on id: TrackableID, by client: ClientID, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        guard !payload.isEmpty else { return self.with(id, at: moment) { $0.dropRequests(of: client, $1) } }
        let request = try MessageCodec.decodeRequest(payload)
        let presence = self.member.presence
        return self.with(id, at: moment) { $0.requested(request, by: client, presence, $1) }
    }

    // MARK: - Publishing

    /// Returns the action that subscribes to these topic filters. `purpose` decides how the broker's answer is handled.
    mutating func subscribe(_ filters: [TopicFilter], _ purpose: Purpose) -> Action {
        .send([self.member.subscribe(filters, purpose)])
    }

    /// Clears this publisher's retained presence of a trackable.
    ///
    /// The retained resolution and the journey to the destination are cleared too, unless other publishers have a
    /// presence on the trackable.
    mutating func withdraw(_ id: TrackableID) -> Action {
        var commands = self.member.clear(.publisher(id, self.member.client))
        if self.member.presence.standingPublishers(on: id).isEmpty {
            commands += self.member.clear(.resolution(id))
            if self.table[id]?.destination.isOwn == true { commands += self.member.clear(.journey(id)) }
        }
        return .send(commands)
    }

    /// Publishes the goodbye: the retained liveness message that this client is offline.
    ///
    /// If the client id is never used again, the liveness message is cleared instead.
    mutating func publishGoodbye() -> Action {
        .send([self.member.publishGoodbye(isClientRandom: self.configuration.isClientRandom)])
    }

    /// Subscribes to the command topics of these trackables, if the configuration accepts commands.
    mutating func subscribeToCommands(of ids: [TrackableID]) -> [Action] {
        guard self.configuration.takesCommands, !ids.isEmpty else { return [] }
        return [self.subscribe(ids.map { .topic(.command($0)) }, .commands(ids))]
    }

    /// Subscribes to the journey of a trackable and to the estimates of its arrivals.
    mutating func subscribeToJourney(of id: TrackableID) -> Action {
        self.subscribe(self.configuration.journeyFilters(of: id), .journey(id))
    }

    /// Unsubscribes from the journey of a trackable and from the estimates of its arrivals.
    func unsubscribeFromJourney(of id: TrackableID) -> Action {
        .send([self.member.unsubscribe(self.configuration.journeyFilters(of: id))])
    }

    /// Subscribes to the position topics of those trackables whose records another system supplies.
    ///
    /// The subscription shows when somebody clears a retained position, for example with the command `godwit erase`. If
    /// the broker rejects the subscription, such a clearing goes unnoticed.
    mutating func subscribeToClearings(of ids: [TrackableID]) -> [Action] {
        guard self.member.session.isConnected else { return [] }
        let remote = ids.filter { self.table[$0]?.feed.isRemote == true }
        guard !remote.isEmpty else { return [] }
        return [self.subscribe(remote.map { .topic(.location($0)) }, .other)]
    }
}
