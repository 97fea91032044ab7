import Foundation
import TestSupport
import Testing

/// Validates the real traffic of the programs against docs/reference/schemas and docs/reference/asyncapi.yaml.
@Suite(.timeLimit(.minutes(10))) struct TrafficSchemaTests {
    private static let validator = Programs.root.appending(path: "Tests/Schemas/validate.py").path()

    /// Every kind of message in the protocol, and the topics that are cleared with an empty payload.
    private static let kinds: Set = [
        "locationUpdate", "rawUpdate", "publisherPresence", "subscriberPresence", "resolutionRequest",
        "resolutionInForce", "trip", "event", "liveness", "historyBatch", "acknowledgement",
        "command", "answer", "journey",
        "publisherPresence:cleared", "subscriberPresence:cleared", "resolutionRequest:cleared",
        "resolutionInForce:cleared", "liveness:cleared", "journey:cleared",
    ]

    @Test func theDocumentsAgree() async throws {
        let check = try await RunningProgram(Self.validator, []).result()
        #expect(check.code == 0, "\(check.errors)")
    }

    @Test func theProgramsTrafficMatchesTheSchemas() async throws {
        let broker = try await MosquittoProcess.start()
        let capture = try await self.capture(broker)
        let recorder = try TestRecorder(of: "order:17", on: broker, acknowledgingAs: "keeper")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await recorder.run() }
            try await recorder.waitUntilListening()
            try await self.queue(broker)
            try await self.live(broker, capture)
            group.cancelAll()
        }
        let check = try await self.validate(try await capture.end().output)
        #expect(check.code == 0, "\(check.errors)")
        let seen = check.lines.compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(Set(seen) == Self.kinds)
    }

    /// Captures every message of the broker from now on.
    private func capture(_ broker: MosquittoProcess) async throws -> RunningProgram {
        let capture = try RunningProgram(
            "/usr/bin/mosquitto_sub",
            ["-p", "\(broker.port)", "-i", "capture", "-q", "1", "-t", "tracking/#", "-F", "%t\\t%p"])
        let deadline = ContinuousClock.now + .seconds(60)
        while !broker.log.contains("Sending SUBACK to capture") {
            try #require(ContinuousClock.now < deadline, "\(broker.log)")
            try await Task.sleep(for: .milliseconds(5))
        }
        return capture
    }

    /// The log of the courier.
    private func spool(_ broker: MosquittoProcess) -> String { broker.directory.appending(path: "spool.sqlite").path() }

    /// Leaves unsent points in the courier's log.
    private func queue(_ broker: MosquittoProcess) async throws {
        let drive = broker.directory.appending(path: "drive.jsonl")
        try "\(Self.feature)\n\(Self.feature)\n".write(to: drive, atomically: true, encoding: .utf8)
        let agent = try await Programs.run(
            "godwit-agent",
            [
                "run", "--trackable", "order:17", "--broker", broker.url, "--source", "jsonl:\(drive.path())",
                "--spool", self.spool(broker), "--batch-window", "off", "--battery", "none",
            ])
        #expect(agent.code == 0, "\(agent.errors)")
    }

    /// Runs a courier near its destination with a sinking battery, a watcher that leaves, and one that is killed.
    private func live(_ broker: MosquittoProcess, _ capture: RunningProgram) async throws {
        let battery = broker.directory.appending(path: "battery")
        try "50".write(to: battery, atomically: true, encoding: .utf8)
        let agent = try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "order:17", "--broker", broker.url, "--source", "simulate:", "--raw", "--battery",
                "file:\(battery.path())", "--battery-threshold", "20", "--low-battery-multiplier", "2", "--resolution",
                "HIGH/200/0", "--floor", "MAXIMUM/0/0", "--destination", "52.66,-8.63", "--proximity", "1000000",
                "--spool", self.spool(broker), "--batch-window", "0.2", "--acknowledge-by", "keeper",
                "--automatic-trips", "car", "--pause-radius", "10", "--speed", "10", "--allow-commands",
            ])
        try await capture.wait(for: "\"state\":\"ONLINE\"")
        try await capture.wait(for: "\"near\":true")
        try await capture.wait { Self.has(batch: "\"points\":[{", in: $0) }
        let watch = ["watch", "order:17", "--broker", broker.url, "--resolution", "HIGH/100/0"]
        let (orderly, doomed) = (try Programs.start("godwit", watch), try Programs.start("godwit", watch))
        try await capture.wait(for: "\"subscribers\":2")
        try await capture.wait(for: "\"desiredInterval\":100,")
        try "10".write(to: battery, atomically: true, encoding: .utf8)
        try await capture.wait(for: "\"kind\":\"LOW_BATTERY\"")
        try await capture.wait(for: "\"lowBattery\":true")
        // An event is published on both lanes.
        try await capture.wait { Self.has(batch: "\"kind\":\"LOW_BATTERY\"", in: $0) }
        try await capture.wait(for: "/ack/keeper\t{\"streams\":{\"")
        try await capture.wait(for: "/trip\t{\"tripId\"")
        try await capture.wait { Self.has(batch: "\"trips\":[{", in: $0) }
        for (command, code) in [("report", 0), ("stop-trip", 0), ("stop-trip", 1)] {
            let sent = try await Programs.run("godwit", ["send", command, "order:17", "--broker", broker.url])
            #expect(sent.code == code, "\(sent.output) \(sent.errors)")
        }
        try await doomed.end(SIGKILL)
        try await capture.wait(for: "\"status\":\"offline\"")
        #expect(try await orderly.end().code == 0)
        #expect(try await agent.end().code == 0)
        // The clearing of the publisher's presence.
        try await capture.wait(within: .seconds(60)) { text in
            text.split(separator: "\n").contains { $0.contains("/publisher/") && $0.hasSuffix("\t") }
        }
    }

    private static func has(batch text: String, in traffic: String) -> Bool {
        traffic.split(separator: "\n").contains { $0.contains("/history\t") && $0.contains(text) }
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

    private static let point = Self.feature.replacing("\"time\":5", with: "\"time\":5,\"seq\":1")
    private static let trip =
        #"{"tripId":"t","mode":"car","state":"ACTIVE","start":1,"distance":0,"duration":0,"stream":"k","seq":2}"#

    private static func batch(_ points: String, _ rest: String = "") -> String {
        let batch = #""batch":"0b6f1f9e-5d0c-4c3e-9a44-6f6c6a7f2e10","stream":"k","oldest":1,"remaining":0"#
        return #"v/history {\#(batch),"points":[\#(points)]\#(rest)}"#
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
        Self.batch("", #","end":0"#), Self.batch(Self.point, #","gone":[[2,3],[5,5]],"end":7,"later":1"#),
        Self.batch("", #","trips":[\#(Self.trip)],"events":[{"kind":"X",\#(Self.event)}]"#),
        Self.batch("", #","trips":[\#(Self.ended())]"#),
        #"v/ack/r {"streams":{}}"#, #"v/ack/r {"streams":{"k":0,"l":4711},"later":1}"#, "v/ack/r ",
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
        "v/history ", #"v/history {"batch":"x","stream":"k","oldest":1,"points":[],"remaining":0}"#,
        Self.batch(Self.feature), Self.batch("5"),
        Self.batch("").replacing(#""remaining":0"#, with: #""remaining":-1"#),
        Self.batch("", #","end":-1"#),
        Self.batch("", #","gone":[[1]]"#), Self.batch("", #","gone":[[0,3]]"#), Self.batch("", #","gone":[1,3]"#),
        Self.batch("").replacing(#""oldest":1"#, with: #""oldest":0"#),
        Self.batch("").replacing(#""stream":"k","#, with: ""), Self.batch("").replacing(#","points":[]"#, with: ""),
        Self.batch("", #","events":[{"kind":"X"}]"#), Self.batch("", #","trips":[{"tripId":"t"}]"#),
        Self.batch("", #","trips":[\#(Self.trip.replacing("ACTIVE", with: "ENDED"))]"#),
        Self.batch("", #","trips":[\#(Self.trip.replacing("\"start\"", with: "\"end\":2,\"start\""))]"#),
        Self.batch("", #","trips":[\#(Self.ended(by: "nobody"))]"#),
        "v/ack/r {}", #"v/ack/r {"streams":[]}"#, #"v/ack/r {"streams":{"k":-1}}"#, #"v/ack/r {"streams":{"":1}}"#,
        #"v/ack/r {"streams":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}}"#,
    ]

    private static func ended(by whom: String = "automatic") -> String {
        Self.trip.replacing("ACTIVE", with: "ENDED").replacing(
            "\"start\"", with: "\"end\":2,\"endedBy\":\"\(whom)\",\"start\"")
    }

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

    /// Validates lines of topic, tab and payload against the schemas.
    private func validate(_ traffic: String) async throws -> Programs.Result {
        let file = FileManager.default.temporaryDirectory.appending(path: "godwit-traffic-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try traffic.write(to: file, atomically: true, encoding: .utf8)
        return try await RunningProgram(Self.validator, ["--traffic", file.path()]).result()
    }
}
