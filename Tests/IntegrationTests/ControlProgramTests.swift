import Foundation
import TestSupport
import Testing
import TrackingControl
import TrackingCore

/// godwit-agent's controls as a user runs them, with an agent in this process that answers on a real socket.
@Suite(.timeLimit(.minutes(10))) struct ControlProgramTests {
    private let folder: URL
    private let agent = FakeAgent(records: [Samples.record(1), Samples.record(2)])

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "gw-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    private var socket: String { self.folder.appending(path: "agent.sock").path() }

    /// Runs the agent while `body` runs.
    private func withAgent(_ body: @Sendable () async throws -> Void) async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let dispatcher = ControlDispatcher(self.agent)
        let server = ControlServer(path: self.socket) { await dispatcher.answer($0, say: $1) }
        let (signs, listening) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run { listening.yield() } }
            defer { group.cancelAll() }
            for await _ in signs { break }
            try await body()
        }
    }

    private func control(_ arguments: [String], input: String = "/dev/null") async throws -> Programs.Result {
        try await Programs.run("godwit-agent", arguments, environment: ["GODWIT_SOCKET": self.socket], input: input)
    }

    /// The arguments, the resulting calls of the agent, and the output.
    static let commands: [([String], [String], String)] = [
        (["on"], ["on true"], ""), (["off"], ["on false"], ""), (["report"], ["report"], ""),
        (["send-now"], ["sendNow"], "12 records sent\n"), (["flush"], ["flush"], "400 records sent\n"),
        (["track", "van-7"], ["track van-7 -"], ""),
        (["add", "van-7", "--destination=-33.9,151.2"], ["add van-7 -33.9,151.2"], ""),
        (["remove", "van-7"], ["remove van-7"], ""),
        (["destination", "van-7", "52.5,-8.25"], ["destination van-7 52.5,-8.25"], ""),
        (["destination", "van-7", "none"], ["destination van-7 -"], ""),
        (["bind", "van-7"], ["bind van-7 refuse"], ""), (["bind", "van-7", "--flush"], ["bind van-7 send"], ""),
        (["bind", "van-7", "--force"], ["bind van-7 clear"], ""),
        (["trip", "start", "taxi"], ["start taxi -"], "bicycle, under way, 10 min 0 s, 1.2 km\n"),
        (["trip", "stop", "--trackable", "van-8"], ["stop van-8"], "bicycle, under way, 10 min 0 s, 1.2 km\n"),
        (["trip", "status"], [], "van \"7\": bicycle, under way, 10 min 0 s, 1.2 km\nvan-8: no trip\n"),
        (
            ["queue", "list", "--limit", "1"], ["queue 1"],
            "2023-11-14T22:13:20.000Z  van \"7\"  k3f9q2wz:1  point  14 B\n"
        ),
        (["queue", "purge", "--yes"], ["purge"], "3 records discarded\n"),
        (
            ["quarantine", "retry", "k3f9q2wz:1"], ["retry [k3f9q2wz:1]"],
            "1 record queued again with new sequence numbers\n"
        ),
        (["quarantine", "drop", "--yes"], ["drop all"], "1 record discarded\n"),
        (
            ["configure", "mode=active", "zone=home,1,2,3"], ["configure [\"mode=active\", \"zone=home,1,2,3\"]"],
            "mode: old -> active\nzone: old -> home,1,2,3\n"
        ),
    ]

    @Test(arguments: Self.commands)
    func eachControlCallsTheAgent(arguments: [String], calls: [String], output: String) async throws {
        try await self.withAgent {
            let result = try await self.control(arguments)
            #expect(result.code == 0, "\(result.errors)")
            #expect(result.output == output)
            #expect(self.agent.called == calls)
        }
    }

    @Test func theStatusIsForPeopleAndForPrograms() async throws {
        try await self.withAgent {
            let text = try await self.control(["status"])
            #expect(text.lines.contains("battery       83 %"))
            let json = try await self.control(["status", "--json"])
            let members = try #require(try JSONValue(json: Array(json.output.utf8.dropLast())).object)
            #expect(try AgentStatus(members: members) == Samples.status)
            #expect(try await self.control(["metrics"]).output == Samples.status.metrics)
        }
    }

    @Test func aRefusalIsPrintedWithExitCodeOne() async throws {
        self.agent.fail(
            CommandFailure(.unsentPoints, "12 points of van-7 are not sent; --flush sends them, --force forgets them"))
        try await self.withAgent {
            let result = try await self.control(["bind", "van-8"])
            #expect(result.code == 1)
            #expect(
                result.errors == "Error: 12 points of van-7 are not sent; --flush sends them, --force forgets them\n")
        }
    }

    @Test func theErrorWithoutAnAgentNamesTheRemedy() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        for arguments in [["status"], ["on"], ["flush"], ["queue", "export", "-"]] {
            let result = try await self.control(arguments)
            #expect(result.code == 69, "\(arguments)")
            #expect(result.errors.contains("no agent listens on '\(self.socket)'. Start one with 'godwit-agent run'"))
        }
    }

    @Test(arguments: [
        ["queue", "purge"], ["quarantine", "drop"], ["quarantine", "drop", "--yes", "x"],
        ["bind", "a", "--force", "--flush"],
        ["configure", "mode"], ["configure", "a=1", "a=2"], ["destination", "a", "north"], ["track", ""],
        ["setup", "godwit://setup?nothing=1"], ["setup", "godwit://setup?user=a&token=hunter2"], ["status", "--watch"],
        ["status", "--watch", "--json"], ["configure"],
    ])
    func wrongUsageChangesNothing(arguments: [String]) async throws {
        try await self.withAgent {
            let result = try await self.control(arguments)
            #expect(result.code == 64, "\(result.errors)")
            #expect(self.agent.called.filter { !$0.contains("trial true") } == [])
            #expect(!(result.output + result.errors).contains("hunter2"))
        }
    }

    @Test func aSetUpLinkIsAppliedAfterItWasShown() async throws {
        try await self.withAgent {
            let link = self.folder.appending(path: "link")
            try "godwit://setup?user=box&token=hunter2\n".write(to: link, atomically: true, encoding: .utf8)
            let result = try await self.control(["setup", "-", "--yes"], input: link.path())
            #expect(result.code == 0, "\(result.errors)")
            #expect(result.output == "password: replaced\ndone\n")
            #expect(
                self.agent.called == [
                    "setup set-up of token, user trial true", "setup set-up of token, user trial false",
                ])
        }
    }

    @Test func anExportIsAFileOfLinesThatIsWholeOrNotThere() async throws {
        try await self.withAgent {
            let file = self.folder.appending(path: "queue.jsonl")
            let result = try await self.control(["queue", "export", file.path()])
            #expect(result.output == "2 records written\n", "\(result.errors)")
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            #expect(lines.count == 2)
            #expect(lines[0].hasSuffix(#""record":{"extra": 1.0}}"#))
            #expect(try JSONValue(json: Array(lines[1].utf8))["seq"]?.count == 2)
            let piped = try await self.control(["queue", "export", "-"])
            #expect(piped.output == lines.joined(separator: "\n") + "\n")
            self.agent.fail(CommandFailure(.failed, "the log cannot be read"))
            let other = self.folder.appending(path: "other.jsonl")
            #expect(try await self.control(["queue", "export", other.path()]).code == 1)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: self.folder.path()).filter { $0.hasPrefix("other") }
                    == [])
        }
    }

    // MARK: - On a terminal

    /// Starts a program on a pseudo-terminal.
    private func onTerminal(_ arguments: [String]) throws -> (terminal: PseudoTerminal, program: ChildProcess) {
        let terminal = try PseudoTerminal()
        let environment = ["GODWIT_SOCKET": self.socket, "PATH": "/usr/bin:/bin", "TERM": "xterm"]
        let program = try ChildProcess(
            Programs.root.appending(path: ".build/debug/godwit-agent").path(), arguments, environment: environment,
            input: terminal.path, output: terminal.path)
        return (terminal, program)
    }

    @Test func theLiveViewTakesKeys() async throws {
        try await self.withAgent {
            let (terminal, program) = try self.onTerminal(["status", "--watch"])
            try await terminal.waitForCommand("o off, s send now, t end trip, q quit")
            for (key, call) in [("s", "sendNow"), ("o", "on false"), ("t", "stop -")] {
                try await terminal.send(key.utf8)
                let deadline = ContinuousClock.now + .seconds(60)
                while !self.agent.called.contains(call) {
                    try #require(ContinuousClock.now < deadline, "\(key) was not heard")
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            try await terminal.waitForCommand("SEND_NOW: done")
            try await terminal.send("q".utf8)
            #expect(try await program.waitForEnd() == 0)
            #expect(terminal.commands.hasSuffix("\u{1B}[?25h\n"), "the cursor is shown again")
        }
    }

    @Test func aSignalEndsTheLiveViewInOrder() async throws {
        try await self.withAgent {
            let (terminal, program) = try self.onTerminal(["status", "--watch"])
            try await terminal.waitForCommand("q quit")
            program.signal(SIGINT)
            #expect(try await program.waitForEnd() == 0)
            try await terminal.waitForCommand("\u{1B}[?25h")
        }
    }

    @Test func aFlushShowsHowFarItIs() async throws {
        try await self.withAgent {
            let (terminal, program) = try self.onTerminal(["flush"])
            #expect(try await program.waitForEnd() == 0)
            try await terminal.waitForCommand("400 records sent")
            #expect(terminal.commands.contains("] 400/400"))
        }
    }

    @Test func aPurgeRequiresConfirmation() async throws {
        try await self.withAgent {
            let (terminal, program) = try self.onTerminal(["queue", "purge"])
            try await terminal.waitForCommand("Discard 6 unsent records? [y/N] ")
            try await terminal.send("n\n".utf8)
            #expect(try await program.waitForEnd() >> 8 == 1)
            #expect(self.agent.called == [])
        }
    }
}
