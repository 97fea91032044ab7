import TrackingCore

extension SubscriberConfiguration {
    /// Returns the topic filters of one trackable that is watched by name.
    func filters(of id: TrackableID) -> [TopicFilter] {
        let raw: [Topic] = self.wantsRaw ? [.raw(id)] : []
        let recorded: [Topic] = self.wantsRecorded ? [.history(id)] : []
        let topics = [.resolution(id), .location(id)] + raw + [.trip(id), .event(id)] + recorded
        return [.publishers(id)] + topics.map(TopicFilter.topic)
    }

    /// The topic filters of a subscriber that watches all trackables.
    var filtersForAll: [TopicFilter] {
        let raw: [TopicFilter] = self.wantsRaw ? [.everyRaw] : []
        let recorded: [TopicFilter] = self.wantsRecorded ? [.everyHistory] : []
        return [.everyPublisher, .everyResolution, .everyLocation] + raw + [.everyTrip, .everyEvent] + recorded
    }
}

extension TopicFilter {
    /// `true` for a filter without which a trackable cannot be watched: one of positions, resolutions or publishers.
    /// The broker may reject the other filters (raw positions, trips, events, liveness) without an effect on the
    /// subscriber's state.
    var isNeeded: Bool {
        switch self {
        case .publishers, .everyPublisher, .everyResolution, .everyLocation, .topic(.location), .topic(.resolution):
            true
        case .topic, .subscribers, .requests, .acks, .everything, .everyRaw, .everyHistory, .everySubscriber,
            .everyTrip, .everyEvent, .everyRequest, .everyLiveness, .all:
            false
        }
    }

    /// The trackable of a filter without which that trackable cannot be watched; `nil` for filters of all trackables,
    /// and for filters that may be rejected.
    var neededTrackable: TrackableID? {
        switch self {
        case .publishers(let id), .topic(.location(let id)), .topic(.resolution(let id)): id
        case .topic, .subscribers, .requests, .acks, .everything, .everyLocation, .everyRaw, .everyHistory,
            .everyPublisher, .everySubscriber, .everyResolution, .everyRequest, .everyLiveness, .everyTrip,
            .everyEvent, .all:
            nil
        }
    }
}
