import TrackingCore

/// What is kept of positions, and told anew, when zones are set that they lie in. What was recorded before stays as it is.
extension PublisherStateMachine {
    /// Other zones are in force: what stands on the topics is replaced or withdrawn, and nothing else that is kept goes out.
    ///
    /// - Parameter areMore: Whether more is hidden than was before: then what an earlier run left is withdrawn, for nobody here
    ///   knows where that is.
    mutating func hideWhatWasKept(areMore: Bool, at moment: Moment) -> [Action] {
        // Within the call it is another's.
        let zones = self.configuration.capture?.zones
        self.unsentEvents.hide { location in zones.map { $0.hidden(location) } ?? location }
        return Array(self.assets.keys).flatMap { id -> [Action] in
            let lastFix = self.assets[id]?.lastFix.flatMap(self.shown)
            self.assets[id]?.lastFix = lastFix
            return self.hidePosition(of: id, areMore: areMore, at: moment)
                + self.hideTrip(of: id, areMore: areMore, at: moment)
        }
    }

    /// A position that was kept from before; `nil` where nothing may be shown of it.
    func shown(_ location: Location) -> Location? {
        guard let zones = self.configuration.capture?.zones else { return location }
        return zones.hidden(location)
    }

    /// A trip with its ends as far as they may be shown.
    func shown(_ trip: Trip) -> Trip {
        var shown = trip
        shown.startLocation = trip.startLocation.flatMap(self.shown)
        shown.lastLocation = trip.lastLocation.flatMap(self.shown)
        return shown
    }

    private mutating func hidePosition(of id: TrackableID, areMore: Bool, at moment: Moment) -> [Action] {
        guard let asset = self.assets[id] else { return [] }
        var (lane, raw) = (asset.lane, asset.rawLane)
        let change = lane.hide(self.shown)
        if raw?.hide(self.shown).isTakenBack == true { self.forgetAnswers { $0 == .raw(id) } }
        self.assets[id]?.lane = lane
        self.assets[id]?.rawLane = raw
        var actions: [Action] = []
        if change.isTakenBack {
            self.forgetAnswers { $0 == .update(id) }
            actions += self.askSpool(of: id, at: moment) {
                $0.failedLive(asset.lane.seqsInFlight, now: moment.now)
            }
        }
        let isUnknown = areMore && asset.lane.last == nil
        guard change.isOutdated || isUnknown, self.isOwn(id) else { return actions }
        return actions + (asset.since == nil ? self.clear(.location(id)) : self.replacePosition(of: id, at: moment))
    }

    /// Whether what stands on the topics is not another publisher's: one that overtook this one, or came while it was off.
    private func isOwn(_ id: TrackableID) -> Bool {
        guard let asset = self.assets[id], asset.failure == nil else { return false }
        return asset.since != nil || self.presence.owner(of: id) == nil
    }

    private mutating func hideTrip(of id: TrackableID, areMore: Bool, at moment: Moment) -> [Action] {
        guard let asset = self.assets[id], self.isOwn(id) else { return [] }
        guard let trip = asset.trip.status(at: moment) ?? asset.lastTrip else {
            return areMore ? self.clear(.trip(id)) : []
        }
        // What stands there is of a minute ago, or of an earlier run.
        let isOutdated = asset.shownTrip.map { self.shown($0) != $0 } ?? areMore
        guard isOutdated || self.shown(trip) != trip else { return [] }
        let shown = self.shown(trip)
        if asset.lastTrip == trip { self.assets[id]?.lastTrip = shown }
        // One that was not shown yet goes out as ever; else this one stands there.
        self.assets[id]?.unshownTrip = asset.unshownTrip ?? trip
        if asset.since == nil { return self.clear(.trip(id)) }
        return asset.unshownTrip == nil ? self.showTrip(of: id) : []
    }
}
