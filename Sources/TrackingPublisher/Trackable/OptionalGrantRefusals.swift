import TrackingCore

/// The optional grants that the broker refuses for one trackable on this connection. The trackable is published
/// without them.
struct OptionalGrantRefusals: Hashable, Sendable {
    /// A right that a trackable can do without.
    enum Grant: Hashable, Sendable {
        /// Subscribing to the command topic.
        case commands
        /// Publishing the resolution in force.
        case resolution
    }

    /// The refused grants.
    private(set) var grants: Set<Grant> = []
    /// The moment of the next attempt; `nil` where none is due.
    private(set) var retryAt: MonotonicTime?
    private var backoff = Backoff(first: .seconds(1), maximum: .seconds(900))

    /// The broker answered. A refused grant is asked for again after waits that grow to 15 minutes.
    mutating func answered(_ grant: Grant, isRefused: Bool, now: MonotonicTime) {
        guard isRefused else {
            guard self.grants.remove(grant) != nil, self.grants.isEmpty else { return }
            self = OptionalGrantRefusals()
            return
        }
        self.grants.insert(grant)
        guard self.retryAt == nil else { return }
        self.retryAt = now.advanced(by: self.backoff.next())
    }

    /// Begins the next attempt.
    ///
    /// - Returns: The grants to ask for.
    mutating func retry() -> Set<Grant> {
        self.retryAt = nil
        return self.grants
    }
}
