import Foundation
import TestSupport

/// A client that receives every message below `tracking/`, or of the given filters, independently of the project's
/// code.
final class WireTap: Sendable {
    /// One message.
    struct Message {
        var topic: String
        var payload: String

        /// The payload as JSON; empty if it is not JSON.
        var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(self.payload.utf8))) as? [String: Any] ?? [:]
        }
    }

    private let program: RunningProgram

    /// Subscribes at a broker, and returns when every further message is received.
    static func listen(to broker: MosquittoProcess, _ filters: [String] = ["tracking/#"]) async throws -> WireTap {
        // The retained message of the last filter arrives after all subscriptions.
        let place = ["-h", "127.0.0.1", "-p", "\(broker.port)", "-q", "1"]
        let mark = try RunningProgram("/usr/bin/mosquitto_pub", place + ["-r", "-t", "tap", "-m", "listening"])
        _ = try await mark.result()
        let tap = WireTap(
            program: try RunningProgram(
                "/usr/bin/mosquitto_sub", place + (filters + ["tap"]).flatMap { ["-t", $0] } + ["-F", "%t %p"]))
        try await tap.program.wait(for: "tap listening")
        return tap
    }

    private init(program: RunningProgram) { self.program = program }

    deinit { self.program.terminate() }

    /// The messages so far, in order.
    var messages: [Message] {
        self.program.output.split(separator: "\n").map { line in
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            return Message(topic: String(parts[0]), payload: parts.count > 1 ? String(parts[1]) : "")
        }
    }

    /// The messages so far on this topic below `tracking/`, without empty payloads.
    func messages(on topic: String) -> [Message] {
        self.messages.filter { $0.topic == "tracking/\(topic)" && !$0.payload.isEmpty }
    }

    /// The events of a trackable of this kind.
    func events(_ kind: String, of trackable: String) -> [[String: Any]] {
        self.messages(on: "\(trackable)/event").map(\.json).filter { $0["kind"] as? String == kind }
    }

    /// The points of a trackable in live updates, by number, each with its skipped points.
    func updates(of trackable: String) -> [(seq: Int, skipped: [Int])] {
        self.messages(on: trackable).map { message in
            (
                Self.seq(message.json["location"]) ?? 0,
                (message.json["skippedLocations"] as? [Any] ?? []).compactMap { Self.seq($0) }
            )
        }
    }

    /// The Features of all points of a trackable in batches.
    func batched(of trackable: String) -> [[String: Any]] {
        self.messages(on: "\(trackable)/history").flatMap { $0.json["points"] as? [[String: Any]] ?? [] }
    }

    /// The Features of all points of a trackable, on either lane. A point on both lanes appears twice.
    func points(of trackable: String) -> [[String: Any]] {
        self.messages(on: trackable).flatMap { message -> [[String: Any]] in
            let json = message.json
            let newest = json["location"] as? [String: Any]
            return (json["skippedLocations"] as? [[String: Any]] ?? []) + (newest.map { [$0] } ?? [])
        } + self.batched(of: trackable)
    }

    /// The properties of a Feature.
    static func properties(_ feature: Any?) -> [String: Any] {
        (feature as? [String: Any])?["properties"] as? [String: Any] ?? [:]
    }

    /// The number of a point.
    static func seq(_ feature: Any?) -> Int? { Self.properties(feature)["seq"] as? Int }

    /// Waits until a condition holds.
    func wait(within limit: Duration = .seconds(60), for isThere: (WireTap) -> Bool) async throws {
        try await self.program.wait(within: limit) { _ in isThere(self) }
    }
}
