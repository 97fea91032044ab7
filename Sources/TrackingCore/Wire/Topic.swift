/// An MQTT topic of Godwit's protocol, which Godwit publishes or subscribes to. This file is the only one that contains
/// the texts of these topics.
public enum Topic: Hashable, Sendable {
    case location(TrackableID)
    /// The topic of the updates of a trackable with positions on the road, which only an enhancer publishes.
    case enhanced(TrackableID)
    /// The topic of the stops that a trackable is going to visit.
    case journey(TrackableID)
    /// The topic of the estimated arrival times at the stops of a trackable, which only an enhancer publishes.
    case estimate(TrackableID)
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
    /// The topic of the answers to commands for a trackable. It is the MQTT 5 response topic of the client that sent
    /// the commands.
    case answer(TrackableID, ClientID)
    case liveness(ClientID)

    /// The trackable of the topic; `nil` for the liveness of a client, which belongs to no trackable.
    public var trackable: TrackableID? {
        switch self {
        case .location(let id), .raw(let id), .history(let id), .publisher(let id, _), .subscriber(let id, _),
            .request(let id, _), .resolution(let id), .trip(let id), .event(let id), .ack(let id, _), .command(let id),
            .answer(let id, _), .enhanced(let id), .journey(let id), .estimate(let id):
            id
        case .liveness: nil
        }
    }

    /// `true` when the messages on this topic are published with the retain flag.
    public var isRetained: Bool {
        switch self {
        case .location, .enhanced, .journey, .estimate, .publisher, .subscriber, .request, .resolution, .trip, .ack,
            .liveness:
            true
        case .raw, .history, .event, .command, .answer: false
        }
    }
}

/// The topic root, the first levels of all topics of one deployment: `tracking` by default, or for example
/// `acme/eu/tracking`.
public struct TopicRoot: Hashable, Sendable, CustomStringConvertible {
    /// The topic root as text, with `/` between its levels and without a slash at either end.
    public let path: String

    /// The topic root as text, the same as ``path``.
    public var description: String { self.path }

    /// The default topic root, `tracking`.
    public static let standard = TopicRoot(unchecked: "tracking")

