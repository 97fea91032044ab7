package import TrackingCore

/// The detection of devices with a clock that is ahead of the gateway's clock by more than
/// ``LivePosition/maximumAhead``.
extension LiveHubState {
    /// The result of comparing the time of a device's newest point with the gateway's clock.
    package struct ClockJudgement: Hashable, Sendable {
        /// The number of seconds by which the point's time is ahead of the gateway's clock; `nil` if the point is not
        /// ahead by more than ``LivePosition/maximumAhead``.
        package var lead: Int?
        /// `true` for the first point of a trackable whose time is too far ahead. A warning is logged only for this
        /// point.
        package var isFirst = false
        /// The update for live streams when a device's clock begins to be ahead, is ahead by at least 5 s more or less
        /// than last reported, or is no longer ahead; otherwise `nil`.
        package var update: LiveUpdate?
    }

    /// The smallest change of a clock's lead that live streams are informed about, in seconds.
    private static let leadStep = 5

    /// Compares the time of a device's newest point with the gateway's clock, to detect a device whose clock is ahead.
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
