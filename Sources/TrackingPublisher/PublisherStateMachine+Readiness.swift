import TrackingCore

/// The conditions that callers wait for, and a snapshot of the publisher's state. These members change nothing.
extension PublisherStateMachine {
    /// `true` while the connection is announced and everything captured so far was acknowledged or skipped. A
    /// rejected trackable does not delay the others.
    public var isReadyForFix: Bool {
        // If records are published only on request, a record in the log needs no further step.
        if !self.configuration.isOn || !self.configuration.sendsByItself || self.isHolding {
            return self.table.all.allSatisfy(\.backlog.isWritten)
        }
        guard self.member.session.isAnnounced else { return false }
        let open = self.table.all.filter { $0.status.rejection == nil }
        return (!open.isEmpty || self.table.isEmpty)
            && open.allSatisfy { $0.isIdle && ($0.status.since != nil || $0.failure != nil) }
    }

    /// `true` while a program that reads a recording in bulk may continue: everything is acknowledged, or the broker
    /// rejects this device or everything that it tracks, which waiting does not change.
    public var isReadyForNextFix: Bool {
        self.isReadyForFix || self.hasFailed || self.link.rejection != nil
            || (!self.table.isEmpty && self.areAllRejected)
    }

    private var areAllRejected: Bool {
        self.table.all.allSatisfy { $0.status.rejection != nil || $0.failure != nil }
    }

    /// `true` while nothing is left to wait for before the goodbye. A trackable that is still rejected is given up.
    var isReadyToLeave: Bool {
        if !self.configuration.isOn { return self.table.all.allSatisfy(\.backlog.isWritten) }
        if self.hasFailed { return self.isCollisionOver || self.link.rejection != nil }
        if self.isReadyForFix { return self.areRecordsOut }
        // With a time limit, the rejection is waited out.
        if self.link.rejection != nil, self.stop == .finishing(by: nil) { return true }
        return self.member.session.isAnnounced && self.areAllRejected
    }

    /// `true` while everything that a superseded publisher still publishes is sent: the backlog, its declaration, and
    /// the collision.
    private var isCollisionOver: Bool {
        self.areRecordsOut
            && self.table.all.allSatisfy { trackable in
                trackable.failure?.code != .takenOver
                    || (trackable.backlog.isWritten && !trackable.backlog.spool.owesDeclaration)
            }
    }

    /// `true` while no record is in flight, and none waits that could be published.
    var areRecordsOut: Bool {
        !self.configuration.sendsByItself
            || self.table.all.allSatisfy { trackable in
                let (failure, spool) = (trackable.failure, trackable.backlog.spool)
                return trackable.status.rejection != nil || (failure != nil && failure?.code != .takenOver)
                    || (spool.isOpen ? spool.isQuiet : spool.unsent <= trackable.backlog.takenEarly.count)
            }
    }

    /// `true` while nothing can be published any more: every trackable failed.
    public var hasFailed: Bool { !self.table.isEmpty && self.table.all.allSatisfy { $0.failure != nil } }

    // MARK: - Snapshot

    /// The state at `moment`.
    func snapshot(at moment: Moment) -> PublisherSnapshot {
        let trackables = self.table.all.map { trackable in
            PublisherSnapshot.Trackable(
                id: trackable.id, state: trackable.status.reported.state, failure: trackable.failure,
                resolution: trackable.inForce(self.configuration), destination: trackable.trackable.destination,
                trip: trackable.trips.newest(at: moment))
        }
        return PublisherSnapshot(
            time: moment.wall, link: self.link.status, trackables: trackables.sorted { $0.id < $1.id },
            sensorResolution: self.device.sensor,
            lastFix: self.table.all.compactMap(\.position.fix).max { $0.time < $1.time },
            battery: self.device.battery,
            unrecorded: self.table.unrecorded(by: self.configuration.recording, at: moment))
    }
}
