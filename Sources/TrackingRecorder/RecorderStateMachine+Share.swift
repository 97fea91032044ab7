import TrackingCore

/// The part of the recorder's state machine that tests the shared subscription of a group.
extension RecorderStateMachine {
    /// Publishes the heartbeat of the test once the broker has granted the test's subscription.
    mutating func beatForShare(now: MonotonicTime) -> [Action] {
        guard self.share.beats(isAnnounced: self.member.session.isAnnounced, now: now) else { return [] }
        return Self.voice(self.member.publishLiveness())
    }

    /// Handles a message of the intake connection if it belongs to the test of the shared subscription. It is not
    /// stored.
    ///
    /// - Returns: The actions; `nil` for any other message.
    mutating func receivedProbe(_ message: IncomingMessage, at moment: Moment) -> [Action]? {
        guard self.configuration.group != nil,
            message.topic == self.configuration.topicRoot.path(.liveness(self.member.client))
        else { return nil }
        _ = self.intake.messageArrived(message, at: moment)
        var actions: [Action] = []
        if self.withheld == 0 {
            actions.append(
                .intake([.acknowledge(through: self.intake.received, connection: self.intake.connection)]))
        }
        // The broker's retained copy does not show that it delivers new messages.
        guard !message.isRetained else { return actions }
        if self.share.isListening { actions += self.endListening() }
        return actions + self.perform(self.share.arrived(), now: moment.now)
    }

    /// Carries out a step of the test of the shared subscription: subscribes to the acknowledgements of the other
    /// recorders, or ends the test and reports its result. If no other recorder is known, an undelivered shared
    /// subscription is replaced by an ordinary one.
    mutating func perform(_ step: ShareProbe.Step, now: MonotonicTime) -> [Action] {
        guard let group = self.configuration.group else { return [] }
        switch step {
        case .none: return []
        case .delivered: return [.deliver(.shareDelivered), .intake([self.intake.endProbe()])]
        case .listen:
            let filter = self.configuration.topicRoot.path(.everyAck(group.name))
            return Self.voice([self.member.subscribe([filter], .ignored)])
        case .undelivered(let isAlone):
            let plain = isAlone ? self.intake.beginPlain(now: now) : []
            return [.deliver(.shareUndelivered(isAlone: isAlone)), .intake([self.intake.endProbe()] + plain)]
                + self.endListening()
        }
    }

    /// Returns `true` for an acknowledgement under the name of the recorder's group that is not the broker's retained
    /// copy.
    func isAcknowledgementOfGroup(_ message: IncomingMessage) -> Bool {
        guard let group = self.configuration.group, !message.isRetained,
            case .ack(_, group.name) = self.configuration.topicRoot.topic(message.topic)
        else { return false }
        return true
    }

    private func endListening() -> [Action] {
        guard let group = self.configuration.group else { return [] }
        return Self.voice([.unsubscribe([self.configuration.topicRoot.path(.everyAck(group.name))])])
    }
}
