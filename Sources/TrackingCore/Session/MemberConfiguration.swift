/// The identity of one run of a client program: its client id, its session id and the root of its topics. The program's
/// will (the MQTT last will) is made from it.
public protocol MemberConfiguration: Sendable {
    /// The client id with which the program connects to the broker.
    var client: ClientID { get }
    /// The session id, which identifies this run of the program.
    var session: SessionID { get }
    /// The topic root, the first levels of all Godwit topics of this installation.
    var topicRoot: TopicRoot { get }
    /// The time for which other programs still count this client as present after its connection broke; `nil` for no
    /// such time.
    var remainsPresentFor: Duration? { get }
}

extension MemberConfiguration {
    /// No time: other programs count the client as gone when its connection breaks.
    public var remainsPresentFor: Duration? { nil }

    /// Returns the client's MQTT will, the retained message that the broker publishes when the connection breaks
    /// without a DISCONNECT. By this message, all other clients learn that this program is offline.
    ///
    /// - Parameter connection: The number of the connection in this run of the program, from 0.
    public func will(connection: Int) -> OutgoingMessage {
        OutgoingMessage(
            topic: self.topicRoot.path(.liveness(self.client)),
            payload: MessageCodec.encode(
                SessionStateMachine.goodbye(
                    session: self.session, connection: connection, remainsPresentFor: self.remainsPresentFor)),
            isRetained: true)
    }
}
