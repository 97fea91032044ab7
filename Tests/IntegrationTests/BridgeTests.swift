import Foundation
import TestSupport
import Testing

/// The OwnTracks and Home Assistant bridges on a broker, with the built program.
@Suite(.timeLimit(.minutes(10))) struct BridgeTests {
    private final class Scene: Sendable {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-bridge-\(UUID().uuidString)")
        let broker: MosquittoProcess
        let tap: WireTap

        init() async throws {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
            self.broker = try await MosquittoProcess.start()
            self.tap = try await WireTap.listen(
                to: self.broker, ["tracking/#", "owntracks/+/+", "homeassistant/#"])
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func file(_ name: String, _ text: String) throws -> String {
            let file = self.folder.appending(path: name)
            try Data(text.utf8).write(to: file)
            return file.path()
        }

        /// Publishes as a phone or a device does.
        func publish(_ payload: String, to topic: String, _ more: [String] = []) async throws {
            let content = payload.isEmpty ? ["-n"] : ["-m", payload]
            let result = try await RunningProgram(
                "/usr/bin/mosquitto_pub",
                ["-h", "127.0.0.1", "-p", "\(self.broker.port)", "-q", "1", "-t", topic] + content + more
            ).result()
            #expect(result.code == 0)
        }

        /// Starts the bridge; returns once it listens.
        func bridge(_ more: [String] = []) async throws -> RunningProgram {
            let bridge = try Programs.start(
                "godwit",
                [
                    "bridge", "owntracks", "--broker", self.broker.url, "--state", self.folder.path(), "--log-level",
                    "info",
                ] + more)
            try await bridge.waitForLog("OwnTracks bridge is connected and receives messages")
            return bridge
        }

        func end(_ bridge: RunningProgram) async throws {
            bridge.terminate()
            #expect(try await bridge.result(within: .seconds(60)).code == 0, "\(bridge.errors)")
        }

        /// Returns the messages on a topic, the latest last.
        func messages(_ topic: String) -> [WireTap.Message] { self.tap.messages.filter { $0.topic == topic } }
    }

    private static let noon = 1_777_636_800

    private static func location(_ second: Int) -> String {
        #"{"_type":"location","_id":"\#(second)","acc":13,"batt":62,"lat":52.1,"lon":-8.\#(1000 + second),"#
            + #""tst":\#(Self.noon + second),"vel":36}"#
    }

    private static func update(_ seq: Int) -> String {
        #"{"type":"ACTUAL","location":{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.5,52.5]},"#
            + #""properties":{"time":\#(Self.noon + seq),"accuracyHorizontal":4.2,"seq":\#(seq),"stream":"k3f9q2wz"}},"#
            + #""skippedLocations":[],"intermediateLocations":[]}"#
    }

    @Test func ownTracksOnTheBrokerIsAPublisherWithoutAChange() async throws {
        let scene = try await Scene()
        try await scene.publish(Self.location(1), to: "owntracks/old/phone", ["-r"])
        let bridge = try await scene.bridge([
            "--owntracks-keys", try scene.file("keys.json", #"{"tablet":"harbour lights"}"#),
            "--map", try scene.file("map.json", #"{"jane/tablet":"tablet"}"#),
        ])
        try await scene.publish(Self.location(2), to: "owntracks/jane/phone", ["-r"])
        try await scene.publish(
            #"{"_type":"transition","event":"enter","desc":"Home","tst":\#(Self.noon + 3)}"#,
            to: "owntracks/jane/phone/event")
        try await scene.publish("no JSON", to: "owntracks/jane/phone")
        let encrypted = Programs.root.appending(path: "Tests/Fixtures/Clients/owntracks-encrypted.json")
        try await scene.publish(try String(contentsOf: encrypted, encoding: .utf8), to: "owntracks/jane/tablet")
        try await scene.tap.wait {
            $0.updates(of: "jane-phone").count == 1 && $0.events("ZONE", of: "jane-phone").count == 1
                && $0.updates(of: "tablet").count == 1
        }
        let place = scene.tap.points(of: "jane-phone").first?["geometry"] as? [String: Any]
        #expect(place?["coordinates"] as? [Double] == [-8.1002, 52.1])
        try await scene.end(bridge)
        #expect(scene.tap.points(of: "old-phone").isEmpty, "the broker's kept copy is no news")
        #expect(!bridge.errors.contains("-8.1"), "the log has a coordinate")
    }

    @Test func messagesOfAnOutageAreIngestedAfterwards() async throws {
        let scene = try await Scene()
        try await scene.end(try await scene.bridge())
        for second in 1...5 { try await scene.publish(Self.location(second), to: "owntracks/jane/phone", ["-r"]) }
        let bridge = try await scene.bridge()
        try await scene.tap.wait { $0.points(of: "jane-phone").count >= 5 }
        // The same position again has its old number, and is not published again.
        try await scene.publish(Self.location(3), to: "owntracks/jane/phone")
        try await scene.publish(Self.location(6), to: "owntracks/jane/phone")
        try await scene.tap.wait { Set($0.points(of: "jane-phone").compactMap(WireTap.seq)).count >= 6 }
        #expect(Set(scene.tap.points(of: "jane-phone").compactMap(WireTap.seq)) == Set(1...6))
        try await scene.end(bridge)
    }

    @Test func positionsGoOutAndNeverComeBack() async throws {
        let scene = try await Scene()
        try await scene.publish(Self.update(1), to: "tracking/van", ["-r"])
        let bridge = try await scene.bridge(["--out", "godwit", "--home-assistant"])
        try await scene.tap.wait { _ in !scene.messages("owntracks/godwit/van").isEmpty }
        let out = try #require(scene.messages("owntracks/godwit/van").first).json
        #expect(out["_type"] as? String == "location" && out["_via"] as? String == "godwit")
        #expect(out["lat"] as? Double == 52.5 && out["tst"] as? Int == Self.noon + 1 && out["acc"] as? Int == 5)

        // A phone's positions are ingested, and not published to OwnTracks again.
        try await scene.publish(Self.location(1), to: "owntracks/jane/phone", ["-r"])
        try await scene.tap.wait { $0.updates(of: "jane-phone").count == 1 }
        try await scene.publish(Self.update(2), to: "tracking/van", ["-r"])
        try await scene.tap.wait { _ in scene.messages("owntracks/godwit/van").count == 2 }
        // Another bridge republishes our position on another topic.
        let copy = try #require(scene.messages("owntracks/godwit/van").last).payload
        try await scene.publish(copy, to: "owntracks/mirror/van")
        try await scene.publish(Self.location(2), to: "owntracks/jane/phone", ["-r"])
        try await scene.tap.wait { $0.points(of: "jane-phone").count >= 2 }
        for topic in ["owntracks/godwit/jane-phone", "tracking/godwit-van", "tracking/mirror-van"] {
            #expect(scene.messages(topic).isEmpty, "\(topic)")
        }

        let config = "homeassistant/device_tracker/tracking/van/config"
        let announced = try #require(scene.messages(config).first).json
        #expect(announced["json_attributes_topic"] as? String == "tracking/van")
        #expect(announced["source_type"] as? String == "gps" && announced["unique_id"] as? String != nil)
        #expect(scene.messages(config).count == 1)
        try await Self.checkAttributes(try #require(announced["json_attributes_template"] as? String))
        let phones = "homeassistant/device_tracker/tracking/jane-phone/config"
        try await scene.tap.wait { _ in !scene.messages(phones).isEmpty }
        try await scene.publish("", to: "tracking/van", ["-r"])
        try await scene.tap.wait { _ in
            scene.messages(config).last?.payload == "" && scene.messages("owntracks/godwit/van").last?.payload == ""
        }
        try await scene.end(bridge)
    }

    /// Renders the template for messages with the template engine of Home Assistant.
    private static func checkAttributes(_ template: String) async throws {
        func update(_ members: String) -> String {
            #"{"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.66,52.1]},"properties":{"time":7\#(members)}}}"#
        }
        let messages = [
            update(#","accuracyHorizontal":4.5,"batteryLevel":0.831"#), update(""),
            update(#","accuracyHorizontal":null,"batteryLevel":null"#), #"{"a":1}"#, "",
        ]
        let script = """
            import jinja2, json, sys
            given = json.loads(sys.argv[1])
            template = jinja2.Environment().from_string(given['template'])
            for text in given['messages']:
                print(template.render(**({'value_json': json.loads(text)} if text else {})))
            """
        let given = try JSONSerialization.data(withJSONObject: ["template": template, "messages": messages])
        let result = try await RunningProgram(
            "/usr/bin/python3", ["-c", script, String(decoding: given, as: UTF8.self)]
        ).result()
        #expect(result.code == 0, "python3-jinja2 is missing: apt-get install python3-jinja2")
        let made = try result.output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Double])
        }
        let place = ["latitude": 52.1, "longitude": -8.66, "time": 7]
        let accurate = place.merging(["gps_accuracy": 4.5, "battery_level": 83]) { $1 }
        let bare = place.merging(["gps_accuracy": 0]) { $1 }
        #expect(made == [accurate, bare, bare, [:], [:]])
    }

    @Test func eachConnectionHasItsUserIfTheBrokerNamesTheClients() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-bridge-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // The lines of broker/README.md.
        let page = try String(contentsOf: Programs.root.appending(path: "broker/README.md"), encoding: .utf8)
        let rules = try #require(
            page.components(separatedBy: "```acl\n").dropFirst().first?.components(separatedBy: "```")[0])
        let file = folder.appending(path: "acl.conf")
        let common = try String(contentsOf: Programs.root.appending(path: "broker/acl.conf"), encoding: .utf8)
        try Data((common + "\n" + rules + "\nuser phone\ntopic readwrite #\n").utf8).write(to: file)
        let broker = try await MosquittoProcess.start(extra: [
            "acl_file \(file.path())", "use_username_as_clientid true",
        ])
        func phone(_ program: String, _ more: [String]) throws -> RunningProgram {
            try RunningProgram(
                "/usr/bin/\(program)",
                ["-h", "127.0.0.1", "-p", "\(broker.port)", "-u", "phone", "-q", "1"] + more)
        }
        let url = "mqtt://bridge@127.0.0.1:\(broker.port)"
        let bridge = try Programs.start(
            "godwit",
            [
                "bridge", "owntracks", "--broker", url, "--state", folder.path(), "--user-per-connection", "--out",
                "godwit", "--home-assistant", "--log-level", "info",
            ])
        try await bridge.waitForLog("OwnTracks bridge is connected and receives messages")
        _ = try await phone("mosquitto_pub", ["-t", "owntracks/jane/phone", "-m", Self.location(1)]).result()
        let announced = try phone("mosquitto_sub", ["-t", "homeassistant/#", "-C", "1", "-F", "%t"])
        try await announced.wait { $0.contains("homeassistant/device_tracker/tracking/jane-phone/config") }
        _ = try await phone("mosquitto_pub", ["-t", "tracking/van", "-m", Self.update(1)]).result()
        let out = try phone("mosquitto_sub", ["-t", "owntracks/godwit/+", "-C", "1", "-F", "%t"])
        try await out.wait { $0.contains("owntracks/godwit/van") }
        #expect(!bridge.errors.contains("rejected"), "\(bridge.errors)")
        bridge.terminate()
        #expect(try await bridge.result(within: .seconds(60)).code == 0)
    }
}
