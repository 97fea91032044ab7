/// The identity of one run of a client program at the broker, from which its will is made.
public protocol MemberConfiguration: Sendable {
    /// The client id of the connection.
    var client: ClientID { get }
    /// The session id, which identifies this run of the program.
    var session: SessionID { get }
    /// The topic below which all topics of this deployment are.
    var topicRoot: TopicRoot { get }
}

extension MemberConfiguration {
    /// Returns the will for a connection: the message that the broker publishes when the connection ends without an
    /// orderly farewell. With it, the members on all trackables learn that this program is gone.
    ///
    /// - Parameter connection: The number of the connection within the session, from 0.
    public func will(connection: Int) -> OutgoingMessage {
        OutgoingMessage(
            topic: self.topicRoot.path(.liveness(self.client)),
            payload: MessageCodec.encode(SessionStateMachine.goodbye(session: self.session, connection: connection)),
            isRetained: true)
    }
}
