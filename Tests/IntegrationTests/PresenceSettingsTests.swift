import Foundation
import TestSupport
import Testing
import TrackingCore

/// The settings of a publisher for its presence, through the real programs and a real Mosquitto.
@Suite struct PresenceSettingsTests {
    private func agent(_ broker: MosquittoProcess, _ more: [String]) throws -> RunningProgram {
        try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--broker", broker.url, "--source", "simulate:", "--battery", "none",
                "--spool", "memory",
            ] + more)
    }

    @Test func aWatcherShowsTheMetadataAndNoResolution() async throws {
        let broker = try await MosquittoProcess.start()
        // A resolution that an earlier run left at the broker.
        let left =
            #"{"resolution":{"accuracy":"HIGH","desiredInterval":1000,"minimumDisplacement":0},"near":false,"#
            + #""subscribers":0,"lowBattery":false,"state":"ONLINE","filter":"both","maximumSilence":60000}"#
        let sender = try RunningProgram(
            executable: URL(filePath: "/usr/bin/mosquitto_pub"),
            arguments: [
                "-h", "127.0.0.1", "-p", "\(broker.port)", "-r", "-q", "1", "-t", "tracking/van-7/resolution", "-m",
                left,
            ], environment: [:], input: "/dev/null")
        #expect(try await sender.result(within: .seconds(60)).code == 0)
        let agent = try self.agent(
            broker,
            ["--metadata", "bike \"3\", blue", "--send-resolution", "off", "--default-resolution", "HIGH/200/0"])
        let tap = try await WireTap.listen(to: broker)
        try await tap.wait { tap in
            !tap.messages(on: "van-7").isEmpty
                && tap.messages.contains { $0.topic.hasPrefix("tracking/van-7/publisher/") && !$0.payload.isEmpty }
        }
        let watch = try await Programs.run(
            "godwit",
            ["watch", "van-7", "--broker", broker.url, "--format", "json", "--count", "4", "--timeout", "60"])
        #expect(watch.code == 0, "\(watch.errors)")
        let events = watch.lines.compactMap { try? JSONValue(json: Array($0.utf8)) }
        let presence = events.last { $0["event"] == .text("presence") }
        #expect(presence?["metadata"] == .text("bike \"3\", blue"))
        #expect(!events.contains { $0["event"] == .text("resolution") && $0["state"] != nil })
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        #expect(tap.messages(on: "van-7/resolution").allSatisfy { $0.payload == left })
    }

    @Test func aPublisherRemainsPresentAfterItsConnectionBroke() async throws {
        let broker = try await MosquittoProcess.start()
        let watch = try Programs.start(
            "godwit", ["watch", "van-7", "--broker", broker.url, "--format", "json", "--silent"])
        let agent = try self.agent(broker, ["--remain-present", "2"])
        try await watch.wait { $0.contains(#""status":"PRESENT""#) }
        let tap = try await WireTap.listen(to: broker, ["tracking/_clients/#"])
        let killed = ContinuousClock.now
        agent.signal(SIGKILL)
        try await tap.wait { $0.messages.contains { $0.payload.contains(#""remain":2"#) } }
        try await watch.wait { $0.contains(#""status":"ABSENT""#) && $0.contains(#""state":"OFFLINE""#) }
        try await watch.wait { output in
            output.split(separator: "\n").last { $0.contains(#""event":"presence""#) }?.contains("ABSENT") == true
        }
        // The will followed the death, and the watcher counted two seconds from it.
        #expect(ContinuousClock.now - killed > .milliseconds(1_900))
    }

    @Test func publishersAreListedAlsoWhenTheyAreGone() async throws {
        let broker = try await MosquittoProcess.start()
        let tap = try await WireTap.listen(to: broker)
        let gone = try self.agent(broker, ["--client-id", "phone-1", "--metadata", "old phone"])
        try await tap.wait { !$0.messages(on: "van-7/resolution").isEmpty && !$0.messages(on: "van-7").isEmpty }
        gone.signal(SIGKILL)
        try await tap.wait { $0.messages(on: "_clients/phone-1").contains { $0.payload.contains("offline") } }
        let agent = try self.agent(broker, ["--client-id", "phone-2"])
        try await tap.wait { !$0.messages(on: "van-7/publisher/phone-2").isEmpty }
        for arguments in [["van-7"], []] {
            let list = try await Programs.run(
                "godwit", ["publishers", "--broker", broker.url, "--format", "json"] + arguments)
            #expect(list.code == 0, "\(list.errors)")
            let rows = try list.lines.map { try JSONValue(json: Array($0.utf8)) }
            #expect(rows.map { $0["client"]?.text } == ["phone-1", "phone-2"])
            #expect(rows.map { $0["present"]?.flag } == [false, true])
            #expect(rows.map { $0["owner"]?.flag } == [false, true])
            #expect(rows.map { $0["metadata"]?.text } == ["old phone", nil])
            #expect(rows.last?["lastSeen"] != nil)
        }
        let text = try await Programs.run("godwit", ["publishers", "--broker", broker.url])
        #expect(text.lines.first?.hasPrefix("trackable  publisher  state") == true, "\(text.output)")
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        let unreachable = try await Programs.run("godwit", ["publishers", "--broker", "mqtt://127.0.0.1:1"])
        #expect(unreachable.code == 69, "\(unreachable.errors)")
    }

    @Test func metadataOfAnImpossibleLengthIsRejected() async throws {
        let agent = try await Programs.run(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--source", "simulate:", "--metadata",
                String(repeating: "x", count: 1_025),
            ])
        #expect(agent.code == 64)
        #expect(agent.errors.contains("--metadata must be a string of 1 to 1024 bytes"))
        #expect(agent.errors.contains("found 1025 bytes"))
    }
}
