import TrackingCore

extension TrackableStateMachine {
    /// The kind of a message that was published for the trackable. The kind decides how the broker's answer is handled.
    enum Publication: Hashable, Sendable {
        case update
        case raw
        case history
        case presence
        case resolution
        /// The journey to the destination.
        case journey
        /// The end of the last trip, and its event, of a trackable that is no longer tracked.
        case departure
        /// A message for which the broker's answer has no effect.
        case other
    }

    /// A decision about one trackable, for the publisher to carry out.
    enum Output: Hashable, Sendable {
        /// Publish these bytes as a message on this topic. The kind of the message decides how the broker's answer is
        /// handled.
        case publish(Topic, [UInt8], Publication)
        /// Clear a topic's retained message. Without a connection, this is done on the next one.
        case clear(Topic)
        /// Clear the publisher's presence of the trackable. The resolution and the journey to the destination are
        /// cleared too, unless other publishers are announced.
        case withdraw
        /// Publish this publisher's presence message on the trackable again within a second, for example because a
        /// subscriber arrived.
        case announceSoon
        /// Cancel the scheduled repetition of this publisher's presence message on the trackable.
        case cancelAnnouncement
        /// Subscribe to the trackable's topics again. Their retained messages arrive before the trackable is announced.
        case subscribe
        /// Subscribe to the topic on which the trackable gets commands.
        case subscribeToCommands
        /// Subscribe to the trackable's journey and to the estimates of its arrivals.
        case subscribeToJourney
        /// Unsubscribe from the trackable's journey and from the estimates of its arrivals.
        case unsubscribeFromJourney
        /// Ignore the answers that the broker has not yet given to this trackable's published messages of this kind.
        case ignoreAnswers(Publication)
        /// Pass a request to the device's log.
        case log(PublisherStateMachine.LogAction)
        /// Add this action to the actions that the publisher performs for its caller, for example the delivery of an
        /// answer or of a changed state.
        case action(PublisherStateMachine.Action)
        /// Compute the resolution for the source of fixes again, from all tracked trackables, and pass it to the source
        /// if it changed.
        case updateSensorResolution
        /// End the deferral of sending: send all positions and records of the device that wait because of it.
        case release
        /// Count in the callers' requests to send records that the broker acknowledged a position (`nil`), or a batch
        /// with this number of records.
        case acknowledged(batch: Int?)
        /// Report to the callers' requests to send records that these records became safe: their required
        /// acknowledgement has arrived.
        case safe(StreamID, SeqSet)
        /// Stop tracking the trackable: the system that supplies its records (for example over HTTP) supplied none for
        /// some time, and all its records are safe.
        case leaseEnded
    }
}

extension TrackableStateMachine.Publication {
    /// `true` if the broker's answer to a message of this kind is ignored after the trackable was removed or the
    /// publisher was switched off.
    var isIgnoredOnceRemoved: Bool {
        switch self {
        case .update, .raw, .history, .presence, .resolution, .journey: true
        case .departure, .other: false
        }
    }
}
