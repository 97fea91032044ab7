import Foundation
import TestSupport
import Testing

/// `godwit watch` in a pipe and on a terminal.
@Suite(.serialized) struct WatchTests {
    private func agent(_ broker: MosquittoProcess, _ interval: Int = 200) throws -> RunningProgram {
        try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--broker", broker.url, "--source", "simulate:", "--battery", "none",
                "--default-resolution", "HIGH/\(interval)/0",
            ])
    }

    @Test func eachFormatEndsAfterItsCount() async throws {
        let broker = try await MosquittoProcess.start()
        let agent = try self.agent(broker)
        for format in ["text", "json", "geojson", "csv"] {
            let watch = try await Programs.run(
                "godwit",
                ["watch", "van-7", "--broker", broker.url, "--format", format, "--count", "3", "--timeout", "60"])
            #expect(watch.code == 0, "\(watch.errors)")
            let locations = watch.lines.filter { line in
                switch format {
                case "text": line.contains(" van-7 location ")
                case "json": line.contains("\"event\":\"location\"")
                case "geojson": line.hasPrefix("\u{1E}{\"id\":\"van-7\"")
                default: line.hasPrefix("van-7,")
                }
            }
            #expect(locations.count == 3, "\(format): \(watch.output)")
            if format == "csv" { #expect(watch.lines.first?.hasPrefix("trackable,time,latitude,longitude") == true) }
        }
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }

    /// The options record one position in 500 m, which takes the simulated van about half a minute.
    @Test func aRequestIsAnsweredByADeviceThatSavesItsBattery() async throws {
        let broker = try await MosquittoProcess.start()
        let agent = try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van-7", "--broker", broker.url, "--source", "simulate:", "--battery", "none",
                "--profile", "battery-saving", "--significant-change", "only",
            ])
        let watch = try await Programs.run(
            "godwit",
            [
                "watch", "van-7", "--broker", broker.url, "--resolution", "HIGH/1000/1", "--count", "8", "--timeout",
                "60",
            ])
        #expect(watch.code == 0, "\(watch.output)\(watch.errors)")
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }

    @Test func theTimeEndsItToo() async throws {
        let broker = try await MosquittoProcess.start()
        let watch = ["watch", "van-7", "--broker", broker.url, "--timeout", "0.5"]
        #expect(try await Programs.run("godwit", watch).code == 0)
        #expect(try await Programs.run("godwit", watch + ["--count", "1"]).code == 1)
    }

    @Test func aSilentOneIsNotCounted() async throws {
        let broker = try await MosquittoProcess.start()
        let silent = try Programs.start(
            "godwit", ["watch", "van-7", "--broker", broker.url, "--format", "json", "--silent"])
        let agent = try self.agent(broker)
        try await silent.wait(within: .seconds(60)) { $0.contains("\"state\":\"ONLINE\",\"filter\"") }
        #expect(!silent.output.contains("\"subscribers\":1"))
        let other = try Programs.start("godwit", ["watch", "van-7", "--broker", broker.url])
        try await silent.wait(within: .seconds(60)) { $0.contains("\"subscribers\":1") }
        #expect(!silent.output.contains("\"subscribers\":2"))
        other.terminate()
        #expect(try await other.result(within: .seconds(60)).code == 0)
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }

    // MARK: - On a terminal

    @Test func theLiveTableShowsAndItsKeysAsk() async throws {
        let broker = try await MosquittoProcess.start()
        let agent = try self.agent(broker, 30_000)
        let terminal = try TestTerminal(columns: 130, rows: 12)
        let watch = try Programs.start(
            "godwit", ["watch", "--all", "--broker", broker.url], environment: ["TERM": "xterm"], terminal: terminal)
        func row(_ lines: [String]) -> [Substring] {
            lines.first { $0.hasPrefix("van-7") }?.split(separator: " ") ?? []
        }
        try await terminal.wait { row($0).contains("ONLINE") && row($0).contains("HIGH/30000/0") }
        #expect(terminal.lines[0].hasPrefix("trackable state"))
        #expect(
            terminal.lines.last { !$0.isEmpty }
                == "connected; asking for nothing; + finer, - coarser, 0 nothing, q quit")
        #expect(terminal.raw.contains("\u{1B}[32mvan-7"))
        // The resolution requested with a key applies a moment later.
        terminal.press("+")
        try await terminal.wait { $0.contains { $0.contains("asking for HIGH/15000/0") } }
        try await terminal.wait { row($0).contains("HIGH/15000/0") }
        terminal.press("+")
        try await terminal.wait { row($0).contains("MAXIMUM/7500/0") }
        terminal.press("--")
        try await terminal.wait { row($0).contains("BALANCED/30000/0") }
        terminal.press("0")
        try await terminal.wait { $0.contains { $0.contains("asking for nothing") } }
        try await terminal.wait { row($0).contains("HIGH/30000/0") }
        terminal.press("q")
        let result = try await watch.result(within: .seconds(60))
        #expect(result.code == 0, "\(result.errors)")
        #expect(terminal.raw.contains("\u{1B}[?25h"))
        agent.terminate()
        #expect(try await agent.result(within: .seconds(60)).code == 0)
    }

    @Test func theLastOfWhatWasCountedIsShown() async throws {
        let broker = try await MosquittoProcess.start()
        let agent = try self.agent(broker, 30_000)
        let first = ["watch", "van-7", "--broker", broker.url, "--count", "1", "--timeout", "60"]
        #expect(try await Programs.run("godwit", first).code == 0)
        let terminal = try TestTerminal(columns: 130, rows: 12)
        let watch = try Programs.start("godwit", first, environment: ["TERM": "xterm"], terminal: terminal)
        #expect(try await watch.result(within: .seconds(60)).code == 0)
        try await terminal.wait { $0.contains { $0.hasPrefix("van-7") && $0.contains(" 52.6") } }
        #expect(try await agent.end().code == 0)
    }

    /// Stops and continues the program as Ctrl-Z and `fg` do.
    @Test func aStoppedProgramShowsTheCursorUntilItContinues() async throws {
        let broker = try await MosquittoProcess.start()
        let terminal = try TestTerminal()
        let watch = try Programs.start(
            "godwit", ["watch", "van-7", "--broker", broker.url], environment: ["TERM": "xterm"], terminal: terminal)
        try await terminal.wait { $0.contains { $0.hasPrefix("van-7     OFFLINE") } }
        #expect(!terminal.raw.contains("\u{1B}[?25h"))
        watch.signal(SIGTSTP)
        try await terminal.wait { _ in terminal.raw.contains("\u{1B}[?25h") }
        watch.signal(SIGCONT)
        try await terminal.wait { _ in terminal.raw.components(separatedBy: "\u{1B}[?25l\u{1B}[2J").count == 3 }
        terminal.press("\u{1B}Oqq")
        #expect(try await watch.result(within: .seconds(60)).code == 0)
    }

    @Test func aLowTerminalIsNotDrawnBeyond() async throws {
        let broker = try await MosquittoProcess.start()
        let terminal = try TestTerminal(columns: 80, rows: 3)
        let watch = try Programs.start(
            "godwit", ["watch", "van-7", "--broker", broker.url], environment: ["TERM": "xterm"], terminal: terminal)
        try await terminal.wait { $0.contains { $0.hasPrefix("van-7     OFFLINE") } }
        #expect(terminal.lines.count <= 3)
        terminal.press("q")
        #expect(try await watch.result(within: .seconds(60)).code == 0)
    }

    @Test func coloursCanBeTurnedOff() async throws {
        let broker = try await MosquittoProcess.start()
        let terminal = try TestTerminal()
        let watch = try Programs.start(
            "godwit", ["watch", "van-7", "--broker", broker.url], environment: ["TERM": "xterm", "NO_COLOR": "1"],
            terminal: terminal)
        try await terminal.wait { $0.contains { $0.hasPrefix("van-7     OFFLINE") } }
        #expect(!terminal.raw.contains("\u{1B}[9"))
        watch.terminate()
        #expect(try await watch.result(within: .seconds(60)).code == 0)
    }
}
