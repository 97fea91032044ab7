import TrackingCore

/// The choice of a subscriber's state machine between published and enhanced positions.
extension SubscriberStateMachine {
    /// Changes the kind of positions that the program wants of a watched trackable: subscribes to its enhanced positions
    /// or unsubscribes from them. Does nothing if all trackables are watched, because the configuration decides then.
    mutating func prefer(_ kind: PositionKind, for id: TrackableID) -> [Action] {
        guard !self.configuration.watchesAll, let asset = self.assets[id], asset.prefers != kind else { return [] }
        let actions = self.deliver(self.assets[id]?.prefer(kind), of: id)
        guard self.member.session.isConnected else { return actions }
        let filters: [TopicFilter] = [.topic(.enhanced(id))]
        switch kind {
        case .enhanced: return actions + [.send([self.member.subscribe(filters, .preferring(filters))])]
        case .published:
            self.enhancedRefusals.subtract(filters)
            return actions + [.send([self.member.unsubscribe(filters)])]
        }
    }

    /// Returns the actions that deliver an update of a trackable's publisher: at once, or when no enhanced update of its
    /// fix arrives if the program prefers enhanced positions.
    mutating func deliver(published update: ReceivedUpdate, of id: TrackableID, at moment: Moment) -> [Action] {
        guard self.assets[id]?.prefers == .enhanced else { return [.deliver(.location(id, update))] }
        let preferred = self.assets[id]?.preferred(update, now: moment.now)
        return [.deliver(.publishedLocation(id, update))] + self.deliver(preferred, of: id)
    }

    /// Returns the action that delivers an update of a trackable; none for `nil`. Sets the time at which the trackable's
    /// newest withheld update is delivered.
    mutating func deliver(_ update: ReceivedUpdate?, of id: TrackableID) -> [Action] {
        self.preferenceDeadlines.keep(id, at: self.assets[id]?.preferenceDeadline)
        return update.map { [.deliver(.location(id, $0))] } ?? []
    }
}
