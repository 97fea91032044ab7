import TrackingCore

/// The delay of sending until the device has covered some distance, and the releases that end a delay early.
struct SendingHold: Sendable {
    /// The rule for delaying; `nil` if sending is not delayed.
    private var rule: SendDeferral?
    /// `true` if everything recorded so far is to be sent after the present event, in spite of the delay.
    private var isReleaseDue = false

    /// Makes a delay by a rule; `nil` delays nothing.
    init(rule: SendDeferral?) { self.rule = rule }

    /// `true` if sending can be delayed.
    var isDeferring: Bool { self.rule != nil }

    /// `true` while recorded positions are delayed.
    var isHolding: Bool { self.rule?.isHolding == true }

    /// The time at which the delayed positions are sent at the latest; `nil` while none is delayed.
    var nextDeadline: MonotonicTime? { self.rule?.nextDeadline }

    /// Uses another rule, or none. Everything recorded so far is sent.
    mutating func use(_ rule: SendDeferral?) { (self.rule, self.isReleaseDue) = (rule, true) }

    /// Makes sure that everything recorded so far is sent after the present event, in spite of the delay.
    mutating func release() { self.isReleaseDue = true }

    /// Handles that a fix was recorded for every trackable. If the device has moved far enough, the delay ends.
    mutating func recorded(_ point: Location, now: MonotonicTime) {
        if self.rule?.recorded(point, now: now) == true { self.isReleaseDue = true }
    }

    /// Ends a delay that has lasted too long, and takes a release that is due.
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
