import TrackingCore

extension SubscriberConfiguration {
    /// Returns the topic filters to which the subscriber subscribes for one trackable that the program watches by its
    /// id, with the enhanced positions if `kind` is ``PositionKind/enhanced``.
    func filters(of id: TrackableID, preferring kind: PositionKind) -> [TopicFilter] {
        let enhanced: [Topic] = kind == .enhanced ? [.enhanced(id)] : []
        let raw: [Topic] = self.wantsRaw ? [.raw(id)] : []
        let recorded: [Topic] = self.wantsRecorded ? [.history(id)] : []
        let journeys: [Topic] = self.wantsJourneys ? [.journey(id), .estimate(id)] : []
        let topics = [.resolution(id), .location(id)] + enhanced + raw + [.trip(id), .event(id)] + recorded + journeys
        return [.publishers(id)] + topics.map(TopicFilter.topic)
    }

    /// The topic filters to which a subscriber subscribes when it watches all trackables: first the positions, then the
    /// topics without retained messages, then the presences, the resolutions in force and the trips. The enhanced
    /// positions, the journeys and the estimates come last, because no other message depends on them.
    var filtersForAll: [TopicFilter] {
        let raw: [TopicFilter] = self.wantsRaw ? [.everyRaw] : []
        let recorded: [TopicFilter] = self.wantsRecorded ? [.everyHistory] : []
        let enhanced: [TopicFilter] = self.prefers == .enhanced ? [.everyEnhanced] : []
        let journeys: [TopicFilter] = self.wantsJourneys ? [.everyJourney, .everyEstimate] : []
        return [.everyLocation] + raw + [.everyEvent] + recorded + [.everyPublisher, .everyResolution, .everyTrip]
            + enhanced + journeys
    }
}

extension TopicFilter {
    /// `true` for a topic filter that the subscriber needs: the positions, the resolution in force, or the presence of
    /// publishers. If the broker rejects such a filter, the trackable counts as refused. The broker may reject other
    /// filters, such as trips and events, without an effect on the subscriber's state.
    var isNeeded: Bool {
        switch self {
        case .publishers, .everyPublisher, .everyResolution, .everyLocation, .topic(.location), .topic(.resolution):
            true
        case .topic, .subscribers, .requests, .acks, .everything, .everyRaw, .everyHistory, .everySubscriber,
            .everyTrip, .everyEvent, .everyAck, .everyRequest, .everyLiveness, .everyEnhanced, .everyJourney,
            .everyEstimate, .all:
            false
        }
    }

    /// The trackable to which a needed filter belongs (see ``isNeeded``). `nil` for a filter of all trackables, and for
    /// a filter that the subscriber does not need.
    var neededTrackable: TrackableID? {
        switch self {
        case .publishers(let id), .topic(.location(let id)), .topic(.resolution(let id)): id
        case .topic, .subscribers, .requests, .acks, .everything, .everyLocation, .everyRaw, .everyHistory,
            .everyPublisher, .everySubscriber, .everyResolution, .everyRequest, .everyLiveness, .everyTrip,
            .everyEvent, .everyAck, .everyEnhanced, .everyJourney, .everyEstimate, .all:
            nil
        }
    }

    /// `true` for a topic filter of enhanced positions. If the broker rejects it, the positions that publishers publish
    /// are delivered.
    var isEnhanced: Bool {
        if case .topic(.enhanced) = self { true } else { self == .everyEnhanced }
    }
}
