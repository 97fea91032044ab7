import TrackingCore

/// The messages of the connection.
extension PublisherStateMachine {
    mutating func happened(_ event: TransportEvent, at moment: Moment) -> [Action] {
        switch event {
        case .connected(let connection, _): return self.connected(connection, at: moment)
        case .disconnected(let disconnection): return self.disconnected(disconnection, at: moment)
        case .received(let message): return self.received(message, at: moment)
        case .published(let token, let refusal): return self.published(token, refusal, at: moment)
        case .subscribed(let token, let refusals): return self.subscribed(token, refusals, at: moment)
        }
    }

    // MARK: - Connecting

    /// A connection was made. Brokers answer a subscription before they send its retained messages, and one
    /// subscription after the other: the answer to the last one follows every retained message of the first.
    private mutating func connected(_ connection: Int, at moment: Moment) -> [Action] {
        self.connection.connected(connection, at: moment)
        let ids = self.table.all.filter { $0.failure == nil }.map(\.id)
        let left = self.leftBehind
        let all = ids.flatMap { self.filters(of: $0) } + self.connection.livenessFilters
        let own = [self.connection.ownLiveness]
        _ = self.withAll(at: moment) { trackable, context in
            trackable.connected(context)
            return []
        }
        return [
            .connectionChanged(nil),
            self.connection.subscribe(all + left.map { .publishers($0) } + own, .connecting(ids)),
        ] + self.subscribeToCommands(of: Array(self.table.tracked))
            + self.subscribeToClearings(of: Array(self.table.tracked))
            + [self.connection.subscribe(own, .settling(ids, leftTo: left))]
    }

    /// The trackables that stopped being tracked without a connection. Another publisher may track them by now, and
    /// its retained messages are not to be touched.
    private var leftBehind: [TrackableID] {
        Set(self.connection.unclearResolutions).union(self.departed).subtracting(self.table.tracked).map { $0 }
    }

    mutating func disconnected(_ disconnection: Disconnection, at moment: Moment) -> [Action] {
        self.connection.disconnected(disconnection, at: moment)
        for id in self.departed { self.table.changeDormant(id) { $0.departure?.isPublished = false } }
        let lost = self.withAll(at: moment) { $0.connectionLost($1) }
        let reason = disconnection.reason
        return [.connectionChanged(disconnection)] + lost
            + self.withAll(at: moment) { $0.reportState(reason: reason, $1) }
    }

    private mutating func subscribed(
        _ token: TransportToken, _ refusals: [TrackingError?], at moment: Moment
    ) -> [Action] {
        switch self.connection.answered(token) {
        case .connecting(let ids):
            return ids.enumerated().flatMap { index, id -> [Action] in
                let count = self.filters(of: id).count
                let refusal = refusals.dropFirst(index * count).prefix(count).compactMap { $0 }.first
                return refusal.map { error in self.with(id, at: moment) { $0.rejected(error, $1) } } ?? []
            }
        case .settling(let ids, let left):
            return self.settled(ids, leftTo: left, at: moment)
        case .adding(let id):
            if let refusal = refusals.compactMap({ $0 }).first {
                return self.with(id, at: moment) { $0.rejected(refusal, $1) }
            }
            return [self.connection.subscribe([self.connection.ownLiveness], .entering(id))]
        case .entering(let id):
            return self.connection.session.isAnnounced ? self.enter(id, at: moment) : []
        case .commands(let ids):
            return zip(ids, refusals).flatMap { id, refusal in
                self.with(id, at: moment) { $0.grantAnswered(.commands, refusal, $1) }
            }
        case .trackable, .clearing, .other, nil:
            return []
        }
    }

    /// The retained messages were received: the publisher announces itself, then its trackables, then clears the
    /// messages that were not known to be cleared.
    private mutating func settled(
        _ ids: [TrackableID], leftTo left: [TrackableID], at moment: Moment
    ) -> [Action] {
        guard self.connection.session.settled(now: moment.now) else { return self.takenOver(at: moment) }
        var actions = self.publishLiveness()
        // A trackable that was added since is entered when its own subscription is answered.
        for id in ids {
            let others = self.connection.others(on: id)
            // The liveness of a later publisher was subscribed to when its presence was received: its answer comes
            // before this one.
            if self.table[id]?.isClaimed(by: others, self.context(at: moment)) == true {
                actions.append(self.connection.subscribe([self.connection.ownLiveness], .entering(id)))
            } else {
                actions += self.enter(id, at: moment)
            }
        }
        // A topic that was published again is not cleared.
        actions += self.connection.clearAgain()
        let filters = left.filter { !self.table.isTracked($0) }.map { TopicFilter.publishers($0) }
        return actions + (filters.isEmpty ? [] : [self.connection.unsubscribe(filters)])
    }

    private mutating func takenOver(at moment: Moment) -> [Action] {
        let error = TrackingError(
            .takenOver,
            "another program uses the client id '\(self.connection.session.client)'; "
                + "give each program a client id of its own")
        return self.withAll(at: moment) { $0.failed(error, $1) } + [.send([.close(within: .zero)])]
    }

