import Foundation
import TestSupport
import Testing

/// `godwit serve` without a named recorder: the acknowledged records of phones are stored, by this program or by one
/// that starts later.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SelfRecordingTests {
    /// A broker, a home folder for the state and the history, and a token that publishes and reads.
    private final class Stage: Sendable {
        let broker: MosquittoProcess
        let folder: URL
        let port: Int
        private let token: String
        private let environment: [String: String]
        var store: [String] { ["--store", "sqlite:\(self.folder.appending(path: "own.sqlite").path())"] }

        init(in folder: URL? = nil) async throws {
            let name = "godwit-self-\(UUID().uuidString)"
            let folder = folder ?? FileManager.default.temporaryDirectory.appending(path: name)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            (self.folder, self.environment) = (folder, ["XDG_STATE_HOME": folder.path()])
            self.broker = try await MosquittoProcess.start()
            self.port = try LoopbackPort.free()
            let made = try Programs.start(
                "godwit", ["token", "create", "--name", "me", "--publish", "van", "--read-all"],
                environment: self.environment)
            let result = try await made.result(within: .seconds(60))
            self.token = try #require(result.output.split(separator: "\n").first.map(String.init))
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        /// Starts the gateway as the README does, on a known port.
        func serve(_ more: [String] = []) async throws -> RunningProgram {
            let gateway = try Programs.start(
                "godwit",
                ["serve", "--broker", self.broker.url, "--listen", "127.0.0.1:\(self.port)", "--log-level", "info"]
                    + more,
                environment: self.environment)
            try await gateway.waitForLog("listening on http://127.0.0.1:")
            return gateway
        }

        func record(_ more: [String] = []) throws -> RunningProgram {
            try Programs.start(
                "godwit", ["record", "--broker", self.broker.url, "--name", "keeper", "--log-level", "info"] + more,
                environment: self.environment)
        }

        func upload(_ seconds: Range<Int>) async throws -> LoopbackHTTP.Answer {
            let points = seconds.map { second in
                "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[-8.5,\(52 + Double(second) * 1e-5)]},"
                    + "\"properties\":{\"time\":\(1_790_000_000 + second)}}"
            }
            return try await LoopbackHTTP.request(
                "POST", "/points", port: self.port, headers: ["Authorization": "Bearer \(self.token)"],
                body: points.joined(separator: "\n"), within: .seconds(60))
        }

        /// Returns the status of the history's answer, and the number of its points.
        func history() async throws -> (status: Int, points: Int) {
            let answer = try await LoopbackHTTP.request(
                "GET", "/api/v1/trackables/van/history?format=json", port: self.port,
                headers: ["Authorization": "Bearer \(self.token)"])
            return (answer.status, answer.status == 200 ? answer.text.split(separator: "\n").count : 0)
        }

        func waitUntilStored(_ count: Int) async throws {
            let deadline = ContinuousClock.now + .seconds(60)
            while true {
                let points = try await self.history().points
                if points == count { return }
                try #require(ContinuousClock.now < deadline, "\(points) of \(count) are stored")
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    @Test func aRecorderThatIsStartedLaterGetsEverything() async throws {
        let stage = try await Stage()
        let gateway = try await stage.serve()
        #expect(gateway.errors.contains("No recorder is named"))
        let answer = try await stage.upload(0..<200)
        #expect(answer.status == 200 && answer.text.contains("\"saved\":200"), "\(answer.text)")
        #expect(try await stage.history().status == 404, "there is no history yet")
        let recorder = try stage.record()
        try await stage.waitUntilStored(200)
        recorder.terminate()
        gateway.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0, "\(gateway.errors)")
        _ = try await recorder.result(within: .seconds(60))
    }

    @Test func oneCommandIsACompleteServer() async throws {
        let stage = try await Stage()
        var gateway = try await stage.serve(stage.store)
        #expect(try await stage.upload(0..<200).status == 200)
        #expect(try await stage.history().points == 200, "stored when it is answered")
        gateway.signal(SIGKILL)
        _ = try await gateway.result(within: .seconds(60))
        gateway = try await stage.serve(stage.store)
        #expect(try await stage.history().points == 200)
        #expect(try await stage.upload(190..<250).status == 200)
        #expect(try await stage.history().points == 250)
        // A separate recorder takes over, and the gateway records again when it ends.
        let recorder = try stage.record(stage.store)
        try await gateway.waitForLog("Built-in recorder of the gateway is off")
        #expect(try await stage.upload(250..<300).status == 200)
        try await stage.waitUntilStored(300)
        recorder.terminate()
        _ = try await recorder.result(within: .seconds(60))
        #expect(try await stage.upload(300..<350).status == 200)
        try await stage.waitUntilStored(350)
        gateway.terminate()
        #expect(try await gateway.result(within: .seconds(60)).code == 0, "\(gateway.errors)")
    }

    @Test func aNamedHistoryThatIsMissingIsWaitedForUnlessItIsToFail() async throws {
        let stage = try await Stage()
        let options = stage.store + ["--acknowledge-by", "keeper"]
        let hasty = try await Programs.run(
            "godwit", ["serve", "--broker", stage.broker.url, "--listen", "127.0.0.1:0", "--fail-fast"] + options)
        #expect(hasty.code == 66 && hasty.errors.contains("cannot find the history"), "\(hasty.errors)")
        let gateway = try await stage.serve(options)
        let ready = try await HTTPAnswer.of("/readyz", port: stage.port)
        #expect(ready.status == 503 && ready.text.contains("the history does not exist"), "\(ready.text)")
        let recorder = try stage.record(stage.store)
        let answer = try await stage.upload(0..<20)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try await stage.history().points == 20)
        for program in [recorder, gateway] {
            program.terminate()
            _ = try await program.result(within: .seconds(60))
        }
    }

    @Test(.enabled(if: SmallDisk.isAllowed, "mounts a small file system: run it as root"))
    func aFullDiskIsNamed() async throws {
        try await SmallDisk.use(of: 16 << 20) { disk in
            let stage = try await Stage(in: disk.appending(path: "home"))
            let gateway = try await stage.serve(stage.store)
            #expect(try await stage.upload(0..<20).status == 200)
            try await self.wait(for: 200, stage)
            try SmallDisk.fill(disk)
            let ready = try await HTTPAnswer.of("/readyz", port: stage.port)
            #expect(ready.status == 503 && ready.text.contains("the disk of the state folder and the history is full"))
            try FileManager.default.removeItem(at: disk.appending(path: SmallDisk.filler))
            try await self.wait(for: 200, stage)
            gateway.terminate()
            _ = try await gateway.result(within: .seconds(60))
        }
    }

    private func wait(for status: Int, _ stage: Stage) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let ready = try await HTTPAnswer.of("/readyz", port: stage.port)
            if ready.status == status { return }
            try #require(ContinuousClock.now < deadline, "\(ready.text)")
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
