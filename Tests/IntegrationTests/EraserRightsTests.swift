import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// `godwit erase` at a broker with the project's own files.
extension BrokerFilesTests {
    private static let retained = [
        "van", "van/enhanced", "van/journey", "van/estimate", "van/trip", "van/resolution", "van/raw", "van/event",
        "van/history",
    ]
    /// The topics that a device may not publish.
    private static let foreign: Set = ["van/enhanced", "van/estimate"]

    private func retain(_ root: MQTTClient) async throws {
        for topic in Self.retained + ["car", "van/publisher/dev"] {
            try await root.publish(
                OutgoingMessage(topic: "tracking/\(topic)", payload: Array("{}".utf8), isRetained: true))
        }
    }

    /// The topics with a retained message, except for liveness.
    private func retained(_ root: MQTTClient) async throws -> Set<String> {
        let marker = "tracking/_clients/root"
        return try await root.withSubscription(to: ["tracking/#"]) { messages in
            try await root.publish(OutgoingMessage(topic: marker, payload: [1], isRetained: false))
            var topics: Set<String> = []
            for try await message in messages {
                if message.topic == marker { break }
                if message.isRetained { topics.insert(String(message.topic.dropFirst("tracking/".count))) }
            }
            return topics
        }
    }

    /// `add-eraser` grants the rights for erasing. A device's rights suffice for everything that the device publishes.
    /// Topics that a device or a watcher cannot clear are reported.
    @Test func erasingNeedsTheRightsOfAnEraser() async throws {
        try await self.withFiles(.password) { broker, folder in
            let store = "sqlite:\(folder.appending(path: "history.sqlite").path())"
            let file = folder.appending(path: "one.csv").path()
            try "time,lat,lon\n2026-05-04T09:00:00Z,52,-8\n".write(toFile: file, atomically: true, encoding: .utf8)
            #expect(
                try await Programs.run("godwit", ["import", file, "--trackable", "van", "--store", store]).code == 0)
            let credentials = try self.configuration("wipe", .password, broker, folder).credentials
            let password = try #require(credentials?.password)
            func erase(as user: String, _ more: [String] = []) async throws -> Programs.Result {
                try await Programs.run(
                    "godwit",
                    [
                        "erase", "van", "--yes", "--store", store, "--broker",
                        "mqtts://\(user)@localhost:\(broker.port)",
                        "--ca", folder.appending(path: "certs/ca.crt").path(), "--state",
                        folder.appending(path: "state").path(),
                    ] + more, environment: ["GODWIT_PASSWORD": password])
            }
            let root = try MQTTClient(configuration: self.configuration("root", .password, broker, folder))
            try await self.with(root) {
                let others: Set = ["car", "van/publisher/dev"]
                try await self.retain(root)
                let erased = try await erase(as: "wipe")
                #expect(
                    erased.code == 0 && erased.lines.last == "broker: 9 topics cleared",
                    "\(erased.output) \(erased.errors)")
                #expect(try await self.retained(root) == others)
                try await self.retain(root)
                let own = try await erase(as: "dev")
                #expect(own.code == 1 && own.lines.contains("broker: 7 topics cleared"), "\(own.output) \(own.errors)")
                #expect(try await self.retained(root) == others.union(Self.foreign))
                try await self.retain(root)
                let refused = try await erase(as: "eye")
                let lines = refused.lines.filter { $0.hasPrefix("not erased: tracking/van") }
                #expect(refused.code == 1 && lines.count == 9, "\(refused.output) \(refused.errors)")
                #expect(lines.allSatisfy { $0.contains("(0x87)") }, "\(lines)")
                #expect(try await self.retained(root) == others.union(Self.retained))
                // Erasing a part of the time reads the retained messages. A user without the right to read them proves
                // nothing.
                let early = ["--before", "2026-05-05T00:00:00Z"]
                let blind = try await erase(as: "dev", early)
                #expect(blind.code == 1 && blind.output.contains("cannot read the topic"), "\(blind.output)")
                let seeing = try await erase(as: "wipe", early)
                #expect(seeing.code == 0 && seeing.lines.last == "broker: 3 topics cleared", "\(seeing.output)")
                #expect(try await self.retained(root).isDisjoint(with: ["van", "van/enhanced", "van/trip"]))
            }
        }
    }
}