    /// Announces a trackable, whose retained messages were received.
    mutating func enter(_ id: TrackableID, at moment: Moment) -> [Action] {
        let others = self.connection.others(on: id)
        return self.with(id, at: moment) { $0.enter(others, $1) }
    }

    private mutating func published(
        _ token: TransportToken, _ refusal: TrackingError?, at moment: Moment
    ) -> [Action] {
        switch self.connection.answered(token) {
        case .trackable(let id, .departure):
            return self.withDormant(id, at: moment) { $0.endDeparture(of: id) }
        case .trackable(_, .other): return []
        case .trackable(let id, let publication):
            return self.with(id, at: moment) { $0.answered(publication, refusal, $1) }
        case .clearing(let topic):
            self.connection.cleared(topic, token)
            return []
        case .connecting, .settling, .adding, .entering, .commands, .other, nil:
            return []
        }
    }

    // MARK: - Receiving

    private mutating func received(_ message: IncomingMessage, at moment: Moment) -> [Action] {
        do throws(TrackingError) {
            guard let topic = self.connection.topic(of: message) else { return [] }
            return try self.received(topic, message, at: moment)
        } catch {
            self.connection.badMessages += 1
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
            return self.received(liveness, of: client, isRetained: message.isRetained, at: moment)
        case .publisher(let id, let client):
            let presence = try PublisherConnection.presence(payload, .publisher)
            return self.received(
                presence, .publisher, on: id, of: client, isRetained: message.isRetained, at: moment)
        case .subscriber(let id, let client):
            let presence = try PublisherConnection.presence(payload, .subscriber)
            return self.received(
                presence, .subscriber, on: id, of: client, isRetained: message.isRetained, at: moment)
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
            return message.isRetained
                ? [] : try self.received(command: payload, message.properties, on: id, at: moment)
        case .location(let id):
            guard payload == nil else { return [] }
            return self.with(id, at: moment) { trackable, _ in
                trackable.positionCleared()
                return []
            }
        case .raw, .history, .resolution, .trip, .event, .answer:
            return []
        }
    }

    private mutating func received(
        _ liveness: Liveness?, of client: ClientID, isRetained: Bool, at moment: Moment
    ) -> [Action] {
        guard client == self.connection.session.client else {
            let changes = self.connection.presence.received(
                liveness, from: client, isRetained: isRetained, now: moment.now)
            return self.apply(changes, at: moment)
        }
        guard self.connection.session.receivedOwn(liveness, isRetained: isRetained) else {
            return self.withAll(at: moment) { $0.reportState(reason: nil, $1) }
        }
        return self.publishLiveness()
    }

    private mutating func received(
        _ presence: Presence?, _ kind: MemberKind, on id: TrackableID, of client: ClientID, isRetained: Bool,
        at moment: Moment
    ) -> [Action] {
        let isOwn = client == self.connection.session.client
        // The retained messages are another publisher's from now on.
        let isTaken = kind == .publisher && presence != nil && !isOwn
        if isTaken { self.connection.leaveResolution(of: id) }
        guard self.table.isTracked(id) else {
            return isTaken ? self.withDormant(id, at: moment) { $0.endDeparture(of: id) } : []
        }
        guard isOwn else {
            let changes = self.connection.presence.received(
                presence, kind: kind, on: id, from: client, isRetained: isRetained, now: moment.now)
            return self.apply(changes, at: moment)
        }
        // A message under one's own client id never counts as another publisher.
        guard kind == .publisher, let presence, self.connection.isOwn(presence) else { return [] }
        return self.with(id, at: moment) { $0.presenceReceived($1) }
    }

    // MARK: - Members

    /// Carries out changes of the members' presences.
    mutating func apply(_ changes: [PresenceStateMachine.Change], at moment: Moment) -> [Action] {
        changes.flatMap { change -> [Action] in
            switch change {
            case .watch(let client): return [self.connection.watch(client, true)]
            case .unwatch(let client): return [self.connection.watch(client, false)]
            case .full(let client):
                let error = TrackingError(
                    .refused, "cannot count '\(client)' as present: there are too many members. Restart some of them.")
                return [.badMessage(topic: self.configuration.topicRoot.path(.liveness(client)), error)]
            case .arrived(let member), .changed(let member), .left(let member):
                return member.presence.kind == .publisher
                    ? self.publisherChanged(change, member, at: moment)
                    : self.subscriberChanged(change, member, at: moment)
            }
        }
    }

    private mutating func publisherChanged(
        _ change: PresenceStateMachine.Change, _ member: Member, at moment: Moment
    ) -> [Action] {
        let hasLeft = if case .left = change { true } else { false }
        return self.with(member.trackable, at: moment) { trackable, context in
            let superseded = hasLeft ? [] : trackable.compareOwner(member, context)
            guard superseded.isEmpty else { return superseded }
            // Its retained messages are replaced, as long as it does not know this publisher.
            if trackable.status.isSending { trackable.announceSoon(context) }
            return []
        }
    }

