import Foundation
import TestSupport
import Testing
import TrackingCore

/// Positions from a topic as the source of an agent, with a real Mosquitto.
@Suite struct TopicSourceProgramTests {
    private func arguments(_ trackable: String, _ source: String, _ broker: MosquittoProcess) -> [String] {
        [
            "run", "--trackable", trackable, "--source", source, "--broker", broker.url, "--battery", "none", "--spool",
            "memory", "--default-resolution", "HIGH/200/0",
        ]
    }

    @Test func anAgentPublishesThePositionsOfAnother() async throws {
        let (first, second) = (try await MosquittoProcess.start(), try await MosquittoProcess.start())
        let (near, far) = (try await WireTap.listen(to: first), try await WireTap.listen(to: second))
        let follower = try Programs.start(
            "godwit-agent", self.arguments("bike", "\(first.url)/tracking/van-7/raw", second))
        let leader = try Programs.start(
            "godwit-agent", self.arguments("van-7", "simulate:", first) + ["--raw"])
        try await far.wait { $0.messages(on: "bike").count > 5 }
        func places(_ tap: WireTap, _ topic: String) -> Set<String> {
            Set(
                tap.messages(on: topic).flatMap { message -> [String] in
                    let json = message.json
                    let points =
                        (json["skippedLocations"] as? [[String: Any]] ?? []) + [
                            json["location"] as? [String: Any] ?? [:]
                        ]
                    return points.map { "\(($0["geometry"] as? [String: Any])?["coordinates"] ?? "")" }
                })
        }
        let followed = places(far, "bike")
        #expect(!followed.isEmpty && followed.isSubset(of: places(near, "van-7/raw")))
        leader.terminate()
        follower.terminate()
        #expect(try await leader.result(within: .seconds(60)).code == 0)
        #expect(try await follower.result(within: .seconds(60)).code == 0)
    }

    @Test(arguments: ["tracking/van-7", "tracking/van-7/raw", "tracking/van-7/enhanced"])
    func anAgentDoesNotReadItsOwnPositions(topic: String) async throws {
        let agent = try await Programs.run(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--broker", "mqtt://127.0.0.1:1", "--source",
                "mqtt://me:secret@localhost:1/\(topic)",
            ])
        #expect(agent.code == 64)
        #expect(agent.errors.contains("it would read its own positions"), "\(agent.errors)")
        #expect(!agent.errors.contains("secret"))
    }

    /// The agent tries again, and says so without the password.
    @Test func aTopicThatCannotBeReadIsABrokenSource() async throws {
        let broker = try await MosquittoProcess.start()
        let agent = try Programs.start(
            "godwit-agent", self.arguments("van-7", "mqtt://me:secret@127.0.0.1:1/tracking/bike", broker))
        try await agent.waitForLog("no positions from mqtt://127.0.0.1:1/tracking/bike")
        agent.terminate()
        let result = try await agent.result(within: .seconds(60))
        #expect(result.code == 0 && !result.errors.contains("secret"), "\(result.errors)")
    }
}
