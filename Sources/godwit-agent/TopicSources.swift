import ArgumentParser
import GodwitOptions
import Logging
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// The sources of positions that are topics of a broker: `--source mqtt://host/topic`.
extension Run {
    /// Makes the source that a specification describes.
    ///
    /// A topic's broker is signed in to with the user and the password in its own URL. Of the options for the broker,
    /// only `--ca` applies to it, so that no password reaches a broker for which it was not given.
    ///
    /// - Throws: `invalidConfiguration` for an invalid source; `inputUnreadable` if the file of `--ca` cannot be read.
    func makeSource(
        _ specification: SourceSpecification, pace: ReplayPace, seed: UInt64
    ) throws(TrackingError) -> any LocationSource {
        guard case .topic(let broker, let topic) = specification.input else {
            return try specification.makeSource(pace: pace, seed: seed)
        }
        let (endpoint, credentials) = try MQTTEndpoint.parse(broker)
        var generator = SystemRandomNumberGenerator()
        let random = try ClientID("godwit-source-\(SessionID.random(using: &generator))")
        let client = credentials.flatMap { try? ClientID($0.user) } ?? random
        var configuration = MQTTConfiguration(endpoints: [endpoint], client: client)
        configuration.credentials = credentials
        configuration.tls = .init(authorities: self.broker.authorities)
        configuration.logger = Logger(label: "godwit.source")
        let connection = configuration
        return TopicSource(
            name: "\(endpoint)/\(topic)", topic: topic, accuracy: specification.accuracy
        ) { () throws(TrackingError) in
            try MQTTTransport(configuration: connection)
        }
    }

    /// Checks that no source is a topic to which this agent publishes positions, because the agent would read its own
    /// positions.
    ///
    /// The brokers are the same if host and port are equal; all names of this device count as one host.
    ///
    /// - Throws: `ValidationError` that names the source; `invalidConfiguration` for an invalid address.
    func checkSources(of trackables: [Trackable]) throws {
        let root = try TopicRoot(self.broker.topicRoot)
        let brokers = try self.broker.addresses
        let client = try self.broker.identity().client.rawValue
        var clients = Set(brokers.map { "\($0.place) \(client)" })
        for specification in try self.input.specifications() {
            guard case .topic(let broker, let topic) = specification.input else { continue }
            let (endpoint, credentials) = try MQTTEndpoint.parse(broker)
            if let user = credentials?.user, (try? ClientID(user)) != nil,
                !clients.insert("\(endpoint.place) \(user)").inserted
            {
                throw ValidationError(
                    "cannot read the source \(endpoint)/\(topic): its client id is the user name in its URL, and another connection of this agent to this broker has the same client id. Give the source another user"
                )
            }
            let isSame = brokers.contains { $0.place == endpoint.place }
            let own = trackables.first { trackable in
                let topics: [Topic] = [.location(trackable.id), .raw(trackable.id), .enhanced(trackable.id)]
                return topics.contains { root.path($0) == topic }
            }
            guard isSame, let own else { continue }
            throw ValidationError(
                "the source \(endpoint)/\(topic) is a topic of the trackable '\(own.id)', which this agent publishes to the same broker: it would read its own positions. Give the topic of another trackable"
            )
        }
    }
}

extension MQTTEndpoint {
    /// The host and the port of the broker, with one name for this device.
    fileprivate var place: String {
        let host = self.host.lowercased()
        return "\(["localhost", "127.0.0.1", "::1"].contains(host) ? "localhost" : host):\(self.port)"
    }
}