    private mutating func subscriberChanged(
        _ change: PresenceStateMachine.Change, _ member: Member, at moment: Moment
    ) -> [Action] {
        let subscriber = SubscriberID(client: member.client, session: member.presence.session)
        return self.with(member.trackable, at: moment) { trackable, context in
            switch change {
            case .arrived: return trackable.arrived(subscriber, context)
            case .left: return trackable.left(subscriber, context)
            default:
                // It connected again, to a broker that may have lost the retained messages.
                trackable.announceSoon(context)
                return []
            }
        }
    }

    // MARK: - Requests

    /// Receives a request. Above the limit of its client, the latest request waits, and is decoded when it takes
    /// effect.
    ///
    /// - Parameter payload: The request; empty where the client drops it.
    /// - Throws: `payloadTooLarge` above ``RequestLimiter/maximumBytes``, `invalidPayload` that names the member.
    private mutating func received(
        request payload: ArraySlice<UInt8>, on id: TrackableID, of client: ClientID, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        guard self.table.isTracked(id) else { return [] }
        guard payload.count <= RequestLimiter.maximumBytes else {
            throw TrackingError(
                .payloadTooLarge,
                "a resolution request of \(payload.count) bytes is above the limit of \(RequestLimiter.maximumBytes) bytes"
            )
        }
        self.table.change(id) { $0.requests.confirm(client) }
        let sender = RequestLimiter.Sender(trackable: id, client: client)
        guard self.requestLimits.received(payload, from: sender, now: moment.now) else { return [] }
        return try self.requested(payload, on: id, by: client, at: moment)
    }

    /// Puts waiting requests into effect.
    mutating func waitingRequestsDue(at moment: Moment) -> [Action] {
        var actions: [Action] = []
        for waiting in self.requestLimits.takeDue(now: moment.now) {
            let (id, client) = (waiting.sender.trackable, waiting.sender.client)
            do throws(TrackingError) {
                actions += try self.requested(waiting.payload[...], on: id, by: client, at: moment)
            } catch {
                self.connection.badMessages += 1
                actions.append(.badMessage(topic: self.configuration.topicRoot.path(.request(id, client)), error))
            }
        }
        return actions
    }

    private mutating func requested(
        _ payload: ArraySlice<UInt8>, on id: TrackableID, by client: ClientID, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        guard !payload.isEmpty else { return self.with(id, at: moment) { $0.dropRequests(of: client, $1) } }
        let request = try MessageCodec.decodeRequest(payload)
        let presence = self.connection.presence
        return self.with(id, at: moment) { $0.requested(request, by: client, presence, $1) }
    }

    /// Receives a command: each is carried out once, and none that is too late.
    private mutating func received(
        command payload: ArraySlice<UInt8>?, _ properties: MessageProperties, on id: TrackableID,
        at moment: Moment
    ) throws(TrackingError) -> [Action] {
        guard self.configuration.takesCommands, self.table.isTracked(id), let payload else { return [] }
        let command = try CommandCodec.decode(payload)
        guard self.gate.consider(command, now: moment.wall) == .take else { return [] }
        let topic = properties.responseTopic.flatMap {
            self.configuration.topicRoot.isForAnswers(of: id, $0) ? $0 : nil
        }
        let received = ReceivedCommand(
            trackable: id, command: command, responseTopic: topic, correlationData: properties.correlationData)
        return [.log(id, .keep(Self.commandsKey, self.gate.kept)), .commanded(received)]
    }

    // MARK: - Publishing

    /// Publishes the own liveness while the publisher is on.
    mutating func publishLiveness() -> [Action] {
        self.configuration.isOn ? [self.connection.publishLiveness()] : []
    }

    /// Withdraws the own liveness.
    mutating func publishGoodbye() -> Action {
        self.connection.publishGoodbye(isCleared: self.configuration.isClientRandom)
    }

    /// The filters of a publisher for one of its trackables.
    func filters(of id: TrackableID) -> [TopicFilter] {
        let recording = self.configuration.recording
        let named = recording.recorders.sorted().map { TopicFilter.topic(.ack(id, $0)) }
        let acknowledgements = named.isEmpty && recording.unnamedRecorder != .none ? [.acks(id)] : named
        return [.publishers(id), .subscribers(id), .requests(id)] + acknowledgements
    }

    /// Subscribes to the command topics, where commands are accepted.
    mutating func subscribeToCommands(of ids: [TrackableID]) -> [Action] {
        guard self.configuration.takesCommands, !ids.isEmpty else { return [] }
        return [self.connection.subscribe(ids.map { .topic(.command($0)) }, .commands(ids))]
    }

    /// Subscribes to the positions of trackables with a remote source. The command `godwit erase`, for example, clears
    /// them. If the broker rejects the subscription, a clearing is not noticed.
    mutating func subscribeToClearings(of ids: [TrackableID]) -> [Action] {
        guard self.connection.session.isConnected else { return [] }
        let remote = ids.filter { self.table[$0]?.feed.isRemote == true }
        guard !remote.isEmpty else { return [] }
        return [self.connection.subscribe(remote.map { .topic(.location($0)) }, .other)]
    }
}
