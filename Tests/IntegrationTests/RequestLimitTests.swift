import Foundation
import TestSupport
import Testing

/// A stranger with the right to request resolutions can neither silence nor overload a device
/// (docs/reference/resolution.md).
@Suite(.serialized) struct RequestLimitTests {
    private func start(_ broker: MosquittoProcess, _ more: [String] = []) throws -> RunningProgram {
        try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--broker", broker.url, "--source", "simulate:", "--battery", "none",
                "--default-resolution", "BALANCED/1000/0",
            ] + more)
    }

    private func inForce(_ tap: WireTap) -> (text: String, silence: Int, subscribers: Int)? {
        guard let json = tap.messages(on: "van-7/resolution").last?.json,
            let resolution = json["resolution"] as? [String: Any], let silence = json["maximumSilence"] as? Int
        else { return nil }
        let members = ["accuracy", "desiredInterval", "minimumDisplacement"].map { "\(resolution[$0] ?? "-")" }
        return (members.joined(separator: "/"), silence, json["subscribers"] as? Int ?? -1)
    }

    @Test(arguments: [([], "MINIMUM/600000/1000"), (["--ceiling", "LOW/1500/0"], "LOW/1500/0")])
    func theCoarsestRequestReachesTheCeiling(options: [String], expected: String) async throws {
        let broker = try await MosquittoProcess.start()
        let tap = try await WireTap.listen(to: broker)
        let agent = try self.start(broker, options)
        try await tap.wait { self.inForce($0)?.text == "BALANCED/1000/0" }
        let watch = try Programs.start(
            "godwit",
            ["watch", "van-7", "--broker", broker.url, "--format", "json", "--resolution", "MINIMUM/31536000000/1e308"])
        try await tap.wait { self.inForce($0)?.text == expected && self.inForce($0)?.subscribers == 1 }
        #expect(self.inForce(tap)?.silence == 60_000)
        let milliseconds = expected.split(separator: "/")[1]
        try await watch.wait { $0.contains("\"desiredInterval\":\(milliseconds)") }
        if !options.isEmpty {
            let before = tap.updates(of: "van-7").count
            try await tap.wait { $0.updates(of: "van-7").count >= before + 3 }
        }
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }

    @Test func aFloodOfRequestsChangesTheResolutionOnceASecond() async throws {
        let broker = try await MosquittoProcess.start()
        let tap = try await WireTap.listen(to: broker)
        let agent = try self.start(broker)
        try await tap.wait { $0.messages(on: "van-7/resolution").contains { $0.json["state"] as? String == "ONLINE" } }
        let place = ["-h", "127.0.0.1", "-p", "\(broker.port)", "-i", "w1", "-q", "1"]
        func publish(_ topic: String, _ payload: String) async throws {
            let result = try await RunningProgram(
                "/usr/bin/mosquitto_pub", place + ["-t", "tracking/van-7/\(topic)/w1", "-m", payload]
            ).result()
            #expect(result.code == 0)
        }
        func request(_ interval: Int) -> String {
            #"{"session":"s","resolution":{"accuracy":"HIGH","desiredInterval":\#(interval),"minimumDisplacement":0}}"#
        }
        try await publish(
            "subscriber", #"{"type":"SUBSCRIBER","session":"s","connection":0,"lease":86400,"since":1}"#)
        try await tap.wait { self.inForce($0)?.subscribers == 1 }
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString)")
        try (0..<20_000).map { request(600 + $0 % 300) }.joined(separator: "\n").write(
            to: folder, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (before, start) = (tap.messages(on: "van-7/resolution").count, ContinuousClock.now)
        let flood = try RunningProgram(
            executable: URL(filePath: "/usr/bin/mosquitto_pub"),
            arguments: place + ["-t", "tracking/van-7/request/w1", "-l"], environment: [:], input: folder.path())
        #expect(try await flood.result(within: .seconds(120)).code == 0)
        try await publish("request", request(7_777))
        try await tap.wait { self.inForce($0)?.text == "HIGH/7777/0" }
        let seconds = Int((ContinuousClock.now - start).components.seconds)
        let changes = tap.messages(on: "van-7/resolution").count - before
        #expect((1...(seconds + 2)).contains(changes), "\(changes) messages in \(seconds) s")
        #expect(agent.errors.split(separator: "\n").count < 20, "\(agent.errors)")
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }
}
