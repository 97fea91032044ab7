import TrackingCore

/// The resolution requests of subscribers for one trackable. Requests of subscribers that are not present yet are
/// included.
struct ResolutionRequests: Sendable {
    /// The resolutions that the subscribers request, by client and by the client's session.
    private(set) var byClient: [ClientID: [SessionID: Resolution]] = [:]
    /// The time at which requests are dropped that were not received again on this connection; `nil` if none are
    /// expected.
    private(set) var confirmationDeadline: MonotonicTime?
    /// The clients whose earlier requests were not received again on this connection so far.
    private var unconfirmed: Set<ClientID> = []
    /// `true` after the requests of present clients reached the limit of ``maximumClients``, until a subscriber leaves.
    /// A request of a new client is then rejected at once.
    private var isFull = false

    /// The largest number of clients whose requests are remembered.
    static let maximumClients = 20_000

    /// Begins to expect every known request again on this connection. Requests that are not received again until
    /// `deadline` are dropped.
    ///
    /// A client may have withdrawn its request while the publisher was not connected.
    mutating func expectAgain(by deadline: MonotonicTime) {
        self.unconfirmed = Set(self.byClient.keys)
        self.confirmationDeadline = self.unconfirmed.isEmpty ? nil : deadline
    }

    /// Marks a client's request as received again on this connection, or as withdrawn.
    mutating func confirm(_ client: ClientID) { self.unconfirmed.remove(client) }

    /// Removes and returns the clients whose known resolution requests did not arrive again on this connection. The
    /// publisher no longer waits for these requests.
    mutating func takeUnconfirmed() -> Set<ClientID> {
        self.confirmationDeadline = nil
        defer { self.unconfirmed = [] }
        return self.unconfirmed
    }

    /// Handles that the connection was lost. Ends the wait in which known resolution requests were expected to arrive
    /// again.
    mutating func connectionLost() { self.confirmationDeadline = nil }

    /// Removes every request of a client.
    ///
    /// - Returns: The subscribers whose requests were removed.
    mutating func drop(_ client: ClientID) -> [SubscriberID] {
        self.confirm(client)
        return (self.byClient.removeValue(forKey: client) ?? [:]).keys.map { SubscriberID(client: client, session: $0) }
    }

    /// Stores a client's request. Requests of the client's other sessions are removed, unless those sessions are
    /// present.
    ///
    /// - Parameters:
    ///   - subscribers: The subscribers that are present.
    ///   - present: Returns the clients that are present. It is called only if the limit of clients is reached.
    /// - Returns: `false` if the limit is reached, and the request was not stored.
    mutating func remember(
        _ request: ResolutionRequest, of client: ClientID, among subscribers: Set<SubscriberID>,
        present: () -> Set<ClientID>
    ) -> Bool {
        self.confirm(client)
        guard self.makeRoom(for: client, present) else { return false }
        let others = (self.byClient[client] ?? [:]).filter {
            subscribers.contains(SubscriberID(client: client, session: $0.key))
        }
        self.byClient[client] = others.merging([request.session: request.resolution]) { $1 }
        return true
    }

    private mutating func makeRoom(for client: ClientID, _ present: () -> Set<ClientID>) -> Bool {
        guard self.byClient[client] == nil, self.byClient.count >= Self.maximumClients else { return true }
        guard !self.isFull else { return false }
        let clients = present()
        self.byClient = self.byClient.filter { clients.contains($0.key) }
        self.isFull = self.byClient.count >= Self.maximumClients
        return !self.isFull
    }

    /// Handles that a subscriber left.
    ///
    /// The subscriber's request is removed only if its client has other requests. Otherwise the request remains,
    /// because the subscriber may come back without repeating it.
    mutating func left(_ subscriber: SubscriberID) {
        self.isFull = false
        if self.byClient[subscriber.client]?.count ?? 0 > 1 {
            self.byClient[subscriber.client]?[subscriber.session] = nil
        }
    }
}
