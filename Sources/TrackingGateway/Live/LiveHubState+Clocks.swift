package import TrackingCore

/// The clocks of devices that are ahead of the gateway's by more than ``LivePosition/maximumAhead``.
extension LiveHubState {
    /// The result of judging the newest point of a device.
    package struct ClockJudgement: Hashable, Sendable {
        /// The point's time is too far ahead of the gateway's clock, by so many seconds.
        package var lead: Int?
        /// The lead is the first of its trackable.
        package var isFirst = false
        /// The update to publish: the lead began, changed or ended.
        package var update: LiveUpdate?
    }

    /// The change of a lead, in seconds, that is published.
    private static let leadStep = 5

    /// Judges the clock of a device by its newest point.
    package mutating func judge(_ point: Location, of id: TrackableID, at wall: UnixTime) -> ClockJudgement {
        guard wall >= ClockTrust.buildFloor else { return ClockJudgement() }
        switch LivePosition.fault(of: point, at: wall) {
        case .nowhere, .unsetClock: return ClockJudgement()
        case nil:
            guard self.leads.removeValue(forKey: id) != nil else { return ClockJudgement() }
            return ClockJudgement(update: self.clockUpdate(nil, of: id, at: wall))
        case .ahead(let lead):
            let seconds = Int(min(lead.inSeconds, 1e12).rounded())
            var judgement = ClockJudgement(lead: seconds, isFirst: self.reported.insert(id).inserted)
            let published = self.leads[id]
            guard published.map({ abs($0 - seconds) >= Self.leadStep }) ?? true else { return judgement }
            self.leads[id] = seconds
            judgement.update = self.clockUpdate(seconds, of: id, at: wall)
            return judgement
        }
    }
}
