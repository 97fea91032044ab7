import TrackingCore

extension TrackableStateMachine {
    /// The kind of a published message, by which the broker's answer to it is handled.
    enum Publication: Hashable, Sendable {
        case update
        case raw
        case history
        case presence
        case resolution
        /// The end of the last trip, and its event, of a trackable that is no longer tracked.
        case departure
        /// A message for which the broker's answer has no effect.
        case other
    }

    /// A decision about one trackable, for the publisher to carry out.
    enum Output: Hashable, Sendable {
        /// Publish a message on this topic. The publication is the kind of the message, by which the broker's answer is
        /// handled.
        case publish(Topic, [UInt8], Publication)
        /// Clear a topic's retained message. Without a connection, this is done on the next one.
        case clear(Topic)
        /// Clear the publisher's presence of the trackable. The resolution is cleared too, unless other publishers are
        /// announced.
        case withdraw
        /// Publish the presence on the trackable again within a second, for example because a subscriber arrived.
        case announceSoon
        /// Cancel the planned repetition of the publisher's presence message on the trackable.
        case cancelAnnouncement
        /// Subscribe to the trackable's topics again. Their retained messages arrive before the trackable is announced.
        case subscribe
        /// Subscribe to the topic on which the trackable gets commands.
        case subscribeToCommands
        /// Ignore the broker's later answers to messages of this kind that were already published for the trackable.
        case ignoreAnswers(Publication)
        /// Pass a request to the device's log.
        case log(PublisherStateMachine.LogAction)
        /// Have the publisher perform this action, such as to answer a request or to deliver a changed state.
        case action(PublisherStateMachine.Action)
        /// Compute the resolution for the receiver again, from all trackables.
        case updateSensorResolution
        /// End the deferral of sending: send all positions and records of the device that wait because of it.
        case release
        /// Count for callers that wait for sending: the broker acknowledged a position (`nil`), or a batch with this
        /// number of records.
        case acknowledged(batch: Int?)
        /// Count for callers that wait for sending: these records became safe, because the required acknowledgement has
        /// arrived.
        case safe(StreamID, SeqSet)
        /// Stop tracking the trackable: the other system supplied no more records for some time, and all its records
        /// are safe.
        case leaseEnded
    }
}

extension TrackableStateMachine.Publication {
    /// `true` if the broker's answer to a message of this kind is ignored after the trackable was removed or the
    /// publisher was switched off.
    var isIgnoredOnceRemoved: Bool {
        switch self {
        case .update, .raw, .history, .presence, .resolution: true
        case .departure, .other: false
        }
    }
}
