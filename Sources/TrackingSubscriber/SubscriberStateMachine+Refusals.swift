import TrackingCore

/// What is done about subscriptions that the broker refuses: they are told, and tried again with waits up to 15 minutes.
extension SubscriberStateMachine {
    /// The broker answered a subscription to these filters. What follows for the states is the caller's to tell.
    mutating func answered(_ filters: [TopicFilter], _ refusals: [TrackingError?], at moment: Moment) -> [Action] {
        var actions: [Action] = []
        for (filter, refusal) in zip(filters, refusals) where Self.isNeeded(filter) {
            let id = filter.trackable
            if let id, self.assets[id] == nil { continue }
            if let refusal, self.refusal(of: id) == nil { actions.append(.tell(.refused(id, refusal))) }
            self.refused[filter] = refusal
        }
        guard !self.refused.isEmpty else {
            self.lastWait = nil
            self.timers.remove(.retry)
            return actions
        }
        if self.timers.deadline(of: .retry) == nil {
            let wait = min((self.lastWait ?? .milliseconds(500)) * 2, .seconds(900))
            self.lastWait = wait
            self.timers.set(.retry, deadline: moment.now.advanced(by: wait))
        }
        return actions
    }

    /// Why a trackable is not heard of; of everything where it is `nil`.
    func refusal(of id: TrackableID?) -> TrackingError? {
        guard !self.refused.isEmpty else { return nil }
        return (id.map { self.filters($0) } ?? self.filtersForAll).lazy.compactMap { self.refused[$0] }.first
    }

    /// Asks again for what was refused.
    mutating func retry() -> [Action] {
        guard !self.refused.isEmpty, self.session.isAnnounced else { return [] }
        return self.subscribe(Array(self.refused.keys)) { part, _ in .refused(part) }
    }

    /// Whether a watcher needs what this filter brings: a raw lane, trips, events or somebody's liveness that are refused are
    /// done without.
    private static func isNeeded(_ filter: TopicFilter) -> Bool {
        switch filter {
        case .publishers, .everyPublisher, .everyResolution, .everyLocation, .topic(.location), .topic(.resolution):
            true
        case .topic, .subscribers, .requests, .acks, .everything, .everyRaw, .everyHistory, .everySubscriber,
            .everyTrip,
            .everyEvent, .everyRequest, .everyLiveness, .all:
            false
        }
    }
}

extension TopicFilter {
    /// The one trackable that it is about; `nil` where it is about all of them.
    fileprivate var trackable: TrackableID? {
        switch self {
        case .publishers(let id), .subscribers(let id), .requests(let id), .acks(let id), .everything(let id),
            .topic(.location(let id)), .topic(.resolution(let id)):
            id
        case .topic, .everyLocation, .everyRaw, .everyHistory, .everyPublisher, .everySubscriber, .everyResolution,
            .everyRequest, .everyLiveness, .everyTrip, .everyEvent, .all:
            nil
        }
    }
}
