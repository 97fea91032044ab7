import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// Two enhancers of one group with a real broker. No routing engine answers, so each position is published as the device
/// sent it.
@Suite(.timeLimit(.minutes(5))) struct EnhanceGroupTests {
    private static let ids = (1...20).map { "van-\($0)" }

    /// Each position is published once. When a member is killed, the other one publishes the positions of all
    /// trackables, in order.
    @Test func theOtherMemberTakesOverAfterAKill() async throws {
        let broker = try await MosquittoProcess.start()
        let first = try Self.enhancer("roads-a", broker)
        let second = try Self.enhancer("roads-b", broker)
        for member in [first, second] {
            try await member.waitForLog("roads-a, roads-b")
            try await member.waitForLog("listening on")
        }
        let client = try MQTTClient(
            configuration: MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: try ClientID("test")))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            defer { group.cancelAll() }
            try await client.withSubscription(to: ["tracking/+/enhanced"]) { messages in
                var reader = messages.makeAsyncIterator()
                var last: [String: UInt64] = [:]
                for seq in UInt64(1)...3 { try await Self.drive(seq, client, &reader, &last) }
                for member in [first, second] { try await Self.expectShare(of: member) }
                first.signal(SIGKILL)
                let start = ContinuousClock.now
                try await Self.drive(4, client, &reader, &last)
                #expect(ContinuousClock.now - start < .seconds(60))
                try await Self.drive(5, client, &reader, &last)
            }
        }
        _ = try await first.result(within: .seconds(60))
        #expect(try await second.end().code == 0)
        withExtendedLifetime(broker) {}
    }

    private static func enhancer(_ name: String, _ broker: MosquittoProcess) throws -> RunningProgram {
        try Programs.start(
            "godwit",
            [
                "enhance", "--broker", broker.url, "--client-id", name, "--group", "fleet", "--engine",
                "valhalla:http://127.0.0.1:1", "--listen", "127.0.0.1:0", "--log-level", "info",
            ])
    }

    /// Publishes a fix of each trackable, and reads until each has an update of it. Each update is newer than the one
    /// before it.
    private static func drive(
        _ seq: UInt64, _ client: MQTTClient, _ reader: inout MQTTMessages.AsyncIterator, _ last: inout [String: UInt64]
    ) async throws {
        for id in self.ids {
            var fix = Location(
                coordinate: Coordinate(latitude: 47 + Double(seq) / 1_000, longitude: 9.5)!,
                time: UnixTime(1_790_000_000 + Double(seq) * 10))
            (fix.seq, fix.stream) = (seq, StreamID("s1"))
            let payload = try LocationCodec.encode(LocationUpdate(location: fix))
            try await client.publish(OutgoingMessage(topic: "tracking/\(id)", payload: payload, isRetained: true))
        }
        while !self.ids.allSatisfy({ last[$0] == seq }) {
            let message = try #require(try await reader.next())
            let id = String(message.topic.split(separator: "/")[1])
            let update = try LocationCodec.decode(message.payload)
            let number = try #require(update.location.seq)
            #expect(number > last[id] ?? 0, "\(id): \(number) after \(last[id] ?? 0)")
            last[id] = number
        }
    }

    /// Each member published a part of the positions.
    private static func expectShare(of member: RunningProgram) async throws {
        let line = try #require(member.errors.firstMatch(of: #/listening on http://127\.0\.0\.1:(\d+)/#))
        let page = try await LoopbackHTTP.request("GET", "/metrics", port: try #require(Int(line.1))).text
        let match = page.firstMatch(of: #/godwit_enhancer_positions_total\{confidence="off-road"\} (\d+)/#)
        let count = try #require((match?.1).flatMap { Int($0) }, "\(page)")
        #expect((1..<60).contains(count))
    }
}
