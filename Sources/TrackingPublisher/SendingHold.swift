import TrackingCore

/// The delay of sending: recorded positions and records wait until the device has covered some distance. A release ends
/// the wait early.
struct SendingHold: Sendable {
    /// The rule by which sending is delayed until the device has moved far enough; `nil` if sending is not delayed.
    private var rule: SendDeferral?
    /// `true` if, after the present event, all deferred records and positions are to be sent, although the device may
    /// not have moved far enough.
    private var isReleaseDue = false

    /// Makes the delay of sending that `rule` describes. With `nil`, nothing is delayed.
    init(rule: SendDeferral?) { self.rule = rule }

    /// `true` if a rule is configured that delays sending.
    var isDeferring: Bool { self.rule != nil }

    /// `true` while recorded positions wait until the device has moved far enough.
    var isHolding: Bool { self.rule?.isHolding == true }

    /// The time at which the delayed positions are sent even if the device has not moved far enough; `nil` while none
    /// is delayed.
    var nextDeadline: MonotonicTime? { self.rule?.nextDeadline }

    /// Replaces the rule for the delay; `nil` ends the delay. Everything recorded so far is sent.
    mutating func use(_ rule: SendDeferral?) { (self.rule, self.isReleaseDue) = (rule, true) }

    /// Requests that all deferred records and positions are sent after the present event, although the device may not
    /// have moved far enough.
    mutating func release() { self.isReleaseDue = true }

    /// Handles that a fix was recorded for every trackable. If the device has moved far enough since the last sending,
    /// everything recorded so far is sent after the present event.
    mutating func recorded(_ point: Location, now: MonotonicTime) {
        if self.rule?.recorded(point, now: now) == true { self.isReleaseDue = true }
    }

    /// Checks, after each event, if the delayed positions are to be sent now: after the longest delay, or because a
    /// release was requested. The request then counts as performed.
    ///
    /// - Returns: `true` if everything recorded so far is to be sent now, although it was delayed.
    mutating func takeRelease(now: MonotonicTime) -> Bool {
        if self.rule?.timerFired(now: now) == true { self.isReleaseDue = true }
        guard self.isReleaseDue else { return false }
        self.isReleaseDue = false
        guard self.rule != nil else { return false }
        self.rule?.release()
        return true
    }
}
