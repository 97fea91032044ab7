import TrackingCore

/// What is said: liveness, and acknowledgements.
extension RecorderStateMachine {
    mutating func voice(_ event: TransportEvent, at moment: Moment) -> [Action] {
        switch event {
        case .connected(let connection, _):
            self.session.connected(connection: connection)
            self.isRefusalTold = false
            self.isClearingRefusalTold = false
            self.dropped = nil
            self.housekeeper?.connected(now: moment.now)
            let own = self.configuration.topicRoot.path(.liveness(self.session.client))
            // Mosquitto answers before it sends what stands; the second answer comes behind that.
            return [
                .tell(.voice(nil)), .voice([.subscribe([own], 1), .subscribe([own], 2)]),
                .voice([.subscribe([RecorderConfiguration.dropCount], 3)]),
            ]
        case .disconnected(let disconnection):
            self.session.disconnected()
            self.housekeeper?.disconnected(now: moment.now)
            (self.clearing, self.cleared) = ([], 0)
            self.isVoiceOver = disconnection.retry == nil
            // The last one of each.
            for (_, (id, acknowledgement)) in self.said.sorted(by: { $0.key > $1.key }) where self.owed[id] == nil {
                self.owed[id] = acknowledgement
            }
            self.said = [:]
            return [.tell(.voice(disconnection))]
        case .received(let message) where message.topic == RecorderConfiguration.dropCount:
            guard let count = Int(String(decoding: message.payload.prefix(20), as: UTF8.self)) else { return [] }
            let more = count - (self.dropped ?? count)
            self.dropped = count
            return more > 0 ? [.tell(.brokerDropped(more))] : []
        case .received(let message):
            self.housekeeper?.heard(message, now: moment.now)
            guard message.topic == self.configuration.topicRoot.path(.liveness(self.session.client)) else { return [] }
            let liveness = message.payload.isEmpty ? nil : try? MessageCodec.decodeLiveness(message.payload)
            return self.session.heardOwn(liveness, isRetained: message.isRetained) ? self.sayBirth() : []
        case .subscribed(let token, let refusals):
            if token == 4 { return self.hearingAnswered(refusals.lazy.compactMap(\.self).first, now: moment.now) }
            guard token == 2 else { return [] }
            guard self.session.settled(now: moment.now) else { return self.takenOver(at: moment) }
            // Behind its own liveness, so that it hears of itself what it has just said.
            let hearing = self.housekeeper.map { [Action.voice([.subscribe($0.filters, 4)])] } ?? []
            return self.sayBirth() + self.sayAll() + hearing
        case .published(let token, let refusal):
            if self.clearing.remove(token) != nil { return self.clearingAnswered(refusal) }
            guard let (id, _) = self.said.removeValue(forKey: token), let refusal, !self.isRefusalTold else {
                return []
            }
            self.isRefusalTold = true
            return [.tell(.acknowledgementRefused(id, refusal))]
        }
    }

    private mutating func takenOver(at moment: Moment) -> [Action] {
        guard case .takenOver = self.session.phase else { return [] }
        let error = TrackingError(
            .takenOver,
            "another program uses the client id '\(self.session.client)'; give each recorder a name of its own")
        return self.fail(error, at: moment)
    }

    // MARK: - What others left behind

    mutating func clearAbandoned(now: MonotonicTime) -> [Action] {
        guard self.session.isAnnounced, let topics = self.housekeeper?.abandoned(now: now), !topics.isEmpty else {
            return []
        }
        let commands = topics.map { topic in
            self.lastToken += 1
            self.clearing.insert(self.lastToken)
            return TransportCommand.publish(
                OutgoingMessage(topic: topic, payload: [], isRetained: true), self.lastToken)
        }
        return [.voice(commands)]
    }

    /// What the broker took is told once all of it is answered.
    private mutating func clearingAnswered(_ refusal: TrackingError?) -> [Action] {
        if refusal == nil { self.cleared += 1 }
        guard self.clearing.isEmpty, self.cleared > 0 else { return self.clearingRefused(refusal) }
        defer { self.cleared = 0 }
        return [.tell(.cleared(self.cleared))] + self.clearingRefused(refusal)
    }

    /// Who is not heard is not gone: where the broker refuses to tell, nothing is cleared.
    private mutating func hearingAnswered(_ refusal: TrackingError?, now: MonotonicTime) -> [Action] {
        if refusal != nil { self.housekeeper?.disconnected(now: now) }
        return self.clearingRefused(refusal)
    }

    private mutating func clearingRefused(_ refusal: TrackingError?) -> [Action] {
        guard let refusal, !self.isClearingRefusalTold else { return [] }
        self.isClearingRefusalTold = true
        return [.tell(.clearingRefused(refusal))]
    }

    // MARK: - Acknowledgements

    /// These are durable. What nobody waits for is said a little later, together; not in a group, where it could be lower by
    /// then than what another has said.
    mutating func acknowledge(
        _ acknowledgements: [TrackableID: Acknowledgement], awaited: Set<TrackableID>, now: MonotonicTime
    ) -> [Action] {
        var commands: [TransportCommand] = []
        for (id, acknowledgement) in acknowledgements where awaited.contains(id) || !acknowledgement.streams.isEmpty {
            if awaited.contains(id) || self.configuration.group != nil, self.session.isAnnounced {
                self.owed[id] = nil
                commands.append(self.say(id, acknowledgement))
            } else {
                self.owed[id] = acknowledgement
            }
        }
        if !self.owed.isEmpty, self.owedUntil == nil, self.session.isAnnounced {
            self.owedUntil = now.advanced(by: RecorderConfiguration.acknowledgementPause)
        }
        return commands.isEmpty ? [] : [.voice(commands)]
    }

    /// Says everything that is owed, where there is somebody to say it to.
    mutating func sayAll() -> [Action] {
        self.owedUntil = nil
        guard self.session.isAnnounced, !self.owed.isEmpty else { return [] }
        let owed = self.owed
        self.owed = [:]
        return [.voice(owed.map { self.say($0.key, $0.value) })]
    }

    private mutating func say(_ id: TrackableID, _ acknowledgement: Acknowledgement) -> TransportCommand {
        self.lastToken += 1
        self.said[self.lastToken] = (id, acknowledgement)
        let topic = self.configuration.topicRoot.path(.ack(id, self.configuration.acknowledgesAs))
        let payload = HistoryCodec.encode(acknowledgement)
        return .publish(OutgoingMessage(topic: topic, payload: payload, isRetained: true), self.lastToken)
    }

    // MARK: - Liveness

    mutating func sayBirth() -> [Action] { [.voice([self.liveness(self.session.birth)])] }

    mutating func sayGoodbye() -> [Action] {
        guard self.session.isAnnounced else { return [.voice([.close(within: .zero)])] }
        let goodbye = SessionStateMachine.goodbye(session: self.session.session, connection: self.session.connection)
        return [.voice([self.liveness(goodbye), .close(within: .seconds(2))])]
    }

    private mutating func liveness(_ liveness: Liveness) -> TransportCommand {
        self.lastToken += 1
        let topic = self.configuration.topicRoot.path(.liveness(self.session.client))
        return .publish(
            OutgoingMessage(topic: topic, payload: MessageCodec.encode(liveness), isRetained: true), self.lastToken)
    }
}
