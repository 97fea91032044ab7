/// The topic filters to which the broker refuses to let the client subscribe, with the time of the next attempt.
///
/// A refusal may be temporary: rights may be granted later, or the broker may have been overloaded. The first new
/// attempt follows after 1 s. The wait doubles with each refused attempt, up to 15 minutes.
package struct FilterRefusals<Filter: Hashable & Sendable>: Sendable {
    private var reasons: [Filter: TrackingError] = [:]
    private var backoff = Backoff(first: .seconds(1), maximum: .seconds(15 * 60))
    /// The time of the next attempt to subscribe to the refused filters; `nil` if none is scheduled.
    package private(set) var retryAt: MonotonicTime?

    /// Makes an empty set of refused topic filters.
    package init() {}

    /// `true` while this set contains no refused topic filter.
    package var isEmpty: Bool { self.reasons.isEmpty }

    /// The reason with which the broker refused the filter; `nil` if the filter is not refused.
    package subscript(_ filter: Filter) -> TrackingError? { self.reasons[filter] }

    /// Stores the broker's answer for one topic filter: the reason of its refusal, or `nil` when the broker granted it.
    /// After all answers of a SUBACK packet, the caller calls ``scheduleRetry(now:)``.
    package mutating func answered(_ filter: Filter, _ refusal: TrackingError?) { self.reasons[filter] = refusal }

    /// Schedules the next attempt to subscribe to the refused filters, unless an attempt is scheduled already. If no
    /// filter is refused, no attempt is scheduled, and after a later refusal the growing waits begin with the shortest
    /// one again.
    package mutating func scheduleRetry(now: MonotonicTime) {
        guard !self.reasons.isEmpty else {
            self.backoff.reset()
            self.retryAt = nil
            return
        }
        guard self.retryAt == nil else { return }
        self.retryAt = now.advanced(by: self.backoff.next())
    }

    /// Returns the refused filters if the time of the next attempt to subscribe to them has come, and clears that time.
    /// Returns an empty list before that time.
    package mutating func retryDue(now: MonotonicTime) -> [Filter] {
        guard let retryAt = self.retryAt, retryAt <= now else { return [] }
        self.retryAt = nil
        return Array(self.reasons.keys)
    }

    /// Forgets the refusal of a topic filter to which the client no longer wants to subscribe.
    package mutating func remove(_ filter: Filter) { self.reasons[filter] = nil }

    /// Cancels the next attempt to subscribe to the refused filters, because the connection was lost. The refusals
    /// remain stored until ``connected()`` is called.
    package mutating func disconnected() { self.retryAt = nil }

    /// Forgets all refusals at the start of a connection, because the client subscribes to all its filters again. If
    /// the broker refuses filters again, the wait before the next attempt continues to double. It begins with 1 s again
    /// only after the broker has granted all filters.
    package mutating func connected() { (self.reasons, self.retryAt) = ([:], nil) }
}
