/// The values that a member's state machine returns to its caller.
extension MemberStateMachine {
    /// A result that the state machine returns to its caller (publisher, subscriber or recorder): commands to send, a
    /// change in the presence of another client, or an ignored message. It follows from a received message or a
    /// deadline.
    package enum Event: Hashable, Sendable {
        /// The caller must send these commands to the broker, in order.
        case send([TransportCommand])
        /// A publisher or subscriber that was not present on a trackable is now present on it.
        case arrived(Member)
        /// A publisher or subscriber that was present already announced its presence again in the same run, for example
        /// after a reconnect.
        case changed(Member)
        /// A publisher or subscriber that was present on a trackable is no longer present.
        case left(Member)
        /// The caller must repeat this client's announcement on these trackables now: publish the client's liveness
        /// once, and then its presence on each trackable.
        case announcementsDue([TrackableID])
        /// A received message was ignored. Either it cannot be read, or it would make this program follow the liveness
        /// of more clients than it may.
        case badMessage(topic: String, TrackingError)
    }

    /// The result of ``received(_:now:)``: the kind of the received message, and the commands or events that follow
    /// from it.
    package enum Reception: Hashable, Sendable {
        /// The topic of the message is not one of Godwit's topics below this system's topic root. The message is
        /// ignored.
        case foreign
        /// A message on another of Godwit's topics, such as a position or a command. The value is the topic. The state
        /// machine has not decoded the payload; the caller (publisher, subscriber or recorder) decodes it.
        case role(Topic)
        /// A presence message: a client announces that it is present on a trackable, or withdraws that announcement.
        /// The state machine has only decoded it. If the caller follows the trackable, it passes the message to
        /// ``note(_:now:)``.
        case presence(ReceivedPresence)
        /// The message was on the topic of this client's own liveness. It may come from this client or from another
        /// program. The commands, if any, publish "online" again, because the message replaced or cleared it.
        case ownLiveness([TransportCommand])
        /// A liveness message of another client: online or offline. `isLive` is `false` for the broker's retained copy
        /// and for a cleared message. The caller handles the events, which are the resulting changes.
        case liveness(of: ClientID, isLive: Bool, [Event])
    }

    /// The sender of a publish or subscription that the broker has answered: the caller, with its purpose, or the state
    /// machine itself.
    package enum Answer: Hashable, Sendable {
        /// The caller (publisher, subscriber or recorder) made the request for this purpose.
        case role(Purpose)
        /// The state machine itself published its liveness or cleared a message. The value is the topic.
        case own(Topic)
        /// The answered request is the state machine's own subscription to the liveness message of another client.
        case liveness
    }

    /// The result of ``settled(now:)``: what the client does after the broker answered its last subscription.
    package enum Settlement: Hashable, Sendable {
        /// The client announces itself now. The caller sends these commands, which publish the client's liveness, and
        /// then publishes its presences and requests.
        case announced([TransportCommand])
        /// Another program uses the same client id. The client fails with this error and closes its connection without
        /// publishing a message.
        case takenOver(TrackingError)
        /// The caller has nothing to do, because the client has no connection, or has already announced itself on this
        /// connection.
        case notConnected
    }
}
