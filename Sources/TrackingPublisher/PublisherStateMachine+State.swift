import TrackingCore

/// The types of a publisher's state: scheduled times, phase of the stop, and purposes of requests to the broker.
extension PublisherStateMachine {
    /// The purposes of the deadlines that the publisher's state machine sets.
    enum Timer: Hashable, Sendable {
        /// The earliest deadline of this trackable, such as that of a retry or of the repetition of its position.
        case trackable(TrackableID)
        /// The longest wait for a requested fix is over: the callers that still wait for it get an error.
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
        /// The first subscription of a connection. Its filters begin with those of each of these trackables (at least
        /// three for each), in this order.
        case connecting([TrackableID])
        /// The last subscription of a connection. The broker's answer shows that all retained messages were received.
        ///
        /// `leftTo` are trackables that are no longer tracked. The connection also subscribed to their publishers'
        /// presences, to find out if other publishers track them.
        case settling([TrackableID], leftTo: [TrackableID])
        /// The subscription to the topics of a trackable that was added later, or is tried again after a rejection.
        case adding(TrackableID)
        /// A subscription after the one to the topics of this trackable. Its answer shows that all retained messages of
        /// the trackable were received.
        case entering(TrackableID)
        /// The publish or subscription is the one to the command topics of these trackables, in this order.
        case commands([TrackableID])
        /// The subscription to the journey of this trackable and to the estimates of its arrivals, in this order.
        case journey(TrackableID)
        /// A subscription after the one to the journey of this trackable. Its answer shows that the retained journey was
        /// received.
        case readingJourney(TrackableID)
        /// A published message about a trackable, of this kind.
        case trackable(TrackableID, TrackableStateMachine.Publication)
        /// A publish or subscription whose answer has no effect.
        case other
    }
}
