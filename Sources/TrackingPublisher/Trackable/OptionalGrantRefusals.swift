import TrackingCore

/// The optional permissions that the broker refuses for one trackable on this connection.
///
/// Without them, the trackable is published all the same.
struct OptionalGrantRefusals: Hashable, Sendable {
    /// An optional permission at the broker. Without it, the trackable is published nevertheless.
    enum Grant: Hashable, Sendable {
        /// The permission to subscribe to the topic on which the trackable gets commands.
        case commands
        /// The permission to publish the trackable's resolution in force.
        case resolution
        /// The permission to subscribe to the trackable's journey and to the estimates of its arrivals.
        case journey
        /// The permission to publish the trackable's destination as a journey.
        case destination
    }

    /// The optional permissions that the broker refuses now.
    private(set) var grants: Set<Grant> = []
    /// The time of the next attempt to use the refused permissions; `nil` if none is planned.
    private(set) var retryAt: MonotonicTime?
    private var backoff = Backoff(first: .seconds(1), maximum: .seconds(900))

    /// Handles the broker's answer to the use of an optional permission.
    ///
    /// A refused permission is tried again after waits that grow to 15 minutes.
    ///
    /// - Returns: `true` if the broker refuses the permission, and had not refused it before.
    mutating func answered(_ grant: Grant, isRefused: Bool, now: MonotonicTime) -> Bool {
        guard isRefused else {
            if self.grants.remove(grant) != nil, self.grants.isEmpty { self = OptionalGrantRefusals() }
            return false
        }
        if self.retryAt == nil { self.retryAt = now.advanced(by: self.backoff.next()) }
        return self.grants.insert(grant).inserted
    }

    /// Begins the next attempt to use the refused permissions.
    ///
    /// - Returns: The permissions to try.
    mutating func retry() -> Set<Grant> {
        self.retryAt = nil
        return self.grants
    }
}
