import TrackingCore

/// Sending that waits until some way was gone. Everything is recorded meanwhile, and liveness goes on.
extension PublisherStateMachine {
    /// Whether positions and records are held back now. Nothing is once no more is to come.
    var isHolding: Bool { self.stop == nil && self.deferral?.isHolding == true }

    /// Whether positions of this trackable may go out now; its first one is not held back.
    func isOpenForUpdates(_ asset: TrackedAsset) -> Bool {
        self.sendsByItself && (!self.isHolding || asset.owesUpdate || asset.lane.last == nil)
    }

    /// A fix became a record of every trackable.
    mutating func deferralRecorded(_ point: Location, at moment: Moment) {
        if self.deferral?.recorded(point, now: moment.now) == true { self.isReleaseDue = true }
    }

    /// Lets everything go that was recorded so far, where that is due.
    mutating func keepDeferral(at moment: Moment) {
        if self.deferral?.timerFired(now: moment.now) == true { self.isReleaseDue = true }
        guard self.isReleaseDue else { return }
        self.isReleaseDue = false
        guard self.deferral != nil else { return }
        self.deferral?.release()
        for id in self.assets.keys {
            // A newer position may take the place of the one that is owed.
            if self.assets[id]?.lane.isWaiting == true { self.assets[id]?.owesUpdate = true }
            self.assets[id]?.owesRecords = true
        }
    }

    /// Holds the recording lane, or lets it go behind the position that goes first.
    mutating func keepHeld(of id: TrackableID, at moment: Moment) -> [Action] {
        guard let asset = self.assets[id], self.deferral != nil || asset.spool.isHeld else { return [] }
        // What is held when nothing is deferred any more goes as well.
        if asset.owesRecords || self.deferral == nil, !(asset.owesUpdate && asset.isSending) {
            self.assets[id]?.owesRecords = false
            return self.askSpool(of: id, at: moment) { $0.released(through: asset.lastSeq, now: moment.now) }
        }
        if self.isHolding, !asset.spool.isHeld { self.assets[id]?.spool.held() }
        return []
    }
}
