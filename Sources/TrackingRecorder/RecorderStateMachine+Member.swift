import TrackingCore

/// The part of the recorder's state machine that handles the member connection. On this connection the recorder
/// publishes its liveness and its acknowledgements for devices. It also clears retained messages that vanished clients
/// left behind.
extension RecorderStateMachine {
    mutating func member(_ event: TransportEvent, at moment: Moment) -> [Action] {
        switch event {
        case .connected(let connection, _, let broker): self.memberConnected(connection, to: broker, at: moment)
        case .disconnected(let disconnection): self.memberDisconnected(disconnection, at: moment)
        case .received(let message): self.memberReceived(message, at: moment)
        case .subscribed(let token, let refusals): self.memberSubscribed(token, refusals, at: moment)
        case .published(let token, let refusal): self.memberPublished(token, refusal)
        }
    }

    /// Subscribes twice to the topic of the recorder's own liveness, its retained online-or-offline message. Mosquitto
    /// answers a subscription before it sends the retained messages. Therefore only the answer to the second
    /// subscription shows that the retained liveness has arrived.
    private mutating func memberConnected(_ connection: Int, to broker: Int, at moment: Moment) -> [Action] {
        self.member.connected(connection, broker: broker, now: moment.now)
        self.reported = []
        self.drops.connected()
        self.housekeeper?.connected(now: moment.now)
        let own = [self.member.ownLiveness]
        return [
            .deliver(.voice(nil)),
            .voice([self.member.subscribe(own, .ignored), self.member.subscribe(own, .settle)]),
            .voice([self.member.subscribe([BrokerDropCounter.topic], .ignored)]),
        ]
    }

    private mutating func memberDisconnected(_ disconnection: Disconnection, at moment: Moment) -> [Action] {
        self.housekeeper?.disconnected(now: moment.now)
        self.share.voiceLost()
        // Of several acknowledgements of a trackable, the last one counts.
        for case .acknowledgement(let id, let acknowledgement) in self.member.disconnected(disconnection).reversed() {
            self.acknowledgements.addAgain(acknowledgement, of: id)
        }
        return [.deliver(.voice(disconnection))]
    }

    private mutating func memberReceived(_ message: IncomingMessage, at moment: Moment) -> [Action] {
        guard message.topic != BrokerDropCounter.topic else {
            let increase = self.drops.received(message.payload)
            return increase > 0 ? [.deliver(.brokerDropped(increase))] : []
        }
        if self.isAcknowledgementOfGroup(message) {
            return self.perform(self.share.acknowledgedByAnother(), now: moment.now)
        }
        self.housekeeper?.received(message, now: moment.now)
        guard message.topic == self.configuration.topicRoot.path(.liveness(self.member.client)) else { return [] }
        let liveness = message.payload.isEmpty ? nil : try? MessageCodec.decodeLiveness(message.payload)
        return Self.voice(self.member.receivedOwn(liveness, isRetained: message.isRetained))
    }

    private mutating func memberSubscribed(
        _ token: TransportToken, _ refusals: [TrackingError?], at moment: Moment
    ) -> [Action] {
        switch self.member.subscribed(token) {
        case .settle:
            switch self.member.settled(now: moment.now) {
            case .announced(let commands):
                // The housekeeper's subscriptions follow the publish of the own liveness, so that the housekeeper
                // receives the current liveness of this recorder and not an older one.
                let filters = self.housekeeper?.filters
                return [.voice(commands)] + self.publishAcknowledgements() + self.beatForShare(now: moment.now)
                    + Self.voice(filters.map { [self.member.subscribe($0, .housekeeping)] } ?? [])
            case .takenOver(let error): return self.fail(error, at: moment)
            case .notConnected: return []
            }
        case .housekeeping:
            // A client whose messages this recorder may not read could be alive. Without all subscriptions, nothing is
            // cleared.
            let refusal = refusals.lazy.compactMap(\.self).first
            if refusal != nil { self.housekeeper?.disconnected(now: moment.now) }
            return self.clearingRefused(refusal)
        case .acknowledgement, .clearing, .ignored, nil: return []
        }
    }

    private mutating func memberPublished(_ token: TransportToken, _ refusal: TrackingError?) -> [Action] {
        switch self.member.published(token) {
        case .role(.acknowledgement(let id, _)):
            guard let refusal, self.reported.insert(.acknowledgements).inserted else { return [] }
            return [.deliver(.acknowledgementRefused(id, refusal))]
        case .role(.clearing):
            let count = self.housekeeper?.answered(isCleared: refusal == nil) ?? 0
            return (count > 0 ? [.deliver(.cleared(count))] : []) + self.clearingRefused(refusal)
        case .role, .own, .liveness, nil: return []
        }
    }

    // MARK: - Clearing

    mutating func clearAbandoned(now: MonotonicTime) -> [Action] {
        guard self.member.session.isAnnounced, let topics = self.housekeeper?.abandoned(now: now) else { return [] }
        return Self.voice(
            topics.map { self.member.publish(OutgoingMessage(topic: $0, payload: [], isRetained: true), .clearing) })
    }

    private mutating func clearingRefused(_ refusal: TrackingError?) -> [Action] {
        guard let refusal, self.reported.insert(.clearing).inserted else { return [] }
        return [.deliver(.clearingRefused(refusal))]
    }

    // MARK: - Acknowledgements

    /// Adds acknowledgements of durable records to the queue, and publishes at once those that may not wait: the
    /// awaited ones, and all of a recorder that belongs to a group. The others are published later together.
    ///
    /// - Parameters:
    ///   - acknowledgements: The acknowledgements, by trackable.
    ///   - awaited: The trackables whose devices wait for an acknowledgement.
    mutating func acknowledge(
        _ acknowledgements: [TrackableID: Acknowledgement], awaited: Set<TrackableID>, now: MonotonicTime
    ) -> [Action] {
        let urgent = self.acknowledgements.add(
            acknowledgements, awaited: awaited, isDelayed: self.configuration.group == nil,
            isAnnounced: self.member.session.isAnnounced, now: now)
        return Self.voice(urgent.map { self.publish($0.acknowledgement, of: $0.id) })
    }

    /// Publishes all pending acknowledgements if the recorder has published its liveness on the present connection.
    /// Otherwise they remain pending.
    mutating func publishAcknowledgements() -> [Action] {
        self.acknowledgements.cancelDeadline()
        guard self.member.session.isAnnounced else { return [] }
        return Self.voice(self.acknowledgements.takeAll().map { self.publish($0.value, of: $0.key) })
    }

    private mutating func publish(_ acknowledgement: Acknowledgement, of id: TrackableID) -> TransportCommand {
        self.member.publish(
            .ack(id, self.configuration.acknowledgesAs), HistoryCodec.encode(acknowledgement),
            .acknowledgement(id, acknowledgement))
    }

    // MARK: - The end

    mutating func publishGoodbye() -> [Action] {
        guard self.member.session.isAnnounced else { return [.voice([.close(within: .zero)])] }
        return [.voice([self.member.publishGoodbye(), .close(within: .seconds(2))])]
    }

    static func voice(_ commands: [TransportCommand]) -> [Action] { commands.isEmpty ? [] : [.voice(commands)] }
}
