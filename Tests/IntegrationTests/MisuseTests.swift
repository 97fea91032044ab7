import Foundation
import TestSupport
import Testing
import TrackingCore

/// Mistakes in the use of the programs.
@Suite(.timeLimit(.minutes(5))) struct MisuseTests {
    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    @Test func aConfigurationFileGivenAsTheLogIsLeftAlone() async throws {
        try await self.withFolder { folder in
            let file = folder.appending(path: "agent.yaml")
            let text = "trackable: van-7\nsource: 'simulate:'\nbroker: mqtt://127.0.0.1:1\n"
            try text.write(to: file, atomically: true, encoding: .utf8)
            let result = try await Programs.run(
                "godwit-agent", ["run", "--config", file.path(), "--spool", file.path(), "--battery", "none"])
            #expect(result.code == 66)
            #expect(
                result.errors.contains("\(file.path()): the file is not a log, and it was not changed"),
                "\(result.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path()) == ["agent.yaml"])
            #expect(try String(contentsOf: file, encoding: .utf8) == text)
        }
    }

    @Test func aRecordingWithoutASentenceEndsTheAgentAfterAFewWarnings() async throws {
        try await self.withFolder { folder in
            let file = folder.appending(path: "drive.nmea")
            try String(repeating: "no sentence\n", count: 100).write(to: file, atomically: true, encoding: .utf8)
            let broker = try await MosquittoProcess.start()
            let result = try await Programs.run(
                "godwit-agent",
                [
                    "run", "--trackable", "van-7", "--source", "nmea:\(file.path())", "--broker", broker.url,
                    "--battery", "none", "--speed", "max",
                ])
            #expect(result.code == 66, "\(result.errors)")
            let lines = result.errors.split(separator: "\n")
            #expect(lines.count { $0.contains("Invalid input line from a position source ignored") } == 10)
            #expect(result.errors.contains("count=90"), "\(result.errors)")
            #expect(result.errors.contains("nmea:\(file.path()): the input is not NMEA"))
        }
    }

    @Test(arguments: [
        (["quarantine", "retry", "x"], "godwit-agent quarantine retry"), (["bind", ""], "godwit-agent bind"),
        (["run", "--config", "/dev/stdin"], "godwit-agent run"),
    ])
    func wrongUsageShowsHowTheCommandIsUsed(arguments: [String], command: String) async throws {
        try await self.withFolder { folder in
            let input = folder.appending(path: "in")
            try "- a list\n".write(to: input, atomically: true, encoding: .utf8)
            let result = try await Programs.run("godwit-agent", arguments, input: input.path())
            #expect(result.code == 64)
            #expect(result.errors.contains("Usage: \(command) "), "\(result.errors)")
            #expect(result.errors.contains("See '\(command) --help'"))
        }
    }

    // MARK: - Standard descriptors

    /// Runs a program with its standard input, output and errors closed.
    private func startClosed(_ name: String, _ arguments: [String]) throws -> RunningProgram {
        let program = Programs.root.appending(path: ".build/debug/\(name)").path()
        return try RunningProgram(
            executable: URL(filePath: "/bin/sh"),
            arguments: ["-c", "exec \"$0\" \"$@\" <&- >&- 2>&-", program] + arguments, environment: [:],
            input: "/dev/null")
    }

    private func link(_ descriptor: Int, of id: Int32) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/fd/\(descriptor)")
    }

    @Test func anOpenedFileNeverGetsAStandardDescriptor() async throws {
        try await self.withFolder { folder in
            let broker = try await MosquittoProcess.start()
            let log = folder.appending(path: "log").path()
            let agent = try self.startClosed(
                "godwit-agent",
                [
                    "run", "--trackable", "van-7", "--source", "simulate:", "--broker", broker.url, "--spool", log,
                    "--battery", "none", "--default-resolution", "HIGH/200/0",
                ])
            let arguments = ["watch", "van-7", "--broker", broker.url, "--count", "2"]
            #expect(try await Programs.run("godwit", arguments).code == 0)
            // The watcher receives positions, but cannot print them.
            #expect(try await self.startClosed("godwit", arguments).result(within: .seconds(60)).code == 74)
            for descriptor in 0...2 { #expect(self.link(descriptor, of: agent.id) == "/dev/null") }
            #expect(self.link(3, of: agent.id) != nil)
            agent.terminate()
            #expect(try await agent.result(within: .seconds(60)).code == 0)
        }
    }

    // MARK: - The live table

    @Test func logLinesDoNotBreakTheTable() async throws {
        let broker = try await MosquittoProcess.start()
        let terminal = try TestTerminal(columns: 160, rows: 20)
        let watch = try RunningProgram(
            executable: Programs.root.appending(path: ".build/debug/godwit"),
            arguments: ["watch", "van-7", "--broker", broker.url], environment: ["TERM": "xterm"],
            input: terminal.path, terminal: terminal.path, errors: terminal.path)
        try await terminal.wait { $0.contains { $0.hasPrefix("connected; ") } }
        try await ChildProcess.run(
            "/usr/bin/mosquitto_pub", ["-p", "\(broker.port)", "-t", "tracking/van-7", "-m", "no JSON"])
        try await terminal.wait { $0.contains { $0.contains("1 log line, shown at the end") } }
        #expect(terminal.lines[0].hasPrefix("trackable state"))
        #expect(terminal.lines.joined().contains("message skipped"))
        #expect(terminal.lines.last { !$0.isEmpty }?.hasPrefix("connected; ") == true)
        terminal.press("q")
        #expect(try await watch.result(within: .seconds(60)).code == 0)
        // The log line is written again after the terminal is restored, so that it stays visible.
        let end = terminal.raw.components(separatedBy: "\u{1B}[?25h").last ?? ""
        #expect(end.contains("message skipped"), "\(end)")
    }
}
