import TrackingCore

/// The gaps in the retained messages of a subscriber that watches all trackables. A broker drops retained messages when
/// its queue for the subscriber is full. The subscriber then asks for those of single trackables.
extension SubscriberStateMachine {
    /// Handles the list of trackables that had a position, by the program's history. They are compared with the
    /// positions at the broker when the retained positions have arrived.
    mutating func expect(_ ids: [TrackableID], at moment: Moment) {
        guard self.configuration.watchesAll else { return }
        let room = max(0, self.configuration.maximumTrackables * 2 - self.gaps.expected.count)
        self.gaps.expected.formUnion(ids.prefix(room))
        if self.member.session.isAnnounced, !self.sweep.isCollecting { self.comparePositions(at: moment) }
    }

    /// Compares the received positions with the trackables that should have one: those that the program's history
    /// contains, and those that are watched already. Each missing position is asked for.
    mutating func comparePositions(at moment: Moment) {
        guard self.configuration.watchesAll else { return }
        var missing: [TrackableID] = []
        if !self.sweep.isCollecting {
            missing = self.gaps.expected.filter { self.assets[$0]?.hasPosition != true }
        } else if !self.sweep.isCompared {
            missing = self.sweep.missing(of: self.gaps.expected.union(self.assets.keys))
            self.sweep.isCompared = true
        } else {
            missing = self.sweep.missing(of: self.gaps.expected)
        }
        self.gaps.expected = []
        for id in missing.sorted() { self.gaps.missing(id, .position, now: moment.now) }
    }

    /// Handles a message on a trackable's topic: notes which retained messages of the trackable arrived, and which are
    /// missing.
    ///
    /// - Parameters:
    ///   - isPosition: `true` for a position, also for a cleared one.
    ///   - isLive: `true` for a message that is not a retained one.
    mutating func noteGaps(of id: TrackableID, isPosition: Bool, isLive: Bool, at moment: Moment) {
        guard self.configuration.watchesAll, let asset = self.assets[id] else { return }
        if isPosition {
            if self.gaps.arrived(id, .position, now: moment.now) { self.missStates(at: moment) }
        } else if !asset.hasPosition, asset.owner != nil {
            self.gaps.missing(id, .position, now: moment.now)
        }
        if asset.owner != nil, asset.resolution != nil {
            self.gaps.arrived(id, .state, now: moment.now)
        } else if asset.owner != nil || (isPosition && isLive) {
            self.gaps.missing(id, .state, now: moment.now)
        }
    }

    /// Notes the presence and the resolution of each trackable as missing if they did not arrive. A trackable whose
    /// position did arrive gives no other sign that the broker dropped its presence.
    private mutating func missStates(at moment: Moment) {
        let ids = self.assets.filter { $0.value.owner == nil || $0.value.resolution == nil }.keys
        for id in ids.sorted() { self.gaps.missing(id, .state, now: moment.now) }
    }

    /// Returns the actions that ask the broker again for the retained messages of single trackables, and end the
    /// subscriptions of the trackables that were asked for before.
    mutating func askAgain(at moment: Moment) -> [Action] {
        guard self.member.session.isAnnounced, let round = self.gaps.timerFired(now: moment.now) else { return [] }
        let ended = SubscriptionSlices.packets(round.ended.flatMap(Self.retainedFilters(of:)))
        return ended.map { .send([self.member.unsubscribe($0)]) }
            + self.subscribe(round.asked.flatMap(Self.retainedFilters(of:))) { _ in .ignored }
    }

    private static func retainedFilters(of id: TrackableID) -> [TopicFilter] {
        [.topic(.location(id)), .publishers(id), .topic(.resolution(id)), .topic(.trip(id))]
    }
}
