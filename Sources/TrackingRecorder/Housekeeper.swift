import TrackingCore

/// Finds what members left behind who went and never came back: presences, requests and liveness of clients whose lease has been
/// out for so long, by what was heard here (protocol.md, "Tidying up"). It observes anew with each run of the program.
struct Housekeeper: Sendable {
    /// A client, as far as something of it stands at the broker.
    private struct Member {
        /// When its lease is out, where nothing more is heard of it.
        var leaseEnd: MonotonicTime
        var topics: Set<String> = []
    }

    /// So many topics are remembered at the most; what stands beyond them is left alone.
    static let topicLimit = 200_000
    /// So many topics are cleared at one time.
    static let atOnce = 1_000
    /// The lease of a presence that cannot be read.
    private static let usualLease = Duration.seconds(90)

    private let root: TopicRoot
    /// How long a lease has been out before what stands is cleared.
    private let patience: Duration
    private var members: [ClientID: Member] = [:]
    private var topicCount = 0
    private var awaySince: MonotonicTime?
    /// When it is to be asked for ``abandoned(now:)``; `nil` while not connected.
    private(set) var checkAt: MonotonicTime?

    init(root: TopicRoot, patience: Duration) {
        self.root = root
        self.patience = patience
    }

    /// What it has to hear.
    var filters: [String] {
        [TopicFilter.everyLiveness, .everyPublisher, .everySubscriber, .everyRequest].map { self.root.path($0) }
    }

    /// While this side is not connected no lease runs.
    mutating func connected(now: MonotonicTime) {
        if let away = self.awaySince?.duration(to: now) {
            self.members = self.members.mapValues {
                Member(leaseEnd: $0.leaseEnd.advanced(by: away), topics: $0.topics)
            }
        }
        self.awaySince = nil
        self.checkAt = self.nextCheck(now)
    }

    mutating func disconnected(now: MonotonicTime) {
        self.awaySince = self.awaySince ?? now
        self.checkAt = nil
    }

    /// A message came; one that is of no member changes nothing.
    mutating func heard(_ message: IncomingMessage, now: MonotonicTime) {
        guard let (client, lease) = self.sender(of: message) else { return }
        guard !message.payload.isEmpty else { return self.forget(message.topic, of: client) }
        let isKnown = self.members[client]?.topics.contains(message.topic) == true
        guard isKnown || self.topicCount < Self.topicLimit else { return }
        // What the broker kept says nothing of when it was said; whoever lives is heard within a lease of it.
        let believed = message.isRetained ? now.advanced(by: lease - self.patience) : now.advanced(by: lease)
        var member = self.members[client] ?? Member(leaseEnd: now.advanced(by: lease))
        member.leaseEnd = max(member.leaseEnd, believed)
        if member.topics.insert(message.topic).inserted { self.topicCount += 1 }
        self.members[client] = member
    }

    /// What is to be cleared now: of each client its presences and requests first, then its liveness.
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
        return topics
    }

    private mutating func forget(_ topic: String, of client: ClientID) {
        guard self.members[client]?.topics.remove(topic) != nil else { return }
        self.topicCount -= 1
        if self.members[client]?.topics.isEmpty == true { self.members[client] = nil }
    }

    private func nextCheck(_ now: MonotonicTime) -> MonotonicTime { now.advanced(by: self.patience / 168) }

    /// Who said it, and for how long that is believed. What cannot be read stands as well.
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
    /// How long it is believed; not at all where it says that the client is gone.
    fileprivate var lease: Duration {
        if case .online(let lease) = self.status { lease } else { .zero }
    }
}
