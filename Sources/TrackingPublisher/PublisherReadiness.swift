import TrackingCore

/// The progress of a publisher at one moment. It decides if the publisher has caught up, and if a stopping publisher
/// may leave the broker.
package struct PublisherReadiness: Sendable {
    let table: TrackableTable
    /// `true` while the publisher is switched on, that is, records and publishes fixes.
    let isOn: Bool
    /// `true` if the publisher sends records by itself, without a request of the caller.
    let sendsByItself: Bool
    /// `true` while sending is deferred by the publisher's deferral rule, until the device has moved far enough.
    let isHolding: Bool
    /// `true` while the publisher is connected to the broker and has announced itself as online.
    let isAnnounced: Bool
    /// The reason why the broker rejects this device as a whole; `nil` while it does not.
    let rejection: TrackingError?
    /// The phase of the publisher's orderly stop; `nil` before the stop.
    let stop: PublisherStateMachine.Stop?

    /// `true` if the publisher has caught up with its live positions: it is announced at the broker, no record is being
    /// written to the log, and no live position waits to be published or for its acknowledgement. Records may still
    /// have to be sent in batches.
    ///
    /// Trackables that the broker rejects are ignored, unless it rejects all. While the publisher is off, or sending is
    /// deferred or manual, positions only have to be written to the log.
    package var isReadyForFix: Bool {
        // If records are published only on request, a record in the log needs no further step.
        if !self.isOn || !self.sendsByItself || self.isHolding { return self.isWritten }
        guard self.isAnnounced else { return false }
        let open = self.table.all.filter { $0.status.rejection == nil }
        return (!open.isEmpty || self.table.isEmpty)
            && open.allSatisfy { $0.isIdle && ($0.status.since != nil || $0.failure != nil) }
    }

    /// `true` if a program that replays a recording may continue with the next fix.
    ///
    /// This is so when the publisher has caught up. It is also so when the broker rejects the device or all its
    /// trackables.
    package var isReadyForNextFix: Bool {
        self.isReadyForFix || self.hasFailed || self.rejection != nil || (!self.table.isEmpty && self.areAllRejected)
    }

    /// `true` if at least one trackable is tracked and every one failed for good, so that no new position can be
    /// published.
    package var hasFailed: Bool { !self.table.isEmpty && self.table.all.allSatisfy { $0.failure != nil } }

    /// `true` if a stopping publisher has nothing left to wait for, and may publish its goodbye.
    ///
    /// Trackables that the broker still rejects are given up.
    var isReadyToLeave: Bool {
        if !self.isOn { return self.isWritten }
        if self.hasFailed { return self.isCollisionOver || self.rejection != nil }
        if self.isReadyForFix { return self.areRecordsOut }
        // With a time limit, the rejection is waited out.
        if self.rejection != nil, !self.isLimited { return true }
        return self.isAnnounced && self.areAllRejected
    }

    /// `true` if no batch of records is on its way to the broker, and no pending record could be published now. Always
    /// `true` if records are sent on request only.
    var areRecordsOut: Bool {
        !self.sendsByItself
            || self.table.all.allSatisfy { trackable in
                let (failure, spool) = (trackable.failure, trackable.backlog.spool)
                return trackable.status.rejection != nil || (failure != nil && failure?.code != .takenOver)
                    || (spool.isOpen ? spool.isQuiet : spool.unsent <= trackable.backlog.takenEarly.count)
            }
    }

    /// The trackables whose positions a stopping publisher leaves unsent because the broker rejects them, each with the
    /// reason.
    var givenUp: [(id: TrackableID, reason: TrackingError)] {
        self.table.all.compactMap { trackable in
            // With a time limit, the end may come before the broker rejected anything of the trackable.
            let isComplete = trackable.failure != nil || (self.isLimited && trackable.isSent)
            let rejection = trackable.status.rejection?.error ?? (isComplete ? nil : self.rejection)
            return rejection.map { (trackable.id, $0) }
        }
    }

    private var isLimited: Bool { self.stop != .finishing(by: nil) }

    private var isWritten: Bool { self.table.all.allSatisfy(\.backlog.isWritten) }

    private var areAllRejected: Bool {
        self.table.all.allSatisfy { $0.status.rejection != nil || $0.failure != nil }
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
}
