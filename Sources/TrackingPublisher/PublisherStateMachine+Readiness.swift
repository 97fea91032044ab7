import TrackingCore

/// What may be waited for, and what not.
extension PublisherStateMachine {
    /// Whether everything captured so far was acknowledged or kept back, on a connection that stands. A trackable that the
    /// broker refuses does not hold up the others.
    public var isReadyForFix: Bool {
        // Where nothing goes by itself, not yet or not at all, what is in the log is taken care of.
        if !self.configuration.isOn || !self.sendsByItself || self.isHolding {
            return self.assets.values.allSatisfy(\.isWritten)
        }
        let open = self.assets.values.filter { $0.refusal == nil }
        return self.session.isAnnounced && (!open.isEmpty || self.assets.isEmpty)
            && open.allSatisfy { $0.isIdle && ($0.since != nil || $0.failure != nil) }
    }

    /// Whether who reads a recording in bulk may go on: everything is acknowledged, or the broker refuses this device or
    /// everything that it carries, which waiting does not change.
    public var isReadyForNextFix: Bool {
        self.isReadyForFix || self.hasFailed || self.connectionRefusal != nil
            || (!self.assets.isEmpty && self.assets.values.allSatisfy { $0.refusal != nil || $0.failure != nil })
    }

    /// Whether there is nothing left to wait for before leaving: what the broker still refuses is given up.
    var isReadyToLeave: Bool {
        if !self.configuration.isOn { return self.assets.values.allSatisfy(\.isWritten) }
        if self.hasFailed { return self.isCollisionOver || self.connectionRefusal != nil }
        if self.isReadyForFix { return self.areRecordsOut }
        // Where leave is taken within a time, that is waited for.
        if self.connectionRefusal != nil, self.stop == .finishing(by: nil) { return true }
        return self.session.isAnnounced && self.assets.values.allSatisfy { $0.refusal != nil || $0.failure != nil }
    }

    /// Whether all that another publisher's arrival left is sent: the rest, what was cleared, and the collision itself.
    private var isCollisionOver: Bool {
        self.areRecordsOut
            && self.assets.values.allSatisfy { asset in
                asset.failure?.code != .takenOver || (asset.isWritten && !asset.spool.owesDeclaration)
            }
    }

    /// Whether no record is on its way, and none waits that could be.
    var areRecordsOut: Bool {
        !self.sendsByItself
            || self.assets.values.allSatisfy { asset in
                asset.refusal != nil || (asset.failure != nil && asset.failure?.code != .takenOver)
                    || (asset.spool.isOpen ? asset.spool.isQuiet : asset.spool.unsent <= asset.takenEarly.count)
            }
    }

    /// Whether nothing can be sent any more: every trackable failed.
    public var hasFailed: Bool { !self.assets.isEmpty && self.assets.values.allSatisfy { $0.failure != nil } }
}
