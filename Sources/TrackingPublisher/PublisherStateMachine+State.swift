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

    /// The state of the publisher that decides how each of its trackables goes on.
    struct Conditions: Hashable, Sendable {
        var isOn: Bool
        var isAnnounced: Bool
        var isAlive: Bool
        var sendsByItself: Bool
        var isHolding: Bool
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

    /// The callers that wait until records are sent, and the times of sending.
    struct Sending: Sendable {
        var requests: [SendingRequest] = []
        /// The time at which an update or a batch was last published.
        var lastAttempt: UnixTime?
        /// The time at which one was last acknowledged.
        var lastAcknowledged: UnixTime?
    }
}
