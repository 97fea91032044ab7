/// The topic filters that the broker refuses on a connection, and the time of the next attempt to subscribe to them.
///
/// A refusal may be temporary: rights may be granted later, or the broker may have been overloaded. The first new
/// attempt follows after 1 s, and the wait doubles with each refusal up to 15 minutes.
package struct FilterRefusals<Filter: Hashable & Sendable>: Sendable {
    private var reasons: [Filter: TrackingError] = [:]
    private var backoff = Backoff(first: .seconds(1), maximum: .seconds(15 * 60))
    /// The time of the next attempt to subscribe to the refused filters; `nil` if none is scheduled.
    package private(set) var retryAt: MonotonicTime?

    /// Makes a value without refusals.
    package init() {}

    /// `true` while the broker refuses no filter.
    package var isEmpty: Bool { self.reasons.isEmpty }

    /// The broker's reason for refusing a filter; `nil` if the filter is not refused.
    package subscript(_ filter: Filter) -> TrackingError? { self.reasons[filter] }

    /// Stores the broker's answer for one filter: its refusal, or `nil` when it granted the filter. Call
    /// ``scheduleRetry(now:)`` after the last answer of a SUBACK packet.
    package mutating func answered(_ filter: Filter, _ refusal: TrackingError?) { self.reasons[filter] = refusal }

    /// Schedules the next attempt to subscribe, if a filter is refused and no attempt is scheduled.
    package mutating func scheduleRetry(now: MonotonicTime) {
        guard !self.reasons.isEmpty else {
            self.backoff.reset()
            self.retryAt = nil
            return
        }
        guard self.retryAt == nil else { return }
        self.retryAt = now.advanced(by: self.backoff.next())
    }

    /// Returns the refused filters to subscribe to again, if the time of the next attempt has come; otherwise none.
    package mutating func retryDue(now: MonotonicTime) -> [Filter] {
        guard let retryAt = self.retryAt, retryAt <= now else { return [] }
        self.retryAt = nil
        return Array(self.reasons.keys)
    }

    /// Forgets the refusal of a filter that the client does not subscribe to any more.
    package mutating func remove(_ filter: Filter) { self.reasons[filter] = nil }

    /// Cancels the next attempt to subscribe, because the connection was lost. The refusals remain known until the next
    /// connection.
    package mutating func disconnected() { self.retryAt = nil }

    /// Forgets all refusals at the begin of a connection, because the role subscribes to all filters again. The wait
    /// continues to grow until the broker grants all filters.
    package mutating func connected() { (self.reasons, self.retryAt) = ([:], nil) }
}
