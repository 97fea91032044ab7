import TrackingCore

/// Finds retained messages that vanished clients left at the broker: presences, requests and liveness of clients whose
/// lease ended long ago. The recorder clears these messages.
///
/// Only messages that the recorder received since it was started are considered. The rules are in
/// docs/reference/protocol.md, "Members and leases".
struct Housekeeper: Sendable {
    /// The values that the housekeeper remembers of a client of the broker: the end of its lease, and the topics of its
    /// retained messages.
    private struct Member {
        /// The time at which the client's lease ends if no further message of the client arrives.
        var leaseEnd: MonotonicTime
        var topics: Set<String> = []
    }

    /// The largest number of topics, over all clients, that the housekeeper remembers. A message on a further topic is
    /// ignored. It is cleared only if it arrives again when there is room.
    static let topicLimit = 200_000
    /// The number of topics, 1,000, at which a round of clearing is full: no further client is added to it. The other
    /// clients follow in the next round. A round is a group of retained messages that are cleared together.
    static let atOnce = 1_000
    /// The lease that is assumed for a client whose presence message cannot be decoded.
    private static let usualLease = Duration.seconds(90)

    private let root: TopicRoot
    /// The time from the end of a client's lease to the clearing of its retained messages. A lease is the time for
    /// which a client without further messages counts as present.
    private let patience: Duration
    private var members: [ClientID: Member] = [:]
    private var topicCount = 0
    private var awaySince: MonotonicTime?
    /// The number of publishes that clear a retained message and that the broker has not answered yet.
    private var unanswered = 0
    /// The number of messages that the broker has cleared in the present round of clearing. The round ends with the
    /// last answer of the broker.
    private var cleared = 0
    /// The time at which the housekeeper looks next for clients whose lease ended long ago; `nil` while the recorder is
    /// not connected.
    private(set) var checkAt: MonotonicTime?

    init(root: TopicRoot, patience: Duration) {
        self.root = root
        self.patience = patience
    }

    /// The topic filters to which the recorder subscribes so that the housekeeper sees presences, requests and
    /// liveness.
    var filters: [String] {
        [TopicFilter.everyLiveness, .everyPublisher, .everySubscriber, .everyRequest].map { self.root.path($0) }
    }

    /// Handles that the connection to the broker was made. Extends the leases of all known clients by the time without
    /// a connection.
    mutating func connected(now: MonotonicTime) {
        if let away = self.awaySince?.duration(to: now) {
            self.members = self.members.mapValues {
                Member(leaseEnd: $0.leaseEnd.advanced(by: away), topics: $0.topics)
            }
        }
        self.awaySince = nil
        self.checkAt = self.nextCheck(now)
    }

    /// Handles that the connection to the broker was lost, or that the broker rejects the subscriptions to presences,
    /// requests and liveness. No client's messages are cleared until the next connection.
    mutating func disconnected(now: MonotonicTime) {
        self.awaySince = self.awaySince ?? now
        self.checkAt = nil
        (self.unanswered, self.cleared) = (0, 0)
    }

    /// Handles a message from the broker. A presence, request or liveness extends the lease of the client that
    /// published it, and its topic is remembered. With an empty message, the retained message is gone, and the topic is
    /// forgotten. Other messages are ignored.
    mutating func received(_ message: IncomingMessage, now: MonotonicTime) {
        guard let (client, lease) = self.sender(of: message) else { return }
        guard !message.payload.isEmpty else { return self.forget(message.topic, of: client) }
        let isKnown = self.members[client]?.topics.contains(message.topic) == true
        guard isKnown || self.topicCount < Self.topicLimit else { return }
        // The age of a retained message is unknown, so it gives its client a lease that has almost ended. A client that
        // is alive publishes again and extends it.
        let believed = message.isRetained ? now.advanced(by: lease - self.patience) : now.advanced(by: lease)
        var member = self.members[client] ?? Member(leaseEnd: now.advanced(by: lease))
        member.leaseEnd = max(member.leaseEnd, believed)
        if member.topics.insert(message.topic).inserted { self.topicCount += 1 }
        self.members[client] = member
    }

    /// Returns the topics whose retained messages the recorder must clear now: those of clients whose lease ended at
    /// least the configured time ago. A client's presences and requests precede its liveness. Returns no topics before
    /// ``checkAt``.
    ///
    /// ``answered(isCleared:)`` must be called for the answer to the clearing of each topic.
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

    /// Handles the broker's answer to a publish that clears a topic.
    ///
    /// - Parameter isCleared: `true` if the broker accepted the publish; `false` if it rejected it.
    /// - Returns: With the last outstanding answer, the number of messages that were cleared in this round; otherwise
    ///   0.
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

    /// Returns the client that published a message, and the lease that the message gives the client. A message that
    /// cannot be decoded also counts as a sign of its client. `nil` for a message that is no presence, request or
    /// liveness.
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
    /// The time for which the client counts as alive after this liveness message; zero for a goodbye.
    fileprivate var lease: Duration {
        if case .online(let lease) = self.status { lease } else { .zero }
    }
}
