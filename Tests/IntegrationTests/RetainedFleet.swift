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
            let (topic, client) = ("tracking/van-\(number)", "box-\(number)")
            messages.append(Self.retained("tracking/_clients/\(client)", Self.liveness))
            messages.append(Self.retained("\(topic)/publisher/\(client)", Self.presence(number)))
            messages.append(Self.retained("\(topic)/resolution", Self.resolution))
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
        let (longitude, latitude) = (1 + Double(number % 100) / 100, 50 + Double(number / 100) / 100)
        return Self.retained(
            "tracking/van-\(number)",
            #"{"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[\#(longitude),\#(latitude)]},"#
                + #""properties":{"time":\#(self.start + Double(seq)),"seq":\#(seq),"stream":"s\#(number)"}},"#
                + #""skippedLocations":[],"type":"ACTUAL"}"#)
    }

    private static let liveness = #"{"status":"online","session":"one","connection":0,"lease":3600}"#
    private static let resolution =
        #"{"resolution":{"accuracy":"HIGH","desiredInterval":1000,"minimumDisplacement":0},"near":false,"#
        + #""subscribers":0,"lowBattery":false,"state":"ONLINE","filter":"both","maximumSilence":86400000}"#

    private static func presence(_ number: Int) -> String {
        #"{"type":"PUBLISHER","session":"one","connection":0,"lease":3600,"since":5,"stream":"s\#(number)"}"#
    }

    private static func retained(_ topic: String, _ text: String) -> OutgoingMessage {
        OutgoingMessage(topic: topic, payload: Array(text.utf8), isRetained: true)
    }
}
