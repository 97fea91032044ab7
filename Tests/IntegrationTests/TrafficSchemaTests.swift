import Foundation
import TestSupport
import Testing

/// What the programs really say, against docs/schemas and docs/asyncapi.yaml.
@Suite(.timeLimit(.minutes(3))) struct TrafficSchemaTests {
    private static let validator = Programs.root.appending(path: "Tests/Schemas/validate.py").path()

    /// Everything that the protocol has in use, and what is cleared with an empty payload.
    private static let kinds: Set = [
        "locationUpdate", "rawUpdate", "publisherPresence", "subscriberPresence", "resolutionRequest",
        "resolutionInForce", "event", "liveness", "publisherPresence:cleared", "subscriberPresence:cleared",
        "resolutionRequest:cleared", "resolutionInForce:cleared", "liveness:cleared",
    ]

    @Test func theDocumentsAgree() async throws {
        let check = try await RunningProgram(Self.validator, []).result()
        #expect(check.code == 0, "\(check.errors)")
    }

    @Test func whatTheProgramsSayIsWhatTheSchemasSay() async throws {
        let broker = try await MosquittoProcess.start()
        let capture = try await self.capture(broker)
        try await self.live(broker, capture)
        let check = try await self.validate(try await capture.end().output)
        #expect(check.code == 0, "\(check.errors)")
        let seen = check.lines.compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(Set(seen) == Self.kinds)
    }

    /// Writes down everything that passes the broker, from now on.
    private func capture(_ broker: MosquittoProcess) async throws -> RunningProgram {
        let capture = try RunningProgram(
            "/usr/bin/mosquitto_sub",
            ["-p", "\(broker.port)", "-i", "capture", "-q", "1", "-t", "tracking/#", "-F", "%t\\t%p"])
        let deadline = ContinuousClock.now + .seconds(20)
        while !broker.log.contains("Sending SUBACK to capture") {
            try #require(ContinuousClock.now < deadline, "\(broker.log)")
            try await Task.sleep(for: .milliseconds(5))
        }
        return capture
    }

    /// A courier near its destination whose battery sinks, a watcher that leaves, and one that dies.
    private func live(_ broker: MosquittoProcess, _ capture: RunningProgram) async throws {
        let battery = broker.directory.appending(path: "battery")
        try "50".write(to: battery, atomically: true, encoding: .utf8)
        let agent = try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "order:17", "--broker", broker.url, "--source", "simulate:", "--raw", "--battery",
                "file:\(battery.path())", "--battery-threshold", "20", "--low-battery-multiplier", "2", "--resolution",
                "HIGH/200/0", "--destination", "52.66,-8.63", "--proximity", "1000000",
            ])
        try await capture.wait(for: "\"state\":\"ONLINE\"")
        try await capture.wait(for: "\"near\":true")
        let watch = ["watch", "order:17", "--broker", broker.url, "--resolution", "HIGH/100/0"]
        let (orderly, doomed) = (try Programs.start("godwit", watch), try Programs.start("godwit", watch))
        try await capture.wait(for: "\"subscribers\":2")
        try await capture.wait(for: "\"desiredInterval\":100,")
        try "10".write(to: battery, atomically: true, encoding: .utf8)
        try await capture.wait(for: "\"kind\":\"LOW_BATTERY\"")
        try await capture.wait(for: "\"lowBattery\":true")
        try await doomed.end(SIGKILL)
        try await capture.wait(for: "\"status\":\"offline\"")
        #expect(try await orderly.end().code == 0)
        #expect(try await agent.end().code == 0)
        // The publisher's presence, cleared.
        try await capture.wait(within: .seconds(30)) { text in
            text.split(separator: "\n").contains { $0.contains("/publisher/") && $0.hasSuffix("\t") }
        }
    }

    // MARK: - What is refused

    private static let feature =
        #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"time":5}}"#
    private static let presence = #""session":"s","connection":0,"lease":90,"since":1.5"#
    private static let inForce =
        #""near":false,"subscribers":0,"lowBattery":false,"state":"ONLINE","filter":"both","maximumSilence":0"#
    private static let resolution = #"{"accuracy":"HIGH","desiredInterval":1000,"minimumDisplacement":1}"#
    private static let event = #""id":"0b6f1f9e-5d0c-4c3e-9a44-6f6c6a7f2e10","stream":"k","seq":1,"time":1,"detail":{}"#

    private static func update(_ feature: String, _ rest: String = #""type":"ACTUAL""#) -> String {
        #"v {"location":\#(feature),"skippedLocations":[],"intermediateLocations":[],\#(rest)}"#
    }

    /// Topic beneath the root and payload.
    private static let good = [
        Self.update(Self.feature, #""type":"ACTUAL","later":[null]"#),
        Self.update(Self.feature.replacing("\"time\":5", with: "\"time\":5,\"seq\":1,\"later\":{}")),
        #"v/raw {"location":\#(Self.feature),"skippedLocations":[]}"#,
        #"v/publisher/c {"type":"PUBLISHER",\#(Self.presence),"stream":"k","rawLocations":true,"later":1}"#,
        #"v/subscriber/c {"type":"SUBSCRIBER",\#(Self.presence),"later":1}"#,
        #"v/request/c {"session":"s","resolution":\#(Self.resolution)}"#,
        #"v/resolution {"resolution":\#(Self.resolution),\#(Self.inForce)}"#,
        #"v/event {"kind":"MADE_UP_LATER",\#(Self.event)}"#,
        #"_clients/c {"status":"offline","session":"s","connection":0}"#,
        "v ", "v/publisher/c ", "v/subscriber/c ", "v/request/c ", "v/resolution ", "_clients/c ",
    ]

    private static let bad = [
        "v garbage", "v []", "v null", #"v {"location":5}"#,
        Self.update(Self.feature.replacing("[1,2]", with: "[181,2]")),
        Self.update(Self.feature.replacing("[1,2]", with: "[1]")),
        Self.update(Self.feature.replacing("[1,2]", with: "[1,2,NaN]")),
        Self.update(Self.feature.replacing("\"time\":5", with: "")),
        Self.update(Self.feature.replacing("\"time\":5", with: "\"time\":5,\"speed\":-1")),
        Self.update(Self.feature.replacing("\"time\":5", with: "\"time\":5,\"speed\":null")),
        Self.update(Self.feature.replacing("\"time\":5", with: "\"time\":5,\"bearing\":360")),
        Self.update(Self.feature.replacing("\"time\":5", with: "\"time\":5,\"seq\":0")),
        Self.update(Self.feature.replacing("\"time\":5", with: "\"time\":5,\"seq\":1"), #""type":"PREDICTED""#),
        Self.update(Self.feature, #""type":"GUESSED""#),
        "v/raw ", #"v/raw {"location":\#(Self.feature)}"#,
        #"v/publisher/c {"type":"SUBSCRIBER",\#(Self.presence),"stream":"k","rawLocations":true}"#,
        #"v/publisher/c {"type":"PUBLISHER",\#(Self.presence)}"#,
        #"v/subscriber/c {"type":"PUBLISHER",\#(Self.presence)}"#,
        #"v/subscriber/c {"type":"SUBSCRIBER",\#(Self.presence.replacing(":90", with: ":0"))}"#,
        #"v/subscriber/c {"type":"SUBSCRIBER",\#(Self.presence),"stream":"k"}"#,
        #"v/request/c {"session":"","resolution":\#(Self.resolution)}"#,
        #"v/request/c {"session":"s","resolution":\#(Self.resolution.replacing("HIGH", with: "high"))}"#,
        #"v/request/c {"session":"s","resolution":\#(Self.resolution.replacing("1000", with: "-1"))}"#,
        #"v/resolution {"resolution":\#(Self.resolution),\#(Self.inForce.replacing("ONLINE", with: "on"))}"#,
        #"v/resolution {\#(Self.inForce)}"#,
        #"v/event {\#(Self.event)}"#, #"v/event {"kind":"X",\#(Self.event.replacing("0b6f", with: "x"))}"#, "v/event ",
        #"_clients/c {"status":"online","session":"s","connection":0}"#,
        #"_clients/c {"status":"gone","session":"s","connection":0}"#, "v/unknown {}",
    ]

    @Test func everyBrokenMessageIsRefusedAndUnknownMembersAreNot() async throws {
        let text = (Self.good + Self.bad).map { line in
            let space = line.firstIndex(of: " ") ?? line.endIndex
            return "tracking/\(line[..<space])\t\(line[space...].dropFirst())\n"
        }
        let check = try await self.validate(text.joined())
        #expect(check.code == 1)
        for number in 1...(Self.good.count + Self.bad.count) {
            let isRefused = check.errors.contains("line \(number), ")
            let line = (Self.good + Self.bad)[number - 1]
            #expect(isRefused == (number > Self.good.count), "\(line)\n\(check.errors)")
        }
    }

    /// Holds lines of topic, tab and payload against the schemas.
    private func validate(_ traffic: String) async throws -> Programs.Result {
        let file = FileManager.default.temporaryDirectory.appending(path: "godwit-traffic-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try traffic.write(to: file, atomically: true, encoding: .utf8)
        return try await RunningProgram(Self.validator, ["--traffic", file.path()]).result()
    }
}
