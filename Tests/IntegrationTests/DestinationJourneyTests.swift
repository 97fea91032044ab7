import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// An agent with a destination, a real broker, and a client in place of the enhancer and of the operator.
@Suite(.timeLimit(.minutes(5))) struct DestinationJourneyTests {
    private static let place = Coordinate(latitude: -33.9, longitude: 18.4)!  // in range
    private static let other = Journey(stops: [Journey.Stop(id: "4711", location: place)])

    /// An agent whose straight line to the destination is thousands of kilometres long.
    private func agent(_ broker: MosquittoProcess, _ arguments: [String]) throws -> RunningProgram {
        try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van", "--broker", broker.url, "--source", "simulate:", "--battery", "none",
                "--spool", "memory", "--arrival", "120", "--resolution-far", "LOW/10000/0", "--resolution-near",
                "HIGH/1000/0",
            ] + arguments)
    }

    /// Runs `body` with a client that receives the journeys and the resolutions of the trackable.
    private func with(
        _ broker: MosquittoProcess, _ body: (MQTTClient, inout MQTTMessages.AsyncIterator) async throws -> Void
    ) async throws {
        let client = try MQTTClient(
            configuration: MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: try ClientID("test")))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            defer { group.cancelAll() }
            try await client.withSubscription(to: ["tracking/van/journey", "tracking/van/resolution"]) { messages in
                var iterator = messages.makeAsyncIterator()
                try await body(client, &iterator)
            }
        }
    }

    /// Waits for a resolution in force that fulfils a condition.
    private func resolution(
        _ messages: inout MQTTMessages.AsyncIterator, where isWanted: (ResolutionInForce) -> Bool
    ) async throws -> ResolutionInForce {
        while true {
            let message = try #require(try await messages.next())
            guard message.topic == "tracking/van/resolution", !message.payload.isEmpty else { continue }
            let inForce = try MessageCodec.decodeResolution(message.payload)
            if isWanted(inForce) { return inForce }
        }
    }

    /// Waits for a journey; `nil` after it was cleared.
    private func journey(_ messages: inout MQTTMessages.AsyncIterator) async throws -> Journey? {
        while true {
            let message = try #require(try await messages.next())
            guard message.topic == "tracking/van/journey" else { continue }
            return message.payload.isEmpty ? nil : try MessageCodec.decodeJourney(message.payload)
        }
    }

    private func publish(_ client: MQTTClient, _ topic: String, _ payload: [UInt8]) async throws {
        try await client.publish(OutgoingMessage(topic: "tracking/van/\(topic)", payload: payload, isRetained: true))
    }

    /// Publishes the estimate that the trackable is at a stop in 90 s.
    private func publishEstimate(_ client: MQTTClient, of stop: String) async throws {
        let now = UnixTime(Date().timeIntervalSince1970)
        let arrival = Estimate.Stop(
            id: stop, eta: now.advanced(by: .seconds(90)), distance: 1_500, status: .approaching)
        let estimate = Estimate(time: now, basis: .route, stops: [arrival])
        try await self.publish(client, "estimate", try MessageCodec.encode(estimate))
    }

    @Test func anEstimateOfTheArrivalChangesTheResolution() async throws {
        let broker = try await MosquittoProcess.start()
        let agent = try self.agent(broker, ["--destination", "-33.9,18.4"])
        try await self.with(broker) { client, messages in
            let journey = try #require(try await self.journey(&messages))
            #expect(journey == Journey(to: Self.place))
            let far = try await self.resolution(&messages) { $0.approach?.distance != nil }
            #expect(!far.isNear && far.resolution.desiredInterval == .seconds(10))
            #expect(far.approach?.distance ?? 0 > 1_000_000)
            try await self.publishEstimate(client, of: journey.stops[0].id)
            let near = try await self.resolution(&messages) { $0.isNear && $0.approach?.distance ?? 9_999 <= 1_500 }
            #expect(near.resolution.desiredInterval == .seconds(1))
            #expect((1...150).contains(near.approach?.timeToArrival?.inSeconds ?? 0))
            #expect(try await agent.end().code == 0, "\(agent.errors)")
            let end = try await self.journey(&messages)
            #expect(end == nil, "the journey ends with the tracking")
        }
    }

    @Test func anOperatorsJourneyCountsAndRemains() async throws {
        let broker = try await MosquittoProcess.start()
        try await self.with(broker) { client, messages in
            try await self.publish(client, "journey", try MessageCodec.encode(Self.other))
            let first = try await self.journey(&messages)
            #expect(first == Self.other)
            let agent = try self.agent(broker, [])
            _ = try await self.resolution(&messages) { $0.state == .online }
            try await self.publishEstimate(client, of: "4711")
            _ = try await self.resolution(&messages) { $0.isNear }
            #expect(try await agent.end().code == 0, "\(agent.errors)")
            // A destination does not replace it either.
            let second = try self.agent(broker, ["--destination", "-33.9,18.4"])
            _ = try await self.resolution(&messages) { $0.approach?.distance != nil }
            #expect(try await second.end().code == 0, "\(second.errors)")
        }
        try await self.with(broker) { _, messages in
            let journey = try await self.journey(&messages)
            #expect(journey == Self.other)
        }
    }
}
