import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// Retained messages of many trackables at a broker: of each a position, a resolution, and the presence and the liveness
/// of its publisher.
struct RetainedFleet: Sendable {
    let count: Int
    /// The address of the broker.
    let port: Int
    private let start = Date.now.timeIntervalSince1970 - 3600

    /// Publishes the retained messages, and returns when the broker has them.
    func publish() async throws {
        var messages: [OutgoingMessage] = []
        for number in 0..<self.count {
            let client = "box-\(number)"
            messages.append(FleetMessages.liveness(of: client))
            messages.append(FleetMessages.presence(of: client, on: number))
            messages.append(FleetMessages.resolution(of: number, .high, interval: 1000))
            messages.append(self.position(number, seq: 1))
        }
        try await self.publish(messages)
    }

    /// Publishes a number of positions: the trackables in turn, each with the next record number.
    ///
    /// - Returns: The number of the newest record, by trackable.
    @discardableResult
    func burst(_ positions: Int) async throws -> [String: Int] {
        try await self.publish((0..<positions).map { self.position($0 % self.count, seq: 2 + $0 / self.count) })
        return self.newest(after: positions)
    }

    /// The number of each trackable's newest record after a burst.
    func newest(after positions: Int = 0) -> [String: Int] {
        var newest: [String: Int] = [:]
        for number in 0..<self.count {
            newest["van-\(number)"] = 1 + positions / self.count + (number < positions % self.count ? 1 : 0)
        }
        return newest
    }

    private func publish(_ messages: [OutgoingMessage]) async throws {
        var configuration = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "127.0.0.1", port: self.port)], client: try ClientID("fleet"))
        configuration.limits.waitingEvents = 100_000
        let transport = try MQTTTransport(configuration: configuration)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await transport.run() }
            var answers = 0
            for await events in transport.events {
                for event in events {
                    switch event {
                    case .connected: transport.send(messages.enumerated().map { .publish($1, UInt64($0 + 1)) })
                    case .published: answers += 1
                    default: break
                    }
                }
                if answers == messages.count { transport.send([.close(within: .seconds(1))]) }
            }
        }
    }

    private func position(_ number: Int, seq: Int) -> OutgoingMessage {
        FleetMessages.position(
            of: number, latitude: 50 + Double(number / 100) / 100, longitude: 1 + Double(number % 100) / 100,
            time: self.start + Double(seq), seq: seq)
    }
}
