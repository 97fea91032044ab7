import TrackingCore

extension SubscriberConfiguration {
    /// The filters of one trackable that is watched by name.
    func filters(of id: TrackableID) -> [TopicFilter] {
        let raw: [Topic] = self.wantsRaw ? [.raw(id)] : []
        let recorded: [Topic] = self.wantsRecorded ? [.history(id)] : []
        let topics = [.resolution(id), .location(id)] + raw + [.trip(id), .event(id)] + recorded
        return [.publishers(id)] + topics.map(TopicFilter.topic)
    }

    /// The filters of all trackables together.
    var filtersForAll: [TopicFilter] {
        let raw: [TopicFilter] = self.wantsRaw ? [.everyRaw] : []
        let recorded: [TopicFilter] = self.wantsRecorded ? [.everyHistory] : []
        return [.everyPublisher, .everyResolution, .everyLocation] + raw + [.everyTrip, .everyEvent] + recorded
    }
}

extension TopicFilter {
    /// `true` for the filters without which a trackable cannot be watched: positions, resolutions, publishers. The
    /// others (raw positions, trips, events, liveness) may be refused without an effect on the state.
    var isNeeded: Bool {
        switch self {
        case .publishers, .everyPublisher, .everyResolution, .everyLocation, .topic(.location), .topic(.resolution):
            true
        case .topic, .subscribers, .requests, .acks, .everything, .everyRaw, .everyHistory, .everySubscriber,
            .everyTrip, .everyEvent, .everyRequest, .everyLiveness, .all:
            false
        }
    }

    /// The one trackable of a filter that is needed; `nil` for the filters of all trackables.
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