    /// Makes a topic root of 1 to 4 levels, at most 256 bytes, with the characters `A-Z a-z 0-9 _ - =`. A complete
    /// topic then has at most 8 levels.
    ///
    /// - Throws: ``TrackingError/Code/invalidName`` that names the violated rule.
    public init(_ path: String) throws(TrackingError) {
        let levels = path.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...4).contains(levels.count), path.utf8.count <= 256 else {
            throw TrackingError(
                .invalidName,
                "a topic root must have 1 to 4 levels and at most 256 bytes; '\(path.prefix(80))' has \(levels.count) levels and \(path.utf8.count) bytes"
            )
        }
        guard levels.allSatisfy({ $0.utf8.allSatisfy { $0.isTopicSafe || $0 == UInt8(ascii: "=") } && !$0.isEmpty })
        else {
            throw TrackingError(
                .invalidName,
                "each level of a topic root must have 1 or more characters of A-Z a-z 0-9 _ - =, "
                    + "unlike in '\(path.prefix(80))'")
        }
        self.path = path
    }

    private init(unchecked path: String) { self.path = path }

    /// Returns the complete text of a topic, as the broker receives it.
    public func path(_ topic: Topic) -> String {
        switch topic {
        case .location(let id): "\(self.path)/\(id.topicLevel)"
        case .enhanced(let id): "\(self.path)/\(id.topicLevel)/enhanced"
        case .journey(let id): "\(self.path)/\(id.topicLevel)/journey"
        case .estimate(let id): "\(self.path)/\(id.topicLevel)/estimate"
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

    /// Returns `true` when `path` is a topic for answers to commands of the trackable `id`. Each command names the
    /// topic for its answer. With this check, the publisher writes answers to no other topic.
    public func isForAnswers(of id: TrackableID, _ path: String) -> Bool {
        if case .answer(id, _) = self.topic(path) { true } else { false }
    }

    /// Parses a topic beneath this root; returns `nil` for a topic that the protocol does not define.
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

    /// Returns the trackable whose id is the first level beneath this root in the topic `path`; `nil` when that level
    /// is no valid id. The topic may be one that the protocol does not define. The id may escape more characters than
    /// necessary.
    func trackable(meantBy path: String) -> TrackableID? {
        guard path.hasPrefix(self.path + "/") else { return nil }
        let level = path.utf8.dropFirst(self.path.utf8.count + 1).prefix { $0 != UInt8(ascii: "/") }
        return TrackableID(meantBy: Substring(level))
    }

    private static func topic(_ id: TrackableID, _ name: Substring) -> Topic? {
        switch name {
        case "raw": .raw(id)
        case "enhanced": .enhanced(id)
        case "journey": .journey(id)
        case "estimate": .estimate(id)
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

/// An MQTT topic filter that Godwit subscribes to.
public enum TopicFilter: Hashable, Sendable {
    /// The filter for a single topic.
    case topic(Topic)
    /// The filter for the presences of all publishers of a trackable.
    case publishers(TrackableID)
    /// The filter for the presences of all subscribers of a trackable.
    case subscribers(TrackableID)
    /// The filter for the resolution requests of all subscribers of a trackable.
    case requests(TrackableID)
    /// The filter for the acknowledgements of all recorders of a trackable.
    case acks(TrackableID)
    /// The filter for all topics of one trackable, including its live position.
    case everything(TrackableID)
    /// The filter for the live positions of all trackables, without other topics.
    case everyLocation
    /// The filter for the updates of all trackables with positions on the road.
    case everyEnhanced
    /// The filter for the journeys of all trackables.
    case everyJourney
    /// The filter for the estimated arrival times of all trackables.
    case everyEstimate
    /// The filter for the raw positions of all trackables, which are unfiltered fixes.
    case everyRaw
    /// The filter for the batches of records of all trackables. Recorders receive these batches.
    case everyHistory
    /// The filter for the presences of all publishers of all trackables.
    case everyPublisher
    /// The filter for the presences of all subscribers of all trackables.
    case everySubscriber
    /// The filter for the resolution requests of all subscribers of all trackables.
    case everyRequest
    /// The filter for the liveness messages of all clients.
    case everyLiveness
    /// The filter for the resolutions in force of all trackables.
    case everyResolution
    /// The filter for the trips of all trackables.
    case everyTrip
    /// The filter for the events of all trackables.
    case everyEvent
    /// The filter for the acknowledgements of one recorder, or of one group of recorders, for all trackables.
    case everyAck(ClientID)
    /// The filter for all topics beneath the topic root.
    case all
}

extension TopicRoot {
    /// Returns the complete text of a topic filter, as the broker receives it.
    public func path(_ filter: TopicFilter) -> String {
        switch filter {
        case .topic(let topic): self.path(topic)
        case .publishers(let id): "\(self.path)/\(id.topicLevel)/publisher/+"
        case .subscribers(let id): "\(self.path)/\(id.topicLevel)/subscriber/+"
        case .requests(let id): "\(self.path)/\(id.topicLevel)/request/+"
        case .acks(let id): "\(self.path)/\(id.topicLevel)/ack/+"
        case .everything(let id): "\(self.path)/\(id.topicLevel)/#"
        case .everyLocation: "\(self.path)/+"
        case .everyEnhanced: "\(self.path)/+/enhanced"
        case .everyJourney: "\(self.path)/+/journey"
        case .everyEstimate: "\(self.path)/+/estimate"
        case .everyRaw: "\(self.path)/+/raw"
        case .everyHistory: "\(self.path)/+/history"
        case .everyPublisher: "\(self.path)/+/publisher/+"
        case .everySubscriber: "\(self.path)/+/subscriber/+"
        case .everyRequest: "\(self.path)/+/request/+"
        case .everyLiveness: "\(self.path)/_clients/+"
        case .everyResolution: "\(self.path)/+/resolution"
        case .everyTrip: "\(self.path)/+/trip"
        case .everyEvent: "\(self.path)/+/event"
        case .everyAck(let recorder): "\(self.path)/+/ack/\(recorder)"
        case .all: "\(self.path)/#"
        }
    }
}
