import Foundation
import Synchronization
import Testing
import TrackingCore
import TrackingMQTT

/// Publishers of a fleet, each with a connection and many trackables in a box of the map. They publish prepared
/// messages, so that the load takes little of the machine.
final class LightFleet: Sendable {
    /// The number of trackables of a connection.
    let size: Int
    private let transports: [MQTTTransport]
    private let start = Date.now.timeIntervalSince1970 - 3600
    private let counts = Mutex((connections: 0, published: 0, refused: 0))

    init(_ trackables: Int, over connections: Int, port: Int) throws {
        self.size = trackables / connections
        self.transports = try (0..<connections).map { index in
            let client = try ClientID("box-\(index)")
            var configuration = MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: port)], client: client)
            configuration.limits.waitingEvents = 100_000
            return try MQTTTransport(configuration: configuration)
        }
    }

    /// The number of connections that were made.
    var connections: Int { self.counts.withLock { $0.connections } }
    /// The number of messages that the broker acknowledged.
    var published: Int { self.counts.withLock { $0.published } }
    /// The number of messages that the broker rejected.
    var refused: Int { self.counts.withLock { $0.refused } }

    /// The box around the places of a connection's trackables, for the option `bbox` of a live stream.
    func box(of connection: Int) -> String {
        let west = Self.longitude(of: connection)
        return "\(west - 0.2),50,\(west + 0.5),51"
    }

    /// The time of the positions of a round.
    func time(of round: Int) -> UnixTime { UnixTime((self.start + Double(30 * round)).rounded()) }

    /// Runs the connections until the end of `body`.
    func withRunning(_ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for transport in self.transports {
                group.addTask { await transport.run() }
                group.addTask { await self.count(transport.events) }
            }
            try await waitUntil { self.connections == self.transports.count }
            try await body()
            for transport in self.transports { transport.send([.close(within: .seconds(20))]) }
            try await group.waitForAll()
        }
    }

    /// Publishes the liveness of each publisher, its presence on its trackables with the resolution in force, and the
    /// positions of round 0.
    func announce(within time: Duration) async throws {
        for (index, transport) in self.transports.enumerated() {
            transport.send([.publish(FleetMessages.liveness(of: "box-\(index)"), 1)])
        }
        try await self.publish(within: time) { index, number in
            [
                FleetMessages.presence(of: "box-\(index)", on: number),
                FleetMessages.resolution(of: number, .balanced, interval: 30_000),
                self.position(number, of: index, round: 0),
            ]
        }
    }

    /// Publishes a position of each trackable, evenly within a time.
    func publish(round: Int, within time: Duration) async throws {
        try await self.publish(within: time) { [self.position($1, of: $0, round: round)] }
    }

    /// Publishes messages about each trackable: ten trackables of the first connection, ten of the second one, and so
    /// on.
    private func publish(within time: Duration, _ messages: (Int, Int) -> [OutgoingMessage]) async throws {
        let begin = ContinuousClock.now
        let steps = stride(from: 0, to: self.size, by: 10).flatMap { part in
            self.transports.indices.map { (index: $0, part: part..<min(part + 10, self.size)) }
        }
        for (step, (index, part)) in steps.enumerated() {
            let commands = part.flatMap { messages(index, index * self.size + $0) }.map {
                TransportCommand.publish($0, 1)
            }
            self.transports[index].send(commands)
            try await Task.sleep(until: begin + time * (step + 1) / steps.count)
        }
    }

    private func count(_ events: MQTTEvents) async {
        for await events in events {
            self.counts.withLock { counts in
                for event in events {
                    switch event {
                    case .connected: counts.connections += 1
                    case .published(_, refusal: nil): counts.published += 1
                    case .published: counts.refused += 1
                    case .disconnected, .received, .subscribed: break
                    }
                }
            }
        }
    }

    private static func longitude(of connection: Int) -> Double { Double(connection % 300 - 150) }

    private func position(_ number: Int, of connection: Int, round: Int) -> OutgoingMessage {
        let place = number % self.size
        let longitude = Self.longitude(of: connection) + Double(place % 25) / 100
        let latitude = 50.1 + Double(place / 25) / 100 + Double(round) / 1000
        return FleetMessages.position(
            of: number, latitude: latitude, longitude: longitude, time: self.time(of: round).seconds, seq: round + 1)
    }
}
