/// The identity of one run of a client program at the broker, from which its will is made.
public protocol MemberConfiguration: Sendable {
    /// The client id of the connection.
    var client: ClientID { get }
    /// The run of the program.
    var session: SessionID { get }
    /// The root of the topics in the broker's tree.
    var topicRoot: TopicRoot { get }
}

extension MemberConfiguration {
    /// Returns the will: the message that the broker publishes when the connection of this number ends without a
    /// goodbye. It informs the members on every trackable at once that the program is gone.
    public func will(connection: Int) -> OutgoingMessage {
        OutgoingMessage(
            topic: self.topicRoot.path(.liveness(self.client)),
            payload: MessageCodec.encode(SessionStateMachine.goodbye(session: self.session, connection: connection)),
            isRetained: true)
    }
}
