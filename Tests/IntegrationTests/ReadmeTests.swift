import Foundation
import TestSupport
import Testing

/// The statements of README.md hold word by word.
@Suite(.timeLimit(.minutes(10))) struct ReadmeTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: Programs.root.appending(path: path), encoding: .utf8)
    }

    /// The code blocks of a page in one language, without their fences.
    private static func blocks(_ languages: Set<String>, in page: String) throws -> [String] {
        var blocks: [String] = []
        var current: String?
        var isWanted = false
        for line in try self.text(page).split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                if let block = current, isWanted { blocks.append(block) }
                isWanted = current == nil && languages.contains(String(line.dropFirst(3)))
                current = current == nil ? "" : nil
            } else if current != nil {
                current?.append("\(line)\n")
            }
        }
        return blocks
    }

    private static func commands() throws -> [String] {
        try self.blocks(["console", "sh"], in: "README.md").flatMap { $0.split(separator: "\n").map(String.init) }
    }

    @Test func theFirstScreenExplainsTheDemoAndTheTests() throws {
        let lines = try Self.text("README.md").split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 150)
        #expect(lines.prefix(24).contains("make demo") && lines.prefix(24).contains("make test"))
    }

    @Test func everyFolderOfSourcesIsOnTheMap() throws {
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Programs.root.appending(path: "Sources").path())
        let map = try Self.text("README.md").components(separatedBy: "## Map of `Sources`")[1]
            .components(separatedBy: "\n## ")[0]
        let named = map.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap { row in
            row.split(separator: "|")[0].split(separator: "`").filter { $0.contains { $0.isLetter } }.map(String.init)
        }
        #expect(Set(named) == Set(folders))
    }

    @Test func everyLinkOfThePagesLeadsSomewhere() throws {
        let pages = FileManager.default.enumerator(atPath: Programs.root.appending(path: "docs").path())
        let docs = (pages?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".md") }.map { "docs/\($0)" }
        for page in docs + ["README.md", "broker/README.md", "docker/README.md"] {
            let folder = Programs.root.appending(path: page).deletingLastPathComponent()
            for match in try Self.text(page).matches(of: #/\]\(([^)#\s]+)(#[^)\s]*)?\)/#) {
                let target = String(match.1)
                guard !target.contains("://") else { continue }
                #expect(
                    FileManager.default.fileExists(atPath: folder.appending(path: target).path()), "\(page): \(target)")
            }
        }
    }

    @Test func theDashboardAndTheAlertsSpeakOfFiguresThatThereAre() throws {
        let page = try Self.text("docs/reference/metrics.md")
        for file in ["ops/alerts.yml", "ops/dashboard.json"] {
            let names = try Self.text(file).matches(of: #/godwit_[a-z_]+/#).map { match in
                String(match.0).replacing("_seconds_bucket", with: "_seconds")
            }
            #expect(!names.isEmpty)
            for name in Set(names) { #expect(page.contains("`\(name)`"), "\(file): \(name)") }
        }
    }

    // MARK: - The commands

    /// Runs the commands of every block in order: the targets of `make` exist, and the programs find each other.
    @Test func theCommandsWork() async throws {
        let broker = try await MosquittoProcess.start()
        let gpsd = try FakeGPSD()
        defer { gpsd.stop() }
        // mosquitto_sub reads the broker's port from this file, as in a user's permanent configuration.
        try "-p \(broker.port)\n".write(
            to: broker.directory.appending(path: "mosquitto_sub"), atomically: true, encoding: .utf8)
        var started: [(line: String, command: RunningProgram)] = []
        for line in try Self.commands() {
            if line.hasPrefix("make ") {
                let make = try await self.shell("\(line) --dry-run", broker).result()
                #expect(make.code == 0, "\(make.errors)")
                continue
            }
            let own =
                line.replacing("127.0.0.1:1883", with: "127.0.0.1:\(broker.port)")
                .replacing("127.0.0.1:2947", with: "127.0.0.1:\(gpsd.port)")
                + (line.hasPrefix("godwit serve") ? " --listen 127.0.0.1:0" : "")
            started.append((line, try self.shell("exec \(own)", broker)))
        }
        #expect(
            started.map { $0.line.prefix { $0 != " " } } == [
                "godwit-agent", "godwit", "godwit", "mosquitto_sub", "godwit", "godwit",
            ])
        for (line, command) in started {
            switch line.prefix(while: { $0 != " " }) {
            case "godwit" where line.hasPrefix("godwit watch"): try await command.wait(for: " van-7 location 52.6")
            case "godwit" where line.hasPrefix("godwit token"): try await command.wait(for: "gw_")
            case "godwit" where line.hasPrefix("godwit serve"): try await command.waitForLog("listening on")
            case "godwit" where line.hasPrefix("godwit record"):
                try await command.waitForLog("Recorder is storing messages")
            case "mosquitto_sub": try await command.wait(for: "tracking/van-7 {\"location\"")
            default: break
            }
        }
        for (line, command) in started.reversed() {
            let result = try await command.end()
            #expect(result.code == 0 || line.hasPrefix("mosquitto_sub"), "\(line): \(result.code) \(result.errors)")
        }
    }

    private func shell(_ command: String, _ broker: MosquittoProcess) throws -> RunningProgram {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let programs = Programs.root.appending(path: ".build/debug").path()
        return try RunningProgram(
            "/usr/bin/env", ["-C", Programs.root.path(), "/bin/sh", "-c", command],
            environment: [
                "PATH": "\(programs):\(path)", "XDG_CONFIG_HOME": broker.directory.path(),
                "XDG_STATE_HOME": broker.directory.path(), "GODWIT_LOG_LEVEL": "info",
            ])
    }

    // MARK: - The examples

    /// The examples are the bodies of the compiled functions, with an address and a receiver in place of the parameters.
    @Test func theExamplesAreThoseThatAreCompiled() throws {
        let compiled = try ["Publish", "Watch"].map { name in
            let lines = try Self.text("Tests/DocExamples/\(name).swift").split(
                separator: "\n", omittingEmptySubsequences: false)
            let body = lines.drop { !$0.hasPrefix("func ") }.dropFirst().prefix { $0 != "}" }
            return (["import Godwit", ""] + body.map { $0.dropFirst(4) } + [""])
                .joined(separator: "\n")
                .replacing("broker: broker", with: "broker: \"mqtt://127.0.0.1:1883\"")
                .replacing("reading: receiver", with: "reading: .gpsd()")
        }
        #expect(try Self.blocks(["swift"], in: "README.md") == compiled)
    }

    @Test func oneExampleReceivesThePositionsOfTheOther() async throws {
        let broker = try await MosquittoProcess.start()
        let gpsd = try FakeGPSD()
        defer { gpsd.stop() }
        let publisher = try Programs.start(
            "doc-examples", ["track", "\(broker.port)", "gpsd://127.0.0.1:\(gpsd.port)"],
            environment: ["XDG_STATE_HOME": broker.directory.path()])
        let program = Programs.root.appending(path: ".build/debug/doc-examples").path()
        let watch = try RunningProgram("/usr/bin/stdbuf", ["-oL", program, "watch", "\(broker.port)"])
        try await watch.wait(within: .seconds(60)) { Set($0.split(separator: "\n")).count >= 2 }
        #expect(watch.output.contains("52.6"))
        let log = broker.directory.appending(path: "godwit/publisher-van-7-box.sqlite").path()
        #expect(FileManager.default.fileExists(atPath: log))
        try await watch.end()
        try await publisher.end()
    }
}
