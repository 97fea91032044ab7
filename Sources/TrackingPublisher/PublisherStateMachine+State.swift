import TrackingCore

/// The parts of a publisher's state.
extension PublisherStateMachine {
    enum Timer: Hashable, Sendable {
        /// Something of this trackable is due.
        case trackable(TrackableID)
        /// The callers that wait for a fix get an error.
        case report
        /// The publisher closes the connection, whatever is unsent.
        case leave
    }

    enum Stop: Hashable, Sendable {
        /// The publisher waits for acknowledgements. Can transition to: `closing`.
        case finishing(by: MonotonicTime?)
        /// The goodbye was published. Final.
        case closing
    }

    /// The reason for a request to the broker.
    enum Purpose: Hashable, Sendable {
        /// The first subscription of a connection: three filters or more for each of these trackables, in this order.
        case connecting([TrackableID])
        /// The last subscription of a connection: its answer follows every retained message. `leftTo` are trackables
        /// that are not tracked, and whose publishers were asked for.
        case settling([TrackableID], leftTo: [TrackableID])
        /// The subscription of a trackable.
        case adding(TrackableID)
        /// A subscription whose answer follows every retained message of this trackable.
        case entering(TrackableID)
        /// The command topics of these trackables, in this order.
        case commands([TrackableID])
        /// A message about a trackable.
        case trackable(TrackableID, TrackableStateMachine.Publication)
        /// A message or subscription whose answer changes nothing.
        case other
    }

    /// The connection as callers see it.
    struct Link: Sendable {
        /// The connection in a snapshot.
        private(set) var status = PublisherSnapshot.Link()
        /// The reason why the broker rejects this device as a whole; `nil` while it does not, or is asked again.
        var rejection: TrackingError?

        /// A connection was made.
        mutating func connected(at wall: UnixTime) {
            self.rejection = nil
            self.status = .init(isUp: true, since: wall)
        }

        /// The connection was lost, or could not be made.
        mutating func disconnected(_ disconnection: Disconnection, at wall: UnixTime) {
            self.status = .init(
                isUp: false, since: self.status.isUp ? wall : self.status.since ?? wall,
                reason: disconnection.reason?.message ?? self.status.reason)
            if let failure = disconnection.failure { self.rejection = failure.isIdentityRefusal ? failure : nil }
        }
    }

    /// Sending that waits until the device has covered some distance.
    struct Deferral: Sendable {
        /// The rule; `nil` where nothing is deferred.
        var rule: SendDeferral?
        /// `true` where everything that is deferred is released at the end of this step.
        var isReleaseDue = false
    }

    /// The clock, the battery and the sensor of the device.
    struct Device: Sendable {
        var clock = ClockStep()
        /// Decides whether records may be removed for their age.
        var ages = AgeTrust()
        /// The charge of the battery in percent; `nil` is unknown.
        var battery: Double?
        /// The resolution that the source was asked for.
        var sensor: Resolution?
    }
}
