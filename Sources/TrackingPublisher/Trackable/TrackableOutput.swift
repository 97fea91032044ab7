import TrackingCore

extension TrackableStateMachine {
    /// The message that an acknowledgement of the broker belongs to.
    enum Publication: Hashable, Sendable {
        case update
        case raw
        case history
        case presence
        case resolution
        /// The end of a trip of a trackable that is not tracked any more.
        case departure
        /// A message whose acknowledgement changes nothing.
        case other
    }

    /// A decision about one trackable, for the publisher to carry out.
    enum Output: Hashable, Sendable {
        /// Publish a message.
        case publish(Topic, [UInt8], Publication)
        /// Clear a retained message, on the next connection where there is none now.
        case clear(Topic)
        /// Clear the presence, and the resolution where no other publisher may have published it.
        case withdraw
        /// Announce the trackable again within a second, for a member that arrived.
        case announceSoon
        /// Cancel the announcement that is scheduled.
        case cancelAnnouncement
        /// Subscribe to the trackable's topics, and announce it once its retained messages were received.
        case subscribe
        /// Subscribe to the command topic.
        case subscribeToCommands
        /// Ignore the answers to what was published of this kind.
        case ignoreAnswers(Publication)
        /// Ask something of the log.
        case log(PublisherStateMachine.LogAction)
        /// Give an action to the caller.
        case action(PublisherStateMachine.Action)
        /// Derive the sensor resolution anew.
        case updateSensorResolution
        /// Publish everything whose sending is deferred.
        case release
        /// The broker acknowledged an update, or a batch of this number of records.
        case acknowledged(batch: Int?)
        /// Records are safe.
        case safe(StreamID, SeqSet)
        /// The lease of a remote source ran out, and everything of it is safe: stop tracking the trackable.
        case leaseEnded
    }
}

extension TrackableStateMachine.Publication {
    /// `true` where an answer is ignored after the trackable was removed or switched off.
    var isIgnoredOnceRemoved: Bool {
        switch self {
        case .update, .raw, .history, .presence, .resolution: true
        case .departure, .other: false
        }
    }
}
