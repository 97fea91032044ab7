import Foundation
import TestSupport
import Testing
import TrackingTesting

/// `godwit demo`. Its script runs in real time, while other tests run.
@Suite(.timeLimit(.minutes(10))) struct DemoTests {
    @Test func theDemosStoryHappens() async throws {
        let demo = try await Programs.start("godwit", ["demo", "--script"]).result(within: .seconds(380))
        #expect(demo.code == 0, "\(demo.output)")
        #expect(demo.output.contains("Every step happened"))
    }

    /// The positions on the road and the first arrival are checked by the demo itself.
    @Test func theVanDrivesOnTheRoadsAndArrivesAsEstimated() async throws {
        let demo = try await Programs.start("godwit", ["demo", "--roads", "--script"]).result(within: .seconds(300))
        #expect(demo.code == 0, "\(demo.output)\(demo.errors)")
        #expect(demo.output.contains("Every step happened"))
        #expect(demo.output.contains(#/· on (Street|Avenue) \d · arrives at Depot \d\d:\d\d \(/#), "\(demo.output)")
    }

    @Test(arguments: [
        (["--roads", "--at", "47,9"], "--at needs --engine"),
        (["--roads", "--engine", "valhalla:http://127.0.0.1:9"], "--engine needs --at"),
        (["--engine", "valhalla:http://127.0.0.1:9", "--at", "47,9"], "--engine and --at need --roads"),
        (
            ["--roads", "--script", "--engine", "valhalla:http://127.0.0.1:9", "--at", "47,9"],
            "cannot reach the routing engine at http://127.0.0.1:9"
        ),
    ])
    func aMissingEngineIsAnError(arguments: [String], error: String) async throws {
        let demo = try await Programs.start("godwit", ["demo"] + arguments).result(within: .seconds(60))
        #expect(demo.code != 0 && demo.errors.contains(error), "\(demo.errors)")
    }

    @Test func aPortInUseIsAnError() async throws {
        let server = try FaultProxy(to: 9)
        let demo = try await Programs.start("godwit", ["demo", "--port", "\(server.port)"]).result(within: .seconds(60))
        #expect(demo.code == 66 && demo.errors.contains("port \(server.port): another program uses it"))
    }

    /// On a terminal, the demo prints a link to the map, and each key causes its step.
    @Test func theStoryOnATerminalFollowsTheKeys() async throws {
        let terminal = try TestTerminal(columns: 100, rows: 40)
        let demo = try Programs.start("godwit", ["demo"], environment: ["TERM": "xterm"], terminal: terminal)
        func waitFor(_ text: String) async throws {
            try await terminal.wait(within: .seconds(60)) { _ in terminal.raw.contains(text) }
        }
        try await waitFor("/#sign-in=gw_")
        try await waitFor("one position every 30 s (nobody watches)")
        terminal.press("w")
        try await waitFor("one position a second (1 watcher)")
        terminal.press("b")
        try await waitFor("one position every 5 s (1 watcher, battery low)")
        terminal.press("b")
        try await waitFor("The battery is charged again.")
        terminal.press("n")
        try await waitFor("The van's network is cut.")
        terminal.press("n")
        try await waitFor("The network is back.")
        terminal.press("q")
        try await waitFor("lost: 0")
        #expect(try await demo.result(within: .seconds(60)).code == 0, "\(terminal.raw)")
    }

    /// The link that the demo prints opens the map without a sign-in. The open map causes the resolution, and its end
    /// too.
    @Test func thePrintedLinkOpensTheMapAndCausesTheResolution() async throws {
        let terminal = try TestTerminal(columns: 120, rows: 40)
        let demo = try Programs.start("godwit", ["demo"], environment: ["TERM": "xterm"], terminal: terminal)
        func waitFor(_ text: String) async throws {
            try await terminal.wait(within: .seconds(90)) { _ in terminal.raw.contains(text) }
        }
        try await waitFor("one position every 30 s (nobody watches)")
        let link = try #require(terminal.raw.firstMatch(of: ##/http://127\.0\.0\.1:\d+/#sign-in=gw_[\w-]+/##))
        let browser = try await WebDriver.start()
        try await browser.open(String(link.output))
        try await waitFor("The map is open.")
        try await waitFor("one position a second (1 watcher)")
        try await browser.wait(for: "the van", until: "document.querySelectorAll('#list [role=option]').length > 0")
        try await browser.open("about:blank")
        try await waitFor("The map is closed.")
        terminal.press("q")
        try await waitFor("lost: 0")
        #expect(try await demo.result(within: .seconds(60)).code == 0, "\(terminal.raw)")
    }

    /// The program's folder and the demo's own folder may have names of any kind and length. The demo ignores the
    /// user's settings.
    @Test func foldersMayHaveAnyNameAndUserSettingsAreIgnored() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit demo é \(UUID().uuidString)")
        let path = folder.path(percentEncoded: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for name in ["godwit", "godwit-agent"] {
            let program = Programs.root.appending(path: ".build/debug/\(name)").resolvingSymlinksInPath()
            try await ChildProcess.run(
                "/bin/sh", ["-ec", "ln \"$1\" \"$2\" || cp \"$1\" \"$2\"", "sh", program.path(), "\(path)/\(name)"])
        }
        let demo = try RunningProgram(
            "/usr/bin/env", ["\(path)/godwit", "demo"],
            environment: ["TMPDIR": "\(path)/", "GODWIT_PASSWORD": "of another user", "GODWIT_BATCH_WINDOW": "off"])
        try await demo.wait(for: "  · ")
        #expect(try await demo.end().code == 0)
    }

    private func children(of demo: RunningProgram) throws -> [Int32] {
        let tasks = "/proc/\(demo.id)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).flatMap { task in
            try String(contentsOfFile: "\(tasks)/\(task)/children", encoding: .utf8).split(separator: " ")
                .compactMap { Int32($0) }
        }
    }

    @Test func closingTheTerminalEndsTheDemoAndWhatItStarted() async throws {
        let demo = try Programs.start("godwit", ["demo"])
        try await demo.wait(for: "only the coarse source is open.")
        let children = try self.children(of: demo)
        #expect(children.count == 2)
        #expect(try await demo.end(SIGHUP).code == 0)
        for child in children { try await waitUntil { kill(child, 0) == -1 && errno == ESRCH } }
    }

    /// The reader of the output leaves, as with `godwit demo | head`. A demo that was to run to its end then reports a
    /// failure.
    @Test(arguments: [false, true]) func aDemoWithoutAReaderEnds(isScript: Bool) async throws {
        let pipe = try NamedPipe()
        let demo = try RunningProgram(
            executable: Programs.root.appending(path: ".build/debug/godwit"),
            arguments: isScript ? ["demo", "--script"] : ["demo"],
            environment: [:], input: "/dev/null", terminal: pipe.path)
        try await pipe.wait()
        let deadline = ContinuousClock.now + .seconds(60)
        while try self.children(of: demo).count < 2, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(20))
        }
        let children = try self.children(of: demo)
        #expect(children.count == 2)
        pipe.close()
        let result = try await demo.result(within: .seconds(60))
        #expect(result.code == (isScript ? 1 : 0), "\(result.errors)")
        for child in children { try await waitUntil { kill(child, 0) == -1 && errno == ESRCH } }
    }
}
