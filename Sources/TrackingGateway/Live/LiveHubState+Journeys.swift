import TrackingCore

/// The journeys and estimates in the current state of the trackables.
extension LiveHubState {
    /// Handles a journey of a trackable, or that it was cleared (`nil`). Returns the update for live streams; `nil` if
    /// the journey has not changed.
    mutating func planned(_ journey: Journey?, of id: TrackableID, at wall: UnixTime) -> LiveUpdate? {
        let json = journey.map { MessageCodec.json(of: $0) }
        return self.changed(
            .journey, of: id, self.journeys.setJourney(journey, of: id, bytes: json?.count ?? 0), json, at: wall)
    }

    /// Handles an estimate of a trackable's arrival times, or that it was cleared (`nil`). An estimate for which the
    /// memory limit has no room counts as cleared. Returns the update for live streams; `nil` if nothing has changed.
    mutating func estimated(_ estimate: Estimate?, of id: TrackableID, at wall: UnixTime) -> LiveUpdate? {
        let json = estimate.map { MessageCodec.json(of: $0) }
        return self.changed(
            .estimate, of: id, self.journeys.setEstimate(estimate, of: id, bytes: json?.count ?? 0), json, at: wall)
    }

    /// Returns earlier updates as a stream may receive them now: for a share link, with the present journey and
    /// estimate in place of the earlier ones, which may contain stops from before the link's validity.
    func shared(_ updates: [LiveUpdate], with selection: LiveSelection) -> [LiveUpdate] {
        guard selection.span != nil else { return updates }
        var shared = updates.filter { !$0.kind.isOfJourney }
        for index in shared.indices where shared[index].kind == .resolution {
            shared[index].progress = self.journeys[shared[index].trackable]
        }
        let ids = Set(updates.filter(\.kind.isOfJourney).map(\.trackable))
        return shared + ids.sorted().map { self.presentEstimate(of: $0) }
    }

    /// Returns an update with the present journey and estimate of a trackable, without an event id.
    private func presentEstimate(of id: TrackableID) -> LiveUpdate {
        LiveUpdate(
            id: self.position(at: UnixTime(0)), trackable: id, kind: .estimate, place: nil, placeBefore: nil,
            location: nil, isLate: false, frame: LiveFrame.journey(.estimate, of: id, nil, as: nil),
            progress: self.journeys[id])
    }

    private mutating func changed(
        _ kind: LiveUpdate.Kind, of id: TrackableID, _ outcome: KnownJourneys.Outcome, _ json: [UInt8]?,
        at wall: UnixTime
    ) -> LiveUpdate? {
        if outcome == .tooLarge { self.droppedJourneys += 1 }
        guard outcome != .unchanged else { return nil }
        let payload = outcome == .tooLarge ? nil : json
        // A cleared journey may have been erased, so no interrupted stream receives the earlier ones.
        if payload == nil { self.removeUpdates(kind, of: id) }
        return self.journeyUpdate(kind, of: id, self.journeys[id], payload, at: wall)
    }
}
