import TrackingCore

/// Finds the retained messages that members left behind: presences, requests and liveness of clients whose lease ended
/// long ago (docs/reference/protocol.md, "Members and leases"). Only messages received in this run of the program count.
struct Housekeeper: Sendable {
    /// A client with retained messages.
    private struct Member {
        /// The end of its lease, if no further message of it arrives.
        var leaseEnd: MonotonicTime
        var topics: Set<String> = []
    }

    /// The highest number of topics that are remembered. Messages on others are never cleared.
    static let topicLimit = 200_000
    /// The number of topics after which no further client is cleared at one time.
    static let atOnce = 1_000
    /// The lease that is assumed for a presence that cannot be read.
    private static let usualLease = Duration.seconds(90)

    private let root: TopicRoot
    /// The time after the end of a lease at which the messages of its client are cleared.
    private let patience: Duration
    private var members: [ClientID: Member] = [:]
    private var topicCount = 0
    private var awaySince: MonotonicTime?
    /// The number of clearing publishes that the broker has not answered.
    private var unanswered = 0
    /// The number of messages cleared by the publishes that are being answered.
    private var cleared = 0
    /// The time of the next ``abandoned(now:)``; `nil` while not connected.
    private(set) var checkAt: MonotonicTime?

    init(root: TopicRoot, patience: Duration) {
        self.root = root
        self.patience = patience
    }

    /// The filters that it needs.
    var filters: [String] {
        [TopicFilter.everyLiveness, .everyPublisher, .everySubscriber, .everyRequest].map { self.root.path($0) }
    }

    /// The connection was made. Leases are extended by the time without a connection.
    mutating func connected(now: MonotonicTime) {
        if let away = self.awaySince?.duration(to: now) {
            self.members = self.members.mapValues {
                Member(leaseEnd: $0.leaseEnd.advanced(by: away), topics: $0.topics)
            }
        }
        self.awaySince = nil
        self.checkAt = self.nextCheck(now)
    }

    /// The connection was lost, or the broker refuses the filters.
    mutating func disconnected(now: MonotonicTime) {
        self.awaySince = self.awaySince ?? now
        self.checkAt = nil
        (self.unanswered, self.cleared) = (0, 0)
    }

    /// A message arrived. Only presences, requests and liveness count.
    mutating func received(_ message: IncomingMessage, now: MonotonicTime) {
        guard let (client, lease) = self.sender(of: message) else { return }
        guard !message.payload.isEmpty else { return self.forget(message.topic, of: client) }
        let isKnown = self.members[client]?.topics.contains(message.topic) == true
        guard isKnown || self.topicCount < Self.topicLimit else { return }
        // The age of a retained message is unknown; a client that lives publishes again within its lease.
        let believed = message.isRetained ? now.advanced(by: lease - self.patience) : now.advanced(by: lease)
        var member = self.members[client] ?? Member(leaseEnd: now.advanced(by: lease))
        member.leaseEnd = max(member.leaseEnd, believed)
        if member.topics.insert(message.topic).inserted { self.topicCount += 1 }
        self.members[client] = member
    }

    /// Returns the topics to clear now, if the time for that has come: of each client its presences and requests, then
    /// its liveness. ``answered(isCleared:)`` follows for each of them.
    mutating func abandoned(now: MonotonicTime) -> [String] {
        guard let checkAt = self.checkAt, checkAt <= now else { return [] }
        self.checkAt = self.nextCheck(now)
        var topics: [String] = []
        for (client, member) in self.members where member.leaseEnd.advanced(by: self.patience) <= now {
            guard topics.count < Self.atOnce else { break }
            let liveness = self.root.path(.liveness(client))
            topics += member.topics.subtracting([liveness]).sorted() + member.topics.intersection([liveness])
            self.topicCount -= member.topics.count
            self.members[client] = nil
        }
        self.unanswered += topics.count
        return topics
    }

    /// The broker answered a publish that clears a topic.
    ///
    /// - Returns: The number of messages that were cleared, with the last answer; otherwise 0.
    mutating func answered(isCleared: Bool) -> Int {
        self.unanswered -= 1
        if isCleared { self.cleared += 1 }
        guard self.unanswered <= 0 else { return 0 }
        defer { self.cleared = 0 }
        return self.cleared
    }

    private mutating func forget(_ topic: String, of client: ClientID) {
        guard self.members[client]?.topics.remove(topic) != nil else { return }
        self.topicCount -= 1
        if self.members[client]?.topics.isEmpty == true { self.members[client] = nil }
    }

    private func nextCheck(_ now: MonotonicTime) -> MonotonicTime { now.advanced(by: self.patience / 168) }

    /// The client that published a message, and the time for which the message is believed. Messages that cannot be
    /// read count.
    private func sender(of message: IncomingMessage) -> (ClientID, lease: Duration)? {
        switch self.root.topic(message.topic) {
        case .publisher(_, let client), .subscriber(_, let client):
            (client, (try? MessageCodec.decodePresence(message.payload))?.lease ?? Self.usualLease)
        case .request(_, let client): (client, .zero)
        case .liveness(let client):
            (client, (try? MessageCodec.decodeLiveness(message.payload))?.lease ?? .zero)
        default: nil
        }
    }
}

extension Liveness {
    /// The time for which the liveness is believed; zero for a goodbye.
    fileprivate var lease: Duration {
        if case .online(let lease) = self.status { lease } else { .zero }
    }
}
