/// The filters that the broker refuses on a connection, and the time of the next attempt to subscribe to them.
///
/// A refusal may be temporary: rights may be granted, or the broker may have been overloaded. The first attempt follows
/// after 1 s, and the wait doubles with each refusal up to 15 minutes.
package struct FilterRefusals<Filter: Hashable & Sendable>: Sendable {
    private var reasons: [Filter: TrackingError] = [:]
    private var backoff = Backoff(first: .seconds(1), maximum: .seconds(15 * 60))
    /// The time of the next attempt; `nil` if none is scheduled.
    package private(set) var retryAt: MonotonicTime?

    /// Makes a value without refusals.
    package init() {}

    /// `true` while the broker refuses nothing.
    package var isEmpty: Bool { self.reasons.isEmpty }

    /// The reason for which a filter is refused; `nil` if it is not.
    package subscript(_ filter: Filter) -> TrackingError? { self.reasons[filter] }

    /// The broker granted a filter (`nil`) or refused it. ``scheduleRetry(now:)`` follows the last answer of a packet.
    package mutating func answered(_ filter: Filter, _ refusal: TrackingError?) { self.reasons[filter] = refusal }

    /// Schedules the next attempt, where something is refused and none is scheduled.
    package mutating func scheduleRetry(now: MonotonicTime) {
        guard !self.reasons.isEmpty else {
            self.backoff.reset()
            self.retryAt = nil
            return
        }
        guard self.retryAt == nil else { return }
        self.retryAt = now.advanced(by: self.backoff.next())
    }

    /// Returns the filters to subscribe to again, if the time for that has come.
    package mutating func retryDue(now: MonotonicTime) -> [Filter] {
        guard let retryAt = self.retryAt, retryAt <= now else { return [] }
        self.retryAt = nil
        return Array(self.reasons.keys)
    }

    /// Forgets a filter that is not subscribed any more.
    package mutating func remove(_ filter: Filter) { self.reasons[filter] = nil }

    /// Cancels the attempt, because the connection was lost. The refusals remain known until the next connection.
    package mutating func disconnected() { self.retryAt = nil }

    /// Forgets all refusals, because the role subscribes to all filters again. The wait continues to grow until all are
    /// granted.
    package mutating func connected() { (self.reasons, self.retryAt) = ([:], nil) }
}
