import TrackingCore

/// The types of the parts of a publisher's state.
extension PublisherStateMachine {
    /// The deadlines of a publisher for which a time is scheduled.
    enum Timer: Hashable, Sendable {
        /// Something is due for this trackable, such as a retry or the repetition of its position.
        case trackable(TrackableID)
        /// The callers that wait for a requested fix get an error.
        case report
        /// The stopping publisher closes the connection, even if records are unsent.
        case leave
    }

    /// The phase of a publisher's orderly stop.
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
}
