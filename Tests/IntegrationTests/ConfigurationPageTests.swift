import Foundation
import Testing

/// docs/reference/configuration.md lists every option of the programs' `--help-hidden`.
@Suite(.timeLimit(.minutes(10))) struct ConfigurationPageTests {
    /// One option with its text in `--help-hidden`.
    private struct Option: Hashable {
        var name: String
        var text: String
        /// The text after `default: `; `nil` if there is none.
        var standard: String? {
            self.text.firstMatch(of: #/default: ([^);]+)[);]/#).map { String($0.1) }
        }
    }

    private static func help(_ program: String, _ subcommand: String) async throws -> [Option] {
        try await self.help(program, [subcommand])
    }

    /// Returns the options of a command from all sections of its help, including hidden options.
    private static func help(_ program: String, _ subcommand: [String]) async throws -> [Option] {
        let help = try await Programs.run(program, subcommand + ["--help-hidden"])
        #expect(help.code == 0)
        var found: [Option] = []
        for line in help.output.split(separator: "\n") where line.hasPrefix("  ") {
            if let match = line.firstMatch(of: #/^  (?:-\w, )?--([a-z-]+)/#) {
                found.append(Option(name: String(match.1), text: String(line)))
            } else if !found.isEmpty {
                found[found.count - 1].text += " " + line.trimmingCharacters(in: .whitespaces)
            }
        }
        return found.filter { !["help", "help-hidden", "version"].contains($0.name) }
    }

    private static func page() throws -> String {
        try String(contentsOf: Programs.root.appending(path: "docs/reference/configuration.md"), encoding: .utf8)
    }

    /// Returns the rows of the tables beneath a heading, by the option's name.
    private static func rows(_ heading: String) throws -> [String: [String]] {
        let section = try self.page().components(separatedBy: "\n## ").first { $0.hasPrefix(heading) }
        var rows: [String: [String]] = [:]
        for line in try #require(section).components(separatedBy: "\n### ")[0].split(separator: "\n") {
            let cells = line.replacing("\\|", with: "/").split(separator: "|")
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard line.hasPrefix("|"), let match = cells.first?.firstMatch(of: #/^`--([a-z-]+)/#) else { continue }
            #expect(rows.updateValue(cells, forKey: String(match.1)) == nil, "--\(match.1) stands twice")
        }
        return rows
    }

    /// The sections of the page that have the options of a command.
    private static let broker = "Both programs"
    private static let history = "Commands on the history"
    private static let gateway = "Commands on the gateway"
    private static let credentials = "Credentials of apps"

    @Test(arguments: [
        ("godwit-agent", "run", [Self.broker, "`godwit-agent run`"]),
        ("godwit", "watch", [Self.broker, "`godwit watch ID…`"]),
        ("godwit", "send", [Self.broker, "`godwit send COMMAND ID…`"]),
        ("godwit", "journey set", [Self.broker, "`godwit journey set ID`"]),
        ("godwit", "journey show", [Self.broker]),
        ("godwit", "journey clear", [Self.broker]),
        ("godwit", "journey list", [Self.broker]),
        ("godwit", "record", [Self.broker, Self.history, "`godwit record`"]),
        ("godwit", "enhance", [Self.broker, "`godwit enhance`"]),
        ("godwit", "forward", [Self.history, "`godwit forward`"]),
        ("godwit", "serve", [Self.broker, Self.history, Self.credentials, "`godwit serve`"]),
        ("godwit", "bridge owntracks", [Self.broker, "`godwit bridge owntracks`"]),
        ("godwit", "token create", [Self.gateway, "`godwit token create`"]),
        ("godwit", "token list", [Self.gateway, "`godwit token list`"]),
        ("godwit", "token revoke", [Self.gateway]),
        ("godwit", "share create", [Self.broker, Self.gateway, "`godwit share ID`"]),
        ("godwit", "share list", [Self.gateway, "`godwit share list`"]),
        ("godwit", "share revoke", [Self.gateway]),
        ("godwit", "credentials issue", [Self.broker, Self.gateway, Self.credentials, "`godwit credentials issue`"]),
        ("godwit", "credentials list", [Self.gateway, "`godwit credentials list`"]),
        ("godwit", "credentials revoke", [Self.broker, Self.gateway, Self.credentials]),
        ("godwit", "audit", [Self.gateway, "`godwit audit`"]),
        ("godwit", "fence add", [Self.gateway, "`godwit fence add NAME`"]),
        ("godwit", "fence list", [Self.gateway, "`godwit fence list`"]),
        ("godwit", "fence remove", [Self.gateway]),
        ("godwit", "rule add", [Self.gateway, "`godwit rule add NAME`"]),
        ("godwit", "rule list", [Self.gateway, "`godwit rule list`"]),
        ("godwit", "rule remove", [Self.gateway]),
        ("godwit", "trackables set", [Self.gateway, "`godwit trackables set ID`"]),
        ("godwit", "history", [Self.history, "`godwit history ID`"]),
        ("godwit", "last", [Self.history, "`godwit last [ID…]`"]),
        ("godwit", "trackables list", [Self.history, "`godwit trackables`"]),
        ("godwit", "trips", [Self.history, "`godwit trips ID`"]),
        ("godwit", "export", [Self.history, "`godwit export DIRECTORY`"]),
        ("godwit", "import", [Self.history, "`godwit import FILE`"]),
        ("godwit", "verify", [Self.history, "`godwit verify ID`"]),
        ("godwit", "erase", [Self.broker, Self.history, "`godwit erase ID`"]),
        ("godwit", "backup", [Self.history, "`godwit backup FILE`"]),
        ("godwit", "replay", [Self.broker, Self.history, "`godwit replay ID`"]),
    ])
    func everyOptionIsOnThePageWithItsVariableKeyAndDefault(
        program: String, subcommand: String, headings: [String]
    ) async throws {
        let options = try await Self.help(program, subcommand.split(separator: " ").map(String.init))
        let rows = try headings.map(Self.rows).reduce(into: [:]) { $0.merge($1) { first, _ in first } }
        #expect(Set(options.map(\.name)) == Set(rows.keys))
        for option in options {
            let cells = try #require(rows[option.name])
            try #require(cells.count == 5, "--\(option.name)")
            #expect(cells[1] == "`GODWIT_\(option.name.uppercased().replacing("-", with: "_"))`")
            #expect(cells[2] == (option.name == "config" ? "–" : "`\(option.name)`"))
            if let standard = option.standard { #expect(cells[4].contains(standard), "--\(option.name)") }
        }
    }

    /// Returns the subcommands that `--help` lists, with their own subcommands.
    private static func commands(_ path: [String] = []) async throws -> [[String]] {
        let help = try await Programs.run("godwit-agent", path + ["--help"])
        guard let list = help.output.components(separatedBy: "\nSUBCOMMANDS:\n").dropFirst().first else {
            return [path]
        }
        var found: [[String]] = []
        for line in list.split(separator: "\n") {
            guard let match = line.firstMatch(of: #/^  ([a-z-]+)/#) else { continue }
            found += try await self.commands(path + [String(match.1)])
        }
        return found
    }

    @Test func everyControlIsOnThePageWithItsOptions() async throws {
        let section = try Self.page().components(separatedBy: "\n## ").first {
            $0.hasPrefix("`godwit-agent`: the controls")
        }
        var rows: [String: Set<String>] = [:]
        for line in try #require(section).split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.replacing("\\|", with: "/").split(separator: "|", omittingEmptySubsequences: false)
            let words = cells[1].split { " `".contains($0) }.prefix { $0.allSatisfy { $0.isLowercase || $0 == "-" } }
            let options = cells[2].matches(of: #/--([a-z-]+)/#).map { String($0.1) }
            #expect(rows.updateValue(Set(options), forKey: words.joined(separator: " ")) == nil)
        }
        let commands = try await Self.commands().filter { $0 != ["run"] }
        #expect(Set(commands.map { $0.joined(separator: " ") }) == Set(rows.keys))
        for command in commands {
            let options = try await Self.help("godwit-agent", command).map(\.name)
            #expect(options.contains("socket"), "\(command)")
            #expect(Set(options).subtracting(["socket"]) == rows[command.joined(separator: " ")], "\(command)")
        }
    }

    @Test func everyOptionOfTheDemoIsOnThePage() async throws {
        let options = try await Self.help("godwit", "demo")
        #expect(Set(options.map(\.name)) == Set(try Self.rows("`godwit demo`").keys))
    }

    /// The command reads no file, so its options have no keys.
    @Test func everyOptionOfCertifyIsOnThePageWithItsVariableAndDefault() async throws {
        let options = try await Self.help("godwit", "certify")
        let rows = try Self.rows("`godwit certify BROKER-URL`")
        #expect(Set(options.map(\.name)) == Set(rows.keys))
        for option in options {
            let cells = try #require(rows[option.name])
            try #require(cells.count == 4, "--\(option.name)")
            #expect(cells[1] == "`GODWIT_\(option.name.uppercased().replacing("-", with: "_"))`")
            if let standard = option.standard { #expect(cells[3].contains(standard), "--\(option.name)") }
        }
    }

    @Test func theSettingsFileOnThePageIsAccepted() async throws {
        let blocks = try Self.page().components(separatedBy: "```yaml\n").dropFirst()
        try #require(blocks.count == 2)
        let yaml = try #require(blocks.last?.components(separatedBy: "```")[0])
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "agent.yaml")
        for (name, text) in [("ca.crt", ""), ("password", ""), ("agent.yaml", yaml)] {
            try text.replacing("/etc/godwit", with: folder.path())
                .write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
        }
        let agent = try await Programs.run(
            "godwit-agent", ["run", "--config", file.path(), "--broker", "mqtt://van@127.0.0.1:1", "--fail-fast"])
        // The agent accepted every option: only the broker is missing.
        #expect(agent.code == 69, "\(agent.errors)")
    }

    // MARK: - Coming from Ably

    /// Each of our names on the page exists.
    @Test func everyNameOnThePageForAblysUsersExists() throws {
        let page = try String(
            contentsOf: Programs.root.appending(path: "docs/how-to/migrate-from-ably.md"), encoding: .utf8)
        let words = try Self.wordsOfTheSources()
        let options = try Set(Self.rows("Both programs").keys).union(Self.rows("`godwit-agent run`").keys)
        for row in page.split(separator: "\n").filter({ $0.hasPrefix("|") }) {
            let here = row.split(separator: "|")[1]
            for code in here.matches(of: #/`([^`]+)`/#).map(\.1) {
                if code.hasPrefix("--") {
                    #expect(options.contains(code.dropFirst(2).prefix { $0 != " " }.description), "\(code)")
                    continue
                }
                for word in code.matches(of: #/[A-Za-z_]+/#).map({ String($0.0) }) {
                    #expect(words.contains(word), "\(word), in \(row)")
                }
            }
        }
    }

    private static func wordsOfTheSources() throws -> Set<String> {
        let folder = Programs.root.appending(path: "Sources")
        let files = FileManager.default.enumerator(atPath: folder.path())?.compactMap { $0 as? String } ?? []
        var words: Set<String> = []
        for file in files where file.hasSuffix(".swift") {
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            for line in text.split(separator: "\n") where !line.trimmingPrefix(while: \.isWhitespace).hasPrefix("//") {
                words.formUnion(line.split { !($0.isLetter || $0 == "_") }.map(String.init))
            }
        }
        return words
    }
}
