import TrackingCore

/// The state of a publisher's connection to the broker, as callers see it.
struct PublisherLink: Sendable {
    /// The state of the connection as it appears in a snapshot.
    private(set) var status = PublisherSnapshot.Link()
    /// The reason why the broker rejects this device as a whole, not one trackable; `nil` if it does not.
    private(set) var rejection: TrackingError?

    /// Handles that a connection was made.
    mutating func connected(at wall: UnixTime) {
        self.rejection = nil
        self.status = .init(isUp: true, since: wall)
    }

    /// Handles that the connection was lost or could not be made.
    mutating func disconnected(_ disconnection: Disconnection, at wall: UnixTime) {
        self.status = .init(
            isUp: false, since: self.status.isUp ? wall : self.status.since ?? wall,
            reason: disconnection.reason?.message ?? self.status.reason)
        if let failure = disconnection.failure { self.rejection = failure.isIdentityRefusal ? failure : nil }
    }

    /// Handles that the publisher stops: it tries the rejected connection once more.
    mutating func stopped() { self.rejection = nil }
}
