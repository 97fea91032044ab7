/// Every topic this system reads or writes. No other file spells a topic.
public enum Topic: Hashable, Sendable {
    case location(TrackableID)
    case raw(TrackableID)
    case history(TrackableID)
    case publisher(TrackableID, ClientID)
    case subscriber(TrackableID, ClientID)
    case request(TrackableID, ClientID)
    case resolution(TrackableID)
    case trip(TrackableID)
    case event(TrackableID)
    case ack(TrackableID, ClientID)
    case command(TrackableID)
    /// What came of a command, where it asked for that (MQTT 5).
    case answer(TrackableID, ClientID)
    case liveness(ClientID)

    /// The trackable that the topic is about; `nil` for liveness.
    public var trackable: TrackableID? {
        switch self {
        case .location(let id), .raw(let id), .history(let id), .publisher(let id, _), .subscriber(let id, _),
            .request(let id, _), .resolution(let id), .trip(let id), .event(let id), .ack(let id, _), .command(let id),
            .answer(let id, _):
            id
        case .liveness: nil
        }
    }

    /// Whether the broker keeps the last message of this topic.
    public var isRetained: Bool {
        switch self {
        case .location, .publisher, .subscriber, .request, .resolution, .trip, .ack, .liveness: true
        case .raw, .history, .event, .command, .answer: false
        }
    }
}

/// The place in the broker's tree under which one deployment's topics live: `tracking`, or for example `acme/eu/tracking`.
public struct TopicRoot: Hashable, Sendable, CustomStringConvertible {
    /// The levels as text, without a slash at either end.
    public let path: String

    /// The levels as text.
    public var description: String { self.path }

    /// `tracking`.
    public static let standard = TopicRoot(unchecked: "tracking")

    /// Makes a root of 1 to 4 levels in the alphabet `A-Z a-z 0-9 _ - =`; with what follows, a topic has at most 8.
    ///
    /// - Throws: `invalidName` that says which rule is broken.
    public init(_ path: String) throws(TrackingError) {
        let levels = path.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...4).contains(levels.count), path.utf8.count <= 256 else {
            throw TrackingError(
                .invalidName, "a topic root has 1 to 4 levels; '\(path.prefix(80))' has \(levels.count)")
        }
        guard levels.allSatisfy({ $0.utf8.allSatisfy { $0.isTopicSafe || $0 == UInt8(ascii: "=") } && !$0.isEmpty })
        else {
            throw TrackingError(
                .invalidName,
                "the levels of a topic root are not empty and have only A-Z a-z 0-9 _ - =; "
                    + "'\(path.prefix(80))' breaks that")
        }
        self.path = path
    }

    private init(unchecked path: String) { self.path = path }

    /// The topic as the broker sees it.
    public func path(_ topic: Topic) -> String {
        switch topic {
        case .location(let id): "\(self.path)/\(id.topicLevel)"
        case .raw(let id): "\(self.path)/\(id.topicLevel)/raw"
        case .history(let id): "\(self.path)/\(id.topicLevel)/history"
        case .publisher(let id, let client): "\(self.path)/\(id.topicLevel)/publisher/\(client)"
        case .subscriber(let id, let client): "\(self.path)/\(id.topicLevel)/subscriber/\(client)"
        case .request(let id, let client): "\(self.path)/\(id.topicLevel)/request/\(client)"
        case .resolution(let id): "\(self.path)/\(id.topicLevel)/resolution"
        case .trip(let id): "\(self.path)/\(id.topicLevel)/trip"
        case .event(let id): "\(self.path)/\(id.topicLevel)/event"
        case .ack(let id, let recorder): "\(self.path)/\(id.topicLevel)/ack/\(recorder)"
        case .command(let id): "\(self.path)/\(id.topicLevel)/command"
        case .answer(let id, let client): "\(self.path)/\(id.topicLevel)/command/\(client)"
        case .liveness(let client): "\(self.path)/_clients/\(client)"
        }
    }

    /// Whether a publisher of `id` may answer on `path`: a stranger's command must not make it write anywhere else.
    public func isForAnswers(of id: TrackableID, _ path: String) -> Bool {
        if case .answer(id, _) = self.topic(path) { true } else { false }
    }

    /// Reads a topic of this root; `nil` for anything the protocol does not name.
    public func topic(_ path: String) -> Topic? {
        guard path.hasPrefix(self.path), path.utf8.count > self.path.utf8.count + 1 else { return nil }
        let rest = path.utf8.dropFirst(self.path.utf8.count)
        guard rest.first == UInt8(ascii: "/") else { return nil }
        let levels = rest.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { Substring($0) }
        if levels[0] == "_clients" {
            return levels.count == 2 ? ClientID(topicLevel: levels[1]).map(Topic.liveness) : nil
        }
        guard let id = TrackableID(topicLevel: levels[0]) else { return nil }
        switch levels.count {
        case 1: return .location(id)
        case 2: return Self.topic(id, levels[1])
        case 3: return ClientID(topicLevel: levels[2]).flatMap { Self.topic(id, levels[1], $0) }
        default: return nil
        }
    }

    /// Which trackable a topic of this root is of, also where the protocol does not name the topic, or writes the id in another
    /// way; `nil` when that is none.
    func trackable(meantBy path: String) -> TrackableID? {
        guard path.hasPrefix(self.path + "/") else { return nil }
        let level = path.utf8.dropFirst(self.path.utf8.count + 1).prefix { $0 != UInt8(ascii: "/") }
        return TrackableID(meantBy: Substring(level))
    }

    private static func topic(_ id: TrackableID, _ name: Substring) -> Topic? {
        switch name {
        case "raw": .raw(id)
        case "history": .history(id)
        case "resolution": .resolution(id)
        case "trip": .trip(id)
        case "event": .event(id)
        case "command": .command(id)
        default: nil
        }
    }

    private static func topic(_ id: TrackableID, _ name: Substring, _ client: ClientID) -> Topic? {
        switch name {
        case "publisher": .publisher(id, client)
        case "subscriber": .subscriber(id, client)
        case "request": .request(id, client)
        case "ack": .ack(id, client)
        case "command": .answer(id, client)
        default: nil
        }
    }
}

