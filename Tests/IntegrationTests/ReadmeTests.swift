import Foundation
import TestSupport
import Testing

/// The statements of README.md hold word by word. `Tests/Pages/run` runs its commands.
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

    @Test func theFirstScreenExplainsTheDemoAndTheTests() throws {
        let lines = try Self.text("README.md").split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 150)
        #expect(lines.prefix(24).contains("make demo") && lines.prefix(24).contains("make test"))
        let image = try Data(contentsOf: Programs.root.appending(path: "docs/images/map.png"))
        #expect(image.count <= 200_000)
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
