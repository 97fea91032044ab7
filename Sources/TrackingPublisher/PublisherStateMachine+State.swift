import TrackingCore

/// The types of the parts of a publisher's state.
extension PublisherStateMachine {
    enum Timer: Hashable, Sendable {
        /// Something is due for this trackable, such as a retry or the repetition of its position.
        case trackable(TrackableID)
        /// The callers that wait for a requested fix get an error.
        case report
        /// The stopping publisher closes the connection, even if records are unsent.
        case leave
    }

    enum Stop: Hashable, Sendable {
        /// The publisher stops and waits for acknowledgements until `by` at the latest. Can transition to: `closing`.
        case finishing(by: MonotonicTime?)
        /// The stopping publisher has published its goodbye and closes the connection. Final.
        case closing
    }

    /// The purpose of a subscription or publish, by which the broker's answer is handled.
    enum Purpose: Hashable, Sendable {
        /// The first subscription of a connection. It has at least three filters for each of these trackables, in this
        /// order.
        case connecting([TrackableID])
        /// The last subscription of a connection. The broker's answer shows that all retained messages were received.
        ///
        /// `leftTo` are trackables that are no longer tracked. The connection also asked if other publishers track
        /// them.
        case settling([TrackableID], leftTo: [TrackableID])
        /// The subscription to the topics of a trackable that was added or is tried again.
        case adding(TrackableID)
        /// A subscription after the one to the topics of this trackable. Its answer shows that all retained messages of
        /// the trackable were received.
        case entering(TrackableID)
        /// The subscription to the command topics of these trackables, in this order.
        case commands([TrackableID])
        /// A published message about a trackable, of this kind.
        case trackable(TrackableID, TrackableStateMachine.Publication)
        /// A publish or subscription whose answer has no effect.
        case other
    }

    /// The state of the broker connection, as callers see it.
    struct Link: Sendable {
        /// The state of the connection as it appears in a snapshot.
        private(set) var status = PublisherSnapshot.Link()
        /// The reason why the broker rejects this device as a whole, not one trackable; `nil` if it does not.
        ///
        /// Connecting or stopping resets the reason.
        var rejection: TrackingError?

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
    }

    /// The delay of sending until the device has covered some distance.
    struct Deferral: Sendable {
        /// The rule for delaying; `nil` if sending is not delayed.
        var rule: SendDeferral?
        /// `true` if everything recorded so far is to be sent after the present event, in spite of the delay.
        var isReleaseDue = false
    }

    /// The publisher's knowledge of the device's clock, its battery, and the resolution of its receiver.
    struct Device: Sendable {
        var clock = ClockStep()
        /// Decides whether the device's clock can be trusted to remove records because of their age.
        var ages = AgeTrust()
        /// The charge of the battery in percent; `nil` is unknown.
        var battery: Double?
        /// The resolution that the publisher last requested from the source of fixes; `nil` before the first request.
        var sensor: Resolution?
    }
}