/// Every filter this system subscribes to.
public enum TopicFilter: Hashable, Sendable {
    /// Exactly one topic.
    case topic(Topic)
    /// The presences of every publisher of a trackable.
    case publishers(TrackableID)
    /// The presences of every subscriber of a trackable.
    case subscribers(TrackableID)
    /// The requests of every subscriber of a trackable.
    case requests(TrackableID)
    /// The acknowledgements of every recorder of a trackable.
    case acks(TrackableID)
    /// Everything about one trackable, its live position included.
    case everything(TrackableID)
    /// Every live position and nothing else.
    case everyLocation
    /// The raw positions of every trackable.
    case everyRaw
    /// The batches of every trackable.
    case everyHistory
    /// The publishers' presences of every trackable.
    case everyPublisher
    /// The subscribers' presences of every trackable.
    case everySubscriber
    /// The subscribers' requests of every trackable.
    case everyRequest
    /// The liveness of every client.
    case everyLiveness
    /// The resolution in force of every trackable.
    case everyResolution
    /// The trip of every trackable.
    case everyTrip
    /// What happens to every trackable.
    case everyEvent
    /// Everything beneath the root.
    case all
}

extension TopicRoot {
    /// The filter as the broker sees it.
    public func path(_ filter: TopicFilter) -> String {
        switch filter {
        case .topic(let topic): self.path(topic)
        case .publishers(let id): "\(self.path)/\(id.topicLevel)/publisher/+"
        case .subscribers(let id): "\(self.path)/\(id.topicLevel)/subscriber/+"
        case .requests(let id): "\(self.path)/\(id.topicLevel)/request/+"
        case .acks(let id): "\(self.path)/\(id.topicLevel)/ack/+"
        case .everything(let id): "\(self.path)/\(id.topicLevel)/#"
        case .everyLocation: "\(self.path)/+"
        case .everyRaw: "\(self.path)/+/raw"
        case .everyHistory: "\(self.path)/+/history"
        case .everyPublisher: "\(self.path)/+/publisher/+"
        case .everySubscriber: "\(self.path)/+/subscriber/+"
        case .everyRequest: "\(self.path)/+/request/+"
        case .everyLiveness: "\(self.path)/_clients/+"
        case .everyResolution: "\(self.path)/+/resolution"
        case .everyTrip: "\(self.path)/+/trip"
        case .everyEvent: "\(self.path)/+/event"
        case .all: "\(self.path)/#"
        }
    }
}
