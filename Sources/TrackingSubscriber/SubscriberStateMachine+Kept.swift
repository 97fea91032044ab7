import TrackingCore

/// Which positions the broker keeps: what it told on a connection is compared with what was told before.
extension SubscriberStateMachine {
    /// A position came, or was cleared, while what the broker keeps is being heard.
    mutating func notePosition(of id: TrackableID, isThere: Bool) {
        guard let count = self.kept?.count else { return }
        if !isThere {
            self.kept?.remove(id)
        } else if count < self.configuration.maximumTrackables * 2 {
            self.kept?.insert(id)
        }
    }

    /// Within so long everything is heard that the broker keeps.
    mutating func expectKept(within time: Duration, at moment: Moment) {
        guard self.kept != nil else { return }
        let deadline = moment.now.advanced(by: time)
        self.timers.set(.kept, deadline: min(deadline, self.timers.deadline(of: .kept) ?? deadline))
    }

    /// Everything is heard. Of what the broker refuses to tell nobody knows.
    mutating func toldKept(at moment: Moment) -> [Action] {
        guard self.refusal(of: nil) == nil else {
            self.expectKept(within: SubscriberConfiguration.keptAfter.unconfirmed, at: moment)
            return []
        }
        guard var kept = self.kept.take() else { return [] }
        for (id, asset) in self.assets {
            if self.refusal(of: id) != nil {
                kept.insert(id)
            } else if asset.isLocated, !kept.contains(id) {
                self.assets[id]?.isMissing = true
            }
        }
        return [.tell(.positionsKept(kept))]
    }
}
