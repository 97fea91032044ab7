/// What names one run of a client program to the broker; its will is made of nothing else.
public protocol MemberConfiguration: Sendable {
    /// The name of the connection.
    var client: ClientID { get }
    /// This run of the program.
    var session: SessionID { get }
    /// Where in the broker's tree the topics live.
    var topicRoot: TopicRoot { get }
}

extension MemberConfiguration {
    /// What the broker is to say when the connection of this number ends without a goodbye, so that a program that dies is
    /// known to be gone at once, on every trackable.
    public func will(connection: Int) -> OutgoingMessage {
        OutgoingMessage(
            topic: self.topicRoot.path(.liveness(self.client)),
            payload: MessageCodec.encode(SessionStateMachine.goodbye(session: self.session, connection: connection)),
            isRetained: true)
    }
}
