import TrackingCore

/// Events that a watcher tells: of rules that it looks after, where the broker lets it.
extension SubscriberStateMachine {
    mutating func publish(_ event: TrackingEvent, of id: TrackableID, _ request: UInt64) -> Action {
        guard self.session.isAnnounced else { return Self.notPublished(request) }
        let message = OutgoingMessage(
            topic: self.configuration.topicRoot.path(.event(id)), payload: MessageCodec.encode(event), isRetained: false
        )
        return .send([.publish(message, self.token(.telling(request)))])
    }

    /// The connection is gone: nobody knows whether these were taken.
    mutating func loseEvents() -> [Action] {
        self.outstanding.values.compactMap { purpose in
            if case .telling(let request) = purpose { Self.notPublished(request) } else { nil }
        }
    }

    static func notPublished(_ request: UInt64) -> Action {
        .published(request: request, TrackingError(.connectionLost, "there is no connection to the broker; try again"))
    }
}
