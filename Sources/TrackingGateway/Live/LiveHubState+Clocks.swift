package import TrackingCore

/// The detection of devices whose clock is ahead of the gateway's by more than ``LivePosition/maximumAhead``.
extension LiveHubState {
    /// The result of judging a device's clock by its newest point.
    package struct ClockJudgement: Hashable, Sendable {
        /// The number of seconds by which the point's time is too far ahead of the gateway's clock; `nil` if it is not.
        package var lead: Int?
        /// `true` if this is the first such point of the trackable, which is logged.
        package var isFirst = false
        /// The update for live streams: the device's lead began, changed or ended; `nil` for no change.
        package var update: LiveUpdate?
    }

    /// The smallest change of a device's lead, in seconds, that is delivered to live streams.
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
