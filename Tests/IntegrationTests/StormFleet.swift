import Synchronization
import Testing
import TrackingCore
import TrackingMQTT
import TrackingPublisher
import TrackingSubscriber

/// Publishers in the test's process, each with a connection and many trackables. Every trackable has one position.
final class StormFleet: Sendable {
    private struct Counts {
        var online = 0
        var connections = 0
        var failed = 0
        var states: [TrackableID: PublisherState] = [:]
    }

    private let publishers: [AssetPublisher<MQTTTransport>]
    private let counts = Mutex(Counts())

    init(_ trackables: Int, over connections: Int, port: Int) throws {
        let size = trackables / connections
        self.publishers = try (0..<connections).map { index in
            let configuration = PublisherConfiguration(
                client: try ClientID("box-\(index)"), session: try #require(SessionID("run\(index)")))
            let connection = MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: port)], for: configuration)
            let publisher = AssetPublisher(
                configuration: configuration, transport: try MQTTTransport(configuration: connection))
            for number in 0..<size { publisher.add(Trackable(try TrackableID("van-\(index * size + number)"))) }
            return publisher
        }
    }

    /// The number of trackables that are online, by their publishers.
    var online: Int { self.counts.withLock { $0.online } }
    /// The number of connections that were made.
    var connections: Int { self.counts.withLock { $0.connections } }
    /// The number of times that a trackable failed, for example because another publisher took it over.
    var failed: Int { self.counts.withLock { $0.failed } }

    /// Runs the publishers until the end of `body`.
    func withRunning(_ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for publisher in self.publishers {
                let (states, connections) = (publisher.states, publisher.connectionChanges)
                group.addTask { try await publisher.run() }
                group.addTask { for await change in states { self.note(change) } }
                group.addTask {
                    for await change in connections where change == nil {
                        self.counts.withLock { $0.connections += 1 }
                    }
                }
                publisher.publish(
                    Location(
                        coordinate: try #require(Coordinate(latitude: 50, longitude: 8)), time: UnixTime(1_700_000_000))
                )
            }
            try await body()
            for publisher in self.publishers { publisher.finish(within: .seconds(20)) }
            try await group.waitForAll()
        }
    }

    private func note(_ change: TrackableStateChange) {
        self.counts.withLock { counts in
            let before = counts.states.updateValue(change.state, forKey: change.trackable)
            counts.online += (change.state == .online ? 1 : 0) - (before == .online ? 1 : 0)
            if change.state == .failed { counts.failed += 1 }
        }
    }
}

/// A subscriber that watches every trackable, in the test's process.
final class StormWatcher: Sendable {
    private let subscriber: AssetSubscriber<MQTTTransport>
    private let counts = Mutex((online: Set<TrackableID>(), failed: 0))

    init(port: Int, maximum: Int) throws {
        var configuration = SubscriberConfiguration(
            client: try ClientID("desk"), session: try #require(SessionID("one")))
        configuration.watchesAll = true
        configuration.isSilent = true
        configuration.maximumTrackables = maximum
        self.subscriber = AssetSubscriber(
            configuration: configuration,
            transport: try MQTTTransport(
                configuration: MQTTConfiguration(
                    endpoints: [MQTTEndpoint(host: "127.0.0.1", port: port)], for: configuration)))
    }

    /// The number of trackables that are online for the subscriber.
    var online: Int { self.counts.withLock { $0.online.count } }
    /// The number of times that a trackable failed for the subscriber.
    var failed: Int { self.counts.withLock { $0.failed } }

    /// Runs the subscriber until the end of `body`.
    func withRunning(_ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let events = self.subscriber.everyEvent
            group.addTask { try await self.subscriber.run() }
            group.addTask {
                for await case .state(let id, let state, _) in events {
                    self.counts.withLock { counts in
                        if state == .online { counts.online.insert(id) } else { counts.online.remove(id) }
                        if state == .failed { counts.failed += 1 }
                    }
                }
            }
            try await body()
            self.subscriber.finish()
            try await group.waitForAll()
        }
    }
}
