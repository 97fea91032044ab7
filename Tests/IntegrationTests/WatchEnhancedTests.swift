import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// `godwit watch --enhanced` with a device and an enhancer that a test plays.
@Suite(.serialized) struct WatchEnhancedTests {
    /// One message of the device or of the enhancer about a fix of van-7.
    private enum Message {
        case published(UInt64)
        case enhanced(UInt64)
        /// The estimate of an arrival, in seconds from now.
        case estimate(Double)

        func outgoing() throws -> OutgoingMessage {
            switch self {
            case .estimate(let seconds):
                OutgoingMessage(
                    topic: "tracking/van-7/estimate",
                    payload: try MessageCodec.encode(
                        Estimate(
                            time: UnixTime(Self.now), basis: .route,
                            stops: [
                                Estimate.Stop(
                                    id: "4711", eta: UnixTime(Self.now + seconds), distance: 4200,
                                    status: .enRoute)
                            ])), isRetained: true)
            case .published(let seq): try Self.message("tracking/van-7", LocationUpdate(location: Self.fix(seq)))
            case .enhanced(let seq):
                try Self.message(
                    "tracking/van-7/enhanced",
                    LocationUpdate(
                        location: Self.fix(seq),
                        enhancement: Enhancement(confidence: .matched, road: "Main Street", way: 42)))
            }
        }

        private static var now: Double { Date().timeIntervalSince1970 }

        private static func fix(_ seq: UInt64) throws -> Location {
            var fix = Location(
                coordinate: try #require(Coordinate(latitude: 47.16, longitude: 9.51)),
                time: UnixTime(1_790_000_000 + Double(seq)))
            (fix.seq, fix.stream) = (seq, StreamID("one"))
            return fix
        }

        private static func message(_ topic: String, _ update: LocationUpdate) throws -> OutgoingMessage {
            OutgoingMessage(topic: topic, payload: try LocationCodec.encode(update), isRetained: true)
        }
    }

    /// Publishes messages, together and in this order, and returns when the broker has them.
    private func publish(_ messages: Message..., to broker: MosquittoProcess) async throws {
        let configuration = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: try ClientID("stage"))
        let transport = try MQTTTransport(configuration: configuration)
        let outgoing = try messages.map { try $0.outgoing() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await transport.run() }
            var answers = 0
            for await events in transport.events {
                for event in events {
                    switch event {
                    case .connected: transport.send(outgoing.enumerated().map { .publish($1, UInt64($0 + 1)) })
                    case .published: answers += 1
                    default: break
                    }
                }
                if answers == outgoing.count { transport.send([.close(within: .seconds(1))]) }
            }
        }
    }

    /// The positions that were printed, such as `3` and `4 Main Street`.
    private func positions(_ output: String) throws -> [String] {
        try output.split(separator: "\n").compactMap { line in
            let value = try JSONValue(json: line.utf8)
            guard value["event"]?.text == "location", let seq = value["location"]?["properties"]?["seq"]?.count
            else { return nil }
            return (["\(seq)"] + [value["enhanced"]?["road"]?.text].compactMap(\.self)).joined(separator: " ")
        }
    }

    @Test func positionsOnTheRoadArePreferredWhileThereAreAny() async throws {
        let broker = try await MosquittoProcess.start()
        let watch = try Programs.start(
            "godwit", ["watch", "van-7", "--broker", broker.url, "--format", "json", "--enhanced"])
        func wait(for expected: String...) async throws {
            try await watch.wait(within: .seconds(60)) { ((try? self.positions($0)) ?? []).count >= expected.count }
            #expect(try self.positions(watch.output) == expected)
        }
        try await self.publish(.published(1), .enhanced(1), to: broker)
        try await wait(for: "1", "1 Main Street")
        try await self.publish(.published(2), .enhanced(2), to: broker)
        try await wait(for: "1", "1 Main Street", "2 Main Street")
        // Without an enhancer, the published position is shown after two seconds, and the next one at once.
        try await self.publish(.published(3), to: broker)
        try await wait(for: "1", "1 Main Street", "2 Main Street", "3")
        try await self.publish(.published(4), to: broker)
        try await wait(for: "1", "1 Main Street", "2 Main Street", "3", "4")
        // The enhancer is back, and at first behind.
        try await self.publish(.enhanced(3), .enhanced(4), .published(5), .enhanced(5), to: broker)
        try await wait(for: "1", "1 Main Street", "2 Main Street", "3", "4", "4 Main Street", "5 Main Street")
        #expect(watch.output.contains(#""enhanced":{"road":"Main Street","way":42,"confidence":"matched"}"#))
        watch.terminate()
        #expect(try await watch.result(within: .seconds(60)).code == 0)
    }

    @Test(arguments: [80, 120]) func theLiveTableShowsTheRoadAndTheArrival(columns: UInt16) async throws {
        let broker = try await MosquittoProcess.start()
        try await self.publish(.published(1), .enhanced(1), .estimate(3 * 86_400), to: broker)
        let terminal = try TestTerminal(columns: columns, rows: 12)
        let watch = try Programs.start(
            "godwit", ["watch", "van-7", "--broker", broker.url, "--enhanced"], environment: ["TERM": "xterm"],
            terminal: terminal)
        try await terminal.wait { lines in
            lines.contains { $0.hasPrefix("van-7") && $0.contains(" 3 d ") && $0.contains("Main Street") }
        }
        #expect(terminal.lines[0].contains(" next due eta") && terminal.lines[0].contains(" road"))
        #expect(terminal.lines.allSatisfy { $0.count <= Int(columns) })
        terminal.press("q")
        #expect(try await watch.result(within: .seconds(60)).code == 0)
    }

    @Test func anEstimateIsALineOfJSON() async throws {
        let broker = try await MosquittoProcess.start()
        try await self.publish(.published(1), .estimate(600), to: broker)
        let watch = try Programs.start("godwit", ["watch", "--all", "--broker", broker.url, "--format", "json"])
        try await watch.wait(within: .seconds(60)) { $0.contains(#""event":"estimate""#) }
        let lines = try watch.output.split(separator: "\n").map { try JSONValue(json: $0.utf8) }
        let estimate = try #require(lines.first { $0["event"]?.text == "estimate" })
        #expect(estimate["trackable"]?.text == "van-7" && estimate["stops"]?.list?.first?["id"]?.text == "4711")
        watch.terminate()
        #expect(try await watch.result(within: .seconds(60)).code == 0)
    }

    @Test func theLiveTableShowsTheRoad() async throws {
        let broker = try await MosquittoProcess.start()
        try await self.publish(.published(1), .enhanced(1), to: broker)
        let terminal = try TestTerminal(columns: 130, rows: 12)
        let watch = try Programs.start(
            "godwit", ["watch", "van-7", "--broker", broker.url, "--enhanced"], environment: ["TERM": "xterm"],
            terminal: terminal)
        try await terminal.wait { lines in lines.contains { $0.hasPrefix("van-7") && $0.contains("Main Street") } }
        #expect(terminal.lines[0].contains(" road "))
        try await self.publish(.published(2), to: broker)
        try await terminal.wait { lines in !lines.contains { $0.contains("Main Street") } }
        terminal.press("q")
        #expect(try await watch.result(within: .seconds(60)).code == 0)
    }
}
