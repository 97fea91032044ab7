import Foundation
import TestSupport
import Testing
import TrackingCore

/// `godwit watch` with output that is not read, or cannot be written.
@Suite(.serialized) struct WatchOutputTests {
    private func watch(_ broker: MosquittoProcess, output: String, _ more: [String] = []) throws -> RunningProgram {
        try RunningProgram(
            executable: Programs.root.appending(path: ".build/debug/godwit"),
            arguments: ["watch", "van-7", "--broker", broker.url, "--format", "json"] + more, environment: [:],
            input: "/dev/null", terminal: output)
    }

    private func agent(_ broker: MosquittoProcess) throws -> RunningProgram {
        try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--broker", broker.url, "--source", "simulate:", "--battery", "none",
                "--default-resolution", "HIGH/200/0",
            ])
    }

    /// A number of updates as lines, each with enough skipped points for about 70 KB.
    private func largeUpdates(_ count: Int) throws -> String {
        var lines = ""
        for number in 0..<count {
            let points = try (0...60).map { part -> Location in
                var point = Location(
                    coordinate: try #require(Coordinate(latitude: 1, longitude: 1)),
                    time: UnixTime(Double(number * 61 + part)))
                point.seq = UInt64(number * 61 + part + 1)
                point.extra = Array("{\"x\":\"\(String(repeating: "x", count: 1_000))\"}".utf8)
                return point
            }
            let update = LocationUpdate(location: points[60], skipped: Array(points[..<60]))
            lines += String(decoding: try LocationCodec.encode(update), as: UTF8.self) + "\n"
        }
        return lines
    }

    private func residentMegabytes(_ process: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.filter(\.isNumber))) / 1024
    }

    /// Publishes lines of a text as messages, one after the other.
    private func publish(_ text: String, _ topic: String, _ broker: MosquittoProcess) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString)")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let program = "/usr/bin/mosquitto_pub"
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw TestSupportError("\(program) is missing: apt-get install mosquitto-clients")
        }
        let sender = try RunningProgram(
            executable: URL(filePath: program),
            arguments: ["-h", "127.0.0.1", "-p", "\(broker.port)", "-q", "1", "-l", "-t", topic], environment: [:],
            input: file.path())
        #expect(try await sender.result(within: .seconds(60)).code == 0)
    }

    @Test func anUnreadOutputUsesBoundedMemoryAndDoesNotDelayTheEnd() async throws {
        let broker = try await MosquittoProcess.start()
        let pipe = try NamedPipe()
        let watch = try self.watch(broker, output: pipe.path)
        try await pipe.wait()
        try await self.publish(try self.largeUpdates(1_500), "tracking/van-7", broker)
        // Messages keep their order: the watcher has processed the others before this one.
        try await self.publish("no JSON\n", "tracking/van-7", broker)
        try await watch.waitForLog("message skipped", within: .seconds(60))
        let megabytes = try self.residentMegabytes(watch.id)
        #expect(megabytes < 150)
        watch.terminate()
        let result = try await watch.result(within: .seconds(60))
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.errors.contains("events-lost="))
    }

    @Test func aClosedOutputEndsItInOrder() async throws {
        let broker = try await MosquittoProcess.start()
        let agent = try self.agent(broker)
        let other = try Programs.start(
            "godwit", ["watch", "van-7", "--broker", broker.url, "--format", "json", "--silent"])
        let pipe = try NamedPipe()
        let watch = try self.watch(broker, output: pipe.path, ["--resolution", "HIGH/150/0"])
        try await pipe.wait()
        try await other.wait(within: .seconds(60)) { $0.contains("\"subscribers\":1") }
        pipe.close()
        let result = try await watch.result(within: .seconds(60))
        #expect(result.code == 0 && result.errors.isEmpty, "\(result.errors)")
        try await other.wait(within: .seconds(60)) { output in
            output.split(separator: "\n").last { $0.contains("\"subscribers\"") }?.contains("\"subscribers\":0") == true
        }
        for program in [other, agent] { try await program.end() }
    }

    /// A log output that is not read blocks nothing: the connection goes on.
    @Test func unreadErrorsDelayNothing() async throws {
        let broker = try await MosquittoProcess.start()
        let pipe = try NamedPipe()
        try pipe.fill()
        func start(_ name: String, _ arguments: [String]) throws -> RunningProgram {
            try RunningProgram(
                executable: Programs.root.appending(path: ".build/debug/\(name)"),
                arguments: arguments + ["--broker", broker.url, "--log-level", "trace"], environment: [:],
                input: "/dev/null", errors: pipe.path)
        }
        let agent = try start(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--source", "simulate:", "--battery", "none", "--default-resolution",
                "HIGH/100/0",
            ])
        let watch = try start("godwit", ["watch", "van-7", "--count", "20", "--timeout", "60"])
        #expect(try await watch.result(within: .seconds(70)).code == 0)
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }

    @Test func anOutputThatCannotBeWrittenIsAnError() async throws {
        let broker = try await MosquittoProcess.start()
        let watch = try self.watch(broker, output: "/dev/full")
        let result = try await watch.result(within: .seconds(60))
        #expect(result.code == 74)
        #expect(result.errors.contains("standard output"), "\(result.errors)")
    }

    @Test(arguments: [["--timeout", "15"], []])
    func itsOwnEndIsNoNews(more: [String]) async throws {
        let broker = try await MosquittoProcess.start()
        let agent = try self.agent(broker)
        // The watcher's time limit for a trackable starts when the agent is present.
        let first = try await Programs.run("godwit", ["watch", "van-7", "--broker", broker.url, "--count", "1"])
        try #require(first.code == 0, "\(first.errors)")
        let watch = try Programs.start("godwit", ["watch", "van-7", "--broker", broker.url] + more)
        try await watch.wait(within: .seconds(60)) { $0.contains("state ONLINE") }
        if more.isEmpty { watch.terminate() }
        let result = try await watch.result(within: .seconds(60))
        #expect(result.code == 0)
        // The states were unknown before the connection; afterwards both were ONLINE until the end.
        #expect(result.lines.last { $0.contains(" state ") }?.contains("ONLINE") == true, "\(result.output)")
        #expect(result.lines.last { $0.contains(" publisher ") }?.contains("PRESENT") == true, "\(result.output)")
        try await agent.end()
    }
}
