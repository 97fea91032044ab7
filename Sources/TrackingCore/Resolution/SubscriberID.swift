/// The identity of one subscriber of a trackable: one run of one client program. Two connections are two subscribers.
public struct SubscriberID: Hashable, Sendable, CustomStringConvertible {
    /// The client program.
    public let client: ClientID
    /// The run of the client program.
    public let session: SessionID

    /// Makes the identity of the run `session` of `client`.
    public init(client: ClientID, session: SessionID) {
        self.client = client
        self.session = session
    }

    /// `client/session`, for logs.
    public var description: String { "\(self.client)/\(self.session)" }
}
