import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingRecorder
import TrackingStore

/// Recorders that clear the retained messages of absent clients, at a broker with the project's own files.
extension BrokerFilesTests {
    /// The retained messages of an absent client, and the presence of a client with a lease of a day.
    private static let left = [
        "van/publisher/gone": #"{"type":"PUBLISHER","session":"g","connection":0,"lease":1,"since":1}"#,
        "van/subscriber/gone": #"{"type":"SUBSCRIBER","session":"g","connection":0,"lease":1,"since":1}"#,
        "van/request/gone":
            #"{"session":"g","resolution":{"accuracy":"HIGH","desiredInterval":1000,"minimumDisplacement":1}}"#,
        "_clients/gone": #"{"status":"online","session":"g","connection":0,"lease":1}"#,
        "car/publisher/box": #"{"type":"PUBLISHER","session":"b","connection":0,"lease":86400,"since":1}"#,
    ]

    /// `add-recorder --housekeeper` grants the rights for clearing. Without them nothing is cleared, and the recorder
    /// reports it.
    @Test(arguments: Access.allCases) func aHousekeeperHasWhatItNeeds(access: Access) async throws {
        try await self.withFiles(access) { broker, folder in
            let root = try MQTTClient(configuration: self.configuration("root", access, broker, folder))
            try await self.with(root) {
                try await Self.leaveBehind(root)
                let reported = try await self.record("tidy", access, broker, folder, until: Self.hasClearedAll)
                #expect(!reported.contains(where: Self.isRefused), "\(reported)")
                #expect(try await Self.standing(root) == ["car/publisher/box"])
                try await Self.leaveBehind(root)
                let refused = try await self.record("rec", access, broker, folder, until: Self.isRefused)
                #expect(!refused.contains(.cleared(1)) && !refused.contains(.cleared(4)), "\(refused)")
                #expect(try await Self.standing(root) == Set(Self.left.keys))
            }
        }
    }

    private static func hasClearedAll(_ event: RecorderEvent) -> Bool { event == .cleared(4) }

    private static func isRefused(_ event: RecorderEvent) -> Bool {
        if case .clearingRefused(let error) = event { error.code == .notAuthorized } else { false }
    }

    private static func leaveBehind(_ root: MQTTClient) async throws {
        for (topic, payload) in self.left {
            try await root.publish(
                OutgoingMessage(topic: "tracking/\(topic)", payload: Array(payload.utf8), isRetained: true))
        }
    }

    /// Returns the topics of ``left`` that still have a retained message.
    private static func standing(_ root: MQTTClient) async throws -> Set<String> {
        let marker = "tracking/_clients/root"
        return try await root.withSubscription(to: self.left.keys.map { "tracking/\($0)" } + [marker]) { messages in
            try await root.publish(OutgoingMessage(topic: marker, payload: [1], isRetained: false))
            var topics: Set<String> = []
            for try await message in messages {
                if message.topic == marker { break }
                topics.insert(String(message.topic.dropFirst("tracking/".count)))
            }
            return topics
        }
    }

    /// Runs a recorder that clears after one second, until it delivers the expected event.
    ///
    /// - Returns: All events of the recorder.
    private func record(
        _ name: String, _ access: Access, _ broker: MosquittoProcess, _ folder: URL,
        until isEnough: (RecorderEvent) -> Bool
    ) async throws -> [RecorderEvent] {
        let store = try SQLiteHistoryStore(path: folder.appending(path: "\(name).sqlite").path())
        var configuration = try RecorderConfiguration(
            client: ClientID(name), session: try #require(SessionID("mine")))
        configuration.clearsAfter = .seconds(1)
        func transport(_ user: String) throws -> MQTTTransport {
            try MQTTTransport(configuration: self.configuration(user, access, broker, folder))
        }
        let recorder = Recorder(
            configuration: configuration, store: store, intake: try transport("\(name)-intake"),
            voice: try transport(name))
        let events = recorder.events
        async let running: Void = recorder.run()
        var reported: [RecorderEvent] = []
        for await event in events {
            reported.append(event)
            if isEnough(event) { recorder.finish() }
        }
        try await running
        try await store.close()
        return reported
    }
}
