import Foundation
import TestSupport
import Testing

/// The files in packaging/ are valid for systemd and for a shell.
@Suite(.timeLimit(.minutes(10))) struct PackagingTests {
    private static let folder = Programs.root.appending(path: "packaging")
    private static let analyzer = "/usr/bin/systemd-analyze"

    /// A copy of the unit that runs the program of this package.
    private func withUnit(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-unit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let unit = try String(contentsOf: Self.folder.appending(path: "godwit-agent.service"), encoding: .utf8)
        let program = Programs.root.appending(path: ".build/debug/godwit-agent").path()
        try #require(unit.contains("ExecStart=/usr/bin/godwit-agent run\n"))
        let copy = folder.appending(path: "godwit-agent.service")
        try unit.replacing("ExecStart=/usr/bin/godwit-agent", with: "ExecStart=\(program)")
            .write(to: copy, atomically: true, encoding: .utf8)
        try await body(copy.path())
    }

    @Test(arguments: [
        ("recorder", "/usr/bin/godwit record", ".build/debug/godwit"),
        ("gateway", "/usr/bin/godwit serve", ".build/debug/godwit"),
        ("enhancer", "/usr/bin/godwit enhance", ".build/debug/godwit"),
        ("roads", "/usr/bin/godwit-roads /srv/godwit/roads.osm.pbf", "scripts/roads"),
    ])
    func systemdFindsNothingWrongWithTheServersUnits(name: String, command: String, program path: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-unit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let unit = try String(contentsOf: Self.folder.appending(path: "godwit-\(name).service"), encoding: .utf8)
        let program = Programs.root.appending(path: path).path()
        let installed = try #require(command.split(separator: " ").first)
        try #require(unit.contains("ExecStart=\(command)\n"))
        let copy = folder.appending(path: "godwit-\(name).service")
        try unit.replacing("ExecStart=\(installed)", with: "ExecStart=\(program)")
            .write(to: copy, atomically: true, encoding: .utf8)
        let check = try await RunningProgram(Self.analyzer, ["verify", "--man=no", copy.path()]).result()
        #expect(check.code == 0)
        #expect(check.output + check.errors == "")
        let security = [
            "security", "--offline=true", "--no-pager", "--threshold=20", copy.path(),
        ]
        #expect(try await RunningProgram(Self.analyzer, security).result().code == 0, "an exposure of at most 2.0")
    }

    /// Each service has limits of memory and descriptors, and writes no core dump. The page names the limits.
    @Test(arguments: [
        ("agent", "256M", "4096"), ("recorder", "1G", "65536"), ("gateway", "2G", "65536"),
        ("enhancer", "512M", "4096"), ("roads", "4G", "65536"),
    ])
    func theUnitsHaveLimits(name: String, memory: String, files: String) throws {
        let unit = try String(contentsOf: Self.folder.appending(path: "godwit-\(name).service"), encoding: .utf8)
        for line in ["MemoryMax=\(memory)", "LimitNOFILE=\(files)", "LimitCORE=0"] {
            #expect(unit.contains("\n\(line)\n"), "\(name): \(line)")
        }
    }

    @Test func systemdFindsNothingWrongWithTheUnit() async throws {
        try await self.withUnit { unit in
            let check = try await RunningProgram(Self.analyzer, ["verify", "--man=no", unit]).result()
            #expect(check.code == 0)
            #expect(check.output + check.errors == "")
        }
    }

    @Test func theUnitsExposureMatchesThePage() async throws {
        try await self.withUnit { unit in
            let check = try await RunningProgram(
                Self.analyzer, ["security", "--offline=true", "--no-pager", "--threshold=20", unit]
            ).result()
            #expect(check.code == 0, "an exposure of at most 2.0: \(check.output.suffix(300))")
            let page = try String(contentsOf: Self.folder.appending(path: "README.md"), encoding: .utf8)
            let score = try #require(check.output.firstMatch(of: #/godwit-agent\.service: ([0-9.]+)/#)).1
            #expect(page.contains("an exposure of \(score) of 10"), "\(score)")
        }
    }

    @Test func theUnitRestartsWatchesAndKeepsItsState() throws {
        let unit = try String(contentsOf: Self.folder.appending(path: "godwit-agent.service"), encoding: .utf8)
        for line in ["Type=notify", "WatchdogSec=60", "StateDirectory=godwit", "Restart=on-failure", "DynamicUser=yes"]
        {
            #expect(unit.contains("\n\(line)\n"), "\(line)")
        }
    }

    /// The agent corrects a receiver's date only if the clock is synchronised, so that it has to query the state of the
    /// clock.
    @Test func theUnitLetsTheAgentAskAboutTheClock() throws {
        let unit = try String(contentsOf: Self.folder.appending(path: "godwit-agent.service"), encoding: .utf8)
        let denied = try #require(unit.firstRange(of: "\nSystemCallFilter=~@privileged"))
        let allowed = try #require(unit.firstRange(of: "\nSystemCallFilter=adjtimex clock_adjtime clock_adjtime64\n"))
        #expect(denied.lowerBound < allowed.lowerBound, "what comes later counts")
        #expect(!unit.contains("ProtectClock=yes"), "its own filter would forbid it all the same")
        #expect(unit.contains("\nCapabilityBoundingSet=\n"), "nobody can set it")
    }

    @Test(arguments: ["ttyS", "ttyACM", "ttyUSB", "ttyAMA", "ttymxc", "gnss"])
    func theUnitLetsTheAgentReadReceivers(kind: String) throws {
        let unit = try String(contentsOf: Self.folder.appending(path: "godwit-agent.service"), encoding: .utf8)
        #expect(unit.contains("\nDeviceAllow=char-\(kind) rw\n"))
    }

    private func supervised(_ script: String) throws -> RunningProgram {
        try RunningProgram(
            Self.folder.appending(path: "godwit-agent-supervised").path(), ["/bin/sh", "-c", script])
    }

    /// OpenRC's supervisor restarts every program that ends.
    @Test(arguments: [64, 77]) func permanentFailuresAreNotRestarted(code: Int) async throws {
        let wrapper = try self.supervised("exit \(code)")
        try await wrapper.waitForLog("it ended with \(code)")
        wrapper.terminate()
        _ = try await wrapper.result(within: .seconds(60))
    }

    @Test func recoverableFailuresAreRestartedAndTheServiceStops() async throws {
        #expect(try await self.supervised("exit 69").result(within: .seconds(60)).code == 69)
        let wrapper = try self.supervised("trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done")
        try await wrapper.wait { $0 == "up\n" }
        wrapper.terminate()
        #expect(try await wrapper.result(within: .seconds(60)).code == 7)
    }

    @Test(arguments: ["godwit-agent.openrc", "godwit-agent-supervised"])
    func aShellCanReadTheScriptForOpenRC(name: String) async throws {
        let script = Self.folder.appending(path: name).path()
        let check = try await RunningProgram("/bin/sh", ["-n", script]).result()
        #expect(check.code == 0, "\(check.errors)")
    }
}
