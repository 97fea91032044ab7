import TrackingCore

/// The part of the state machine that says when it must be called again. It changes nothing.
extension TrackableStateMachine {
    /// The deadlines of a trackable.
    enum Timer: CaseIterable {
        case silence, retry, optionalGrants, spool, trip, resolution, requests, lease, intake, prediction
    }

    /// Returns the next time at which ``timerFired(_:)`` must be called for this trackable; `nil` for none.
    func nextDeadline(_ context: TrackableContext) -> MonotonicTime? {
        Timer.allCases.reduce(nil) { .earlier($0, self.deadline(of: $1, context)) }
    }

    /// Returns the time at which this deadline passes; `nil` for never.
    func deadline(of timer: Timer, _ context: TrackableContext) -> MonotonicTime? {
        switch timer {
        case .silence:
            context.isAnnounced && context.sendsByItself && self.status.isSending && self.trackable.isRepeated
                ? self.live.lane.silenceDeadline(isHolding: context.isHolding) : nil
        case .retry: self.status.rejection?.retryAt
        case .optionalGrants: self.optionalGrants.retryAt
        case .spool: self.backlog.spool.nextDeadline
        case .trip: self.trips.machine.nextDeadline
        case .resolution: self.resolution.deadline
        case .requests: self.requests.confirmationDeadline
        case .lease: self.feed.remote?.leaseEnd
        case .intake: self.feed.remote?.intake.nextDeadline
        case .prediction: self.predictionDeadline(context)
        }
    }
}
