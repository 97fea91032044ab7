import TrackingCore

/// The state of a publisher's connection to the broker, as callers see it.
struct PublisherLink: Sendable {
    /// The state of the connection to the broker, as snapshots of the publisher contain it.
    private(set) var status = PublisherSnapshot.Link()
    /// The reason why the broker rejects this device as a whole, not one trackable; `nil` if it does not.
    private(set) var rejection: TrackingError?

    /// Registers that the connection to the broker was made at the given time. An earlier rejection of this device by
    /// the broker is forgotten.
    mutating func connected(at wall: UnixTime) {
        self.rejection = nil
        self.status = .init(isUp: true, since: wall)
    }

    /// Registers that the connection to the broker was lost or could not be made: stores the time, the reason, and the
    /// broker's rejection if it rejects this device.
    mutating func disconnected(_ disconnection: Disconnection, at wall: UnixTime) {
        self.status = .init(
            isUp: false, since: self.status.isUp ? wall : self.status.since ?? wall,
            reason: disconnection.reason?.message ?? self.status.reason)
        if let failure = disconnection.failure { self.rejection = failure.isIdentityRefusal ? failure : nil }
    }

    /// Forgets that the broker rejects this device, because a stopping publisher tries to connect once more.
    mutating func stopped() { self.rejection = nil }
}
