import Foundation
import TestSupport
import Testing
import TrackingCore

/// Predicted positions, through the real programs and a real Mosquitto.
@Suite struct PredictionProgramTests {
    @Test func positionsArePredictedAndNotRecorded() async throws {
        let scene = try AgentScene(await MosquittoProcess.start())
        let history = scene.file("history.sqlite")
        let recorder = try Programs.start(
            "godwit", ["record", "--broker", scene.broker.url, "--store", "sqlite:\(history)", "--client-id", "keeper"])
        let watch = try Programs.start(
            "godwit", ["watch", "van-7", "--broker", scene.broker.url, "--format", "json", "--silent"])
        let tap = try await WireTap.listen(to: scene.broker)
        let pipe = scene.file("in")
        // Open for reading and writing, so that the source does not end.
        try #require(mkfifo(pipe, 0o600) == 0)
        let writer = try #require(FileHandle(forUpdatingAtPath: pipe))
        let agent = try await scene.start(
            [
                "--source", "jsonl:-", "--predict", "30", "--default-resolution", "HIGH/1000/0", "--acknowledge-by",
                "keeper",
            ], input: pipe)
        func feature(_ latitude: Double, at time: Int) -> Data {
            Data(
                (#"{"type":"Feature","geometry":{"type":"Point","coordinates":[8,\#(latitude)]},"#
                    + #""properties":{"time":\#(time),"speed":10,"bearing":0}}"# + "\n").utf8)
        }
        let start = Int(Date().timeIntervalSince1970)
        try writer.write(contentsOf: feature(52, at: start))
        try await watch.wait { $0.components(separatedBy: #""type":"PREDICTED""#).count > 2 }
        let predicted = tap.messages(on: "van-7").map(\.json).filter { $0["type"] as? String == "PREDICTED" }
        #expect(predicted.allSatisfy { WireTap.seq($0["location"]) == nil })
        let errors = predicted.compactMap { WireTap.properties($0["location"])["accuracyHorizontal"] as? Double }
        #expect(errors.count > 1 && errors == errors.sorted() && Set(errors).count == errors.count)
        // A fix ends the predictions, and is recorded.
        try writer.write(contentsOf: feature(52.01, at: start + 60))
        try await tap.wait { tap in
            tap.messages(on: "van-7/ack/keeper").contains { $0.payload.contains(":2}") }
        }
        try await watch.wait { output in
            output.split(separator: "\n").contains { $0.contains("52.01]") && $0.contains(#""type":"ACTUAL""#) }
        }
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(60)).code == 0)
        let stored = try await Programs.run("godwit", ["history", "van-7", "--store", "sqlite:\(history)"])
        #expect(stored.code == 0 && !stored.output.contains("predicted"), "\(stored.errors)")
    }
}
