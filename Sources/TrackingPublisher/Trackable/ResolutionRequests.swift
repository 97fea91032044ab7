import TrackingCore

/// The resolution requests for one trackable, of subscribers that are present and of those that are not present yet.
struct ResolutionRequests: Sendable {
    /// The requests of each client by session.
    private(set) var byClient: [ClientID: [SessionID: Resolution]] = [:]
    /// The moment at which unconfirmed requests are dropped; `nil` without a connection.
    private(set) var confirmationDeadline: MonotonicTime?
    /// The clients whose requests were not received again on this connection.
    private var unconfirmed: Set<ClientID> = []
    /// `true` while every remembered client is present: no room is looked for until one leaves.
    private var isFull = false

    /// The most clients whose requests are remembered.
    static let maximumClients = 20_000

    /// Expects every known request again on this connection, because a request that was dropped during an outage
    /// causes no message. A request that still holds is retained by the broker, or its client repeats it on seeing
    /// this publisher arrive.
    mutating func expectAgain(by deadline: MonotonicTime) {
        self.unconfirmed = Set(self.byClient.keys)
        self.confirmationDeadline = self.unconfirmed.isEmpty ? nil : deadline
    }

    /// A client sent a request on this connection, or dropped it.
    mutating func confirm(_ client: ClientID) { self.unconfirmed.remove(client) }

    /// Takes out the clients whose requests were not received again.
    mutating func takeUnconfirmed() -> Set<ClientID> {
        self.confirmationDeadline = nil
        defer { self.unconfirmed = [] }
        return self.unconfirmed
    }

    /// The connection was lost: nothing is expected on it.
    mutating func connectionLost() { self.confirmationDeadline = nil }

    /// Removes every request of a client.
    ///
    /// - Returns: The subscribers that had one.
    mutating func drop(_ client: ClientID) -> [SubscriberID] {
        self.confirm(client)
        return (self.byClient.removeValue(forKey: client) ?? [:]).keys.map { SubscriberID(client: client, session: $0) }
    }

    /// Remembers a request. Requests of the client's other sessions remain only while those are present.
    ///
    /// - Parameters:
    ///   - subscribers: The subscribers that are present.
    ///   - present: Their clients; asked only where there is no room.
    /// - Returns: `false` where there is no room.
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

    /// A subscriber left. Its request holds until it is dropped, or another session of the client sends one: a lease
    /// that ran out may be renewed without a new request.
    mutating func left(_ subscriber: SubscriberID) {
        self.isFull = false
        if self.byClient[subscriber.client]?.count ?? 0 > 1 {
            self.byClient[subscriber.client]?[subscriber.session] = nil
        }
    }
}
