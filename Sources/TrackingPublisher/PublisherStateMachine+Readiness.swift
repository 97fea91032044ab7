import TrackingCore

/// Conditions that callers of the publisher wait for, and a snapshot of its state. Reading them changes nothing.
extension PublisherStateMachine {
    /// `true` if the publisher has caught up: it is announced at the broker, and every recorded position was
    /// acknowledged or skipped.
    ///
    /// Trackables that the broker rejects are ignored, unless it rejects all. While the publisher is off, or sending is
    /// deferred or manual, positions only have to be written to the log.
    package var isReadyForFix: Bool {
        // If records are published only on request, a record in the log needs no further step.
        if !self.configuration.isOn || !self.configuration.sendsByItself || self.isHolding {
            return self.table.all.allSatisfy(\.backlog.isWritten)
        }
        guard self.member.session.isAnnounced else { return false }
        let open = self.table.all.filter { $0.status.rejection == nil }
        return (!open.isEmpty || self.table.isEmpty)
            && open.allSatisfy { $0.isIdle && ($0.status.since != nil || $0.failure != nil) }
    }

    /// `true` if a program that replays a recording may continue with the next fix.
    ///
    /// This is so when the publisher has caught up. It is also so when the broker rejects the device or all its
    /// trackables.
    package var isReadyForNextFix: Bool {
        self.isReadyForFix || self.hasFailed || self.link.rejection != nil
            || (!self.table.isEmpty && self.areAllRejected)
    }

    private var areAllRejected: Bool {
        self.table.all.allSatisfy { $0.status.rejection != nil || $0.failure != nil }
    }

    /// `true` if a stopping publisher has nothing left to wait for, and may publish its goodbye.
    ///
    /// Trackables that the broker still rejects are given up.
    var isReadyToLeave: Bool {
        if !self.configuration.isOn { return self.table.all.allSatisfy(\.backlog.isWritten) }
        if self.hasFailed { return self.isCollisionOver || self.link.rejection != nil }
        if self.isReadyForFix { return self.areRecordsOut }
        // With a time limit, the rejection is waited out.
        if self.link.rejection != nil, self.stop == .finishing(by: nil) { return true }
        return self.member.session.isAnnounced && self.areAllRejected
    }

    /// `true` if a publisher whose trackables were taken over by others has sent everything that it still may send.
    ///
    /// That is its pending records, the event of the takeover, and its report of records that are gone.
    private var isCollisionOver: Bool {
        self.areRecordsOut
            && self.table.all.allSatisfy { trackable in
                trackable.failure?.code != .takenOver
                    || (trackable.backlog.isWritten && !trackable.backlog.spool.owesDeclaration)
            }
    }

    /// `true` if no batch of records is on its way to the broker, and no pending record could be published now.
    var areRecordsOut: Bool {
        !self.configuration.sendsByItself
            || self.table.all.allSatisfy { trackable in
                let (failure, spool) = (trackable.failure, trackable.backlog.spool)
                return trackable.status.rejection != nil || (failure != nil && failure?.code != .takenOver)
                    || (spool.isOpen ? spool.isQuiet : spool.unsent <= trackable.backlog.takenEarly.count)
            }
    }

    /// `true` if at least one trackable is tracked and every one failed for good, so that no new position can be
    /// published.
    package var hasFailed: Bool { !self.table.isEmpty && self.table.all.allSatisfy { $0.failure != nil } }

    // MARK: - Snapshot

    /// Returns the publisher's state at the given time, for callers.
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
