import Foundation
import TestSupport
import Testing

/// `godwit watch` in terminals of tmux, as a user sees it.
@Suite(.serialized, .timeLimit(.minutes(5))) struct TmuxTests {
    private func agent(_ broker: MosquittoProcess, _ trackable: String, _ resolution: String) throws -> RunningProgram {
        try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", trackable, "--broker", broker.url, "--source", "simulate:", "--battery", "none",
                "--default-resolution", resolution,
            ])
    }

    private func program(_ name: String) -> String {
        Programs.root.appending(path: ".build/debug/\(name)").path()
    }

    @Test(arguments: [
        (80, "trackable state age speed resolution next due"),
        (120, "trackable state age speed resolution next due position bearing trip"),
    ])
    func theLiveTableFitsTheTerminal(columns: Int, heading: String) async throws {
        let broker = try await MosquittoProcess.start()
        let slow = try self.agent(broker, "van-7", "BALANCED/30000/0")
        let fast = try self.agent(broker, "delivery-van-0815", "HIGH/1000/0")
        defer { for agent in [slow, fast] { agent.terminate() } }
        let terminal = try await Tmux(
            columns: columns, rows: 24, self.program("godwit"), ["watch", "--all", "--broker", broker.url])
        func words(_ line: String?) -> [Substring] { line?.split(separator: " ") ?? [] }
        func row(_ name: String, in lines: [String]) -> String? { lines.first { $0.hasPrefix(name) } }
        let lines = try await terminal.wait { lines in
            row("van-7", in: lines)?.contains("BALANCED/30000/0") == true
                && row("delivery-van", in: lines)?.contains("HIGH/1000/0") == true
                && [row("van-7", in: lines), row("delivery-van", in: lines)].allSatisfy {
                    $0?.contains(" km/h ") == true && $0?.contains("ONLINE") == true
                }
        }
        #expect(words(lines[0]) == words(heading))
        #expect(lines[1].hasPrefix("delivery-van-0"))
        let number =
            #/van-7 +ONLINE +\d+ s +\d+\.\d km/h +BALANCED/30000/0( +(\d+ s|overdue))?( +52\.\d{5} -8\.\d{5}( +\d+°)?)?/#
        #expect(row("van-7", in: lines)?.wholeMatch(of: number) != nil, "\(lines)")
        #expect(lines.contains { $0.contains("connected; asking for nothing; + finer, - coarser, 0 nothing, q quit") })
        try await terminal.press("+")
        try await terminal.wait { $0.contains { $0.contains("asking for HIGH/15000/0") } }
        try await terminal.press("q")
        try await terminal.wait { $0.contains("ended") }
    }

    /// The first lines of text, with a trackable that is there.
    @Test(arguments: ["text", "json"]) func theFirstLinesAreThoseOfAnOnlineTrackable(format: String) async throws {
        let broker = try await MosquittoProcess.start()
        let agent = try self.agent(broker, "van-7", "HIGH/1000/0")
        defer { agent.terminate() }
        let first = try await Programs.run(
            "godwit", ["watch", "van-7", "--broker", broker.url, "--count", "1", "--timeout", "60"])
        #expect(first.code == 0, "\(first.errors)")
        let watch = try await Programs.run(
            "godwit",
            ["watch", "van-7", "--broker", broker.url, "--format", format, "--count", "3", "--timeout", "60"])
        for word in ["UNKNOWN", "OFFLINE", "ABSENT"] {
            #expect(!watch.output.uppercased().contains(word), "\(watch.output)")
        }
        #expect(watch.output.contains("ONLINE"))
    }

    /// `godwit record` begins with one short line.
    @Test func theRecorderBeginsWithAShortLine() async throws {
        let broker = try await MosquittoProcess.start()
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString)")
        let recorder = try Programs.start(
            "godwit", ["record", "--broker", broker.url, "--name", "keeper", "--store", "sqlite:\(folder.path())"])
        try await recorder.waitForLog("recording as 'keeper' in '\(folder.path())'")
        #expect(recorder.errors.split(separator: "\n").count == 1, "\(recorder.errors)")
        recorder.terminate()
        #expect(try await recorder.result(within: .seconds(60)).code == 0)
        for end in ["", "-wal", "-shm", ".recorder"] {
            try? FileManager.default.removeItem(atPath: folder.path() + end)
        }
    }
}
