/// The identity of one subscriber: one run of one client program. A second run of the same program is another
/// subscriber.
public struct SubscriberID: Hashable, Sendable, CustomStringConvertible {
    /// The client id of the subscriber.
    public let client: ClientID
    /// The session id of the subscriber, which names the present run of its program.
    public let session: SessionID

    /// Makes the identity of one run (`session`) of a client program (`client`).
    public init(client: ClientID, session: SessionID) {
        self.client = client
        self.session = session
    }

    /// The subscriber as the text `client/session`, for logs.
    public var description: String { "\(self.client)/\(self.session)" }
}
