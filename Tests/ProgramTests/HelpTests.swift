import ArgumentParser
import Testing

@testable import GodwitOptions
@testable import godwit
@testable import godwit_agent

/// The options that `--help` shows, and those that only `--help-hidden` shows.
@Suite struct HelpTests {
    private static func options(_ help: String) -> [String] {
        help.split(separator: "\n").compactMap { line in
            line.firstMatch(of: #/^  (?:-\w, )?--([a-z-]+)/#).map { String($0.1) }
        }.filter { !["help", "help-hidden"].contains($0) }
    }

    @Test func theHelpOfRunShowsTheOptionsThatMostUsersNeed() throws {
        let help = Run.helpMessage(columns: 80)
        let shown = Self.options(help)
        #expect((15...20).contains(shown.count), "\(shown)")
        for option in ["trackable", "source", "broker", "password-file", "config", "spool", "acknowledge-by"] {
            #expect(shown.contains(option), "--\(option)")
        }
        for heading in ["TRACKABLE:", "SOURCE OF POSITIONS:", "BROKER AND CONFIGURATION:"] {
            #expect(help.contains("\n\(heading)\n"), "\(heading)")
        }
        #expect(help.contains("--help-hidden"))
    }

    @Test(arguments: [Run.self, Watch.self, Record.self, Serve.self] as [any ParsableCommand.Type])
    func theHiddenHelpShowsEveryOptionExceptSecrets(command: any ParsableCommand.Type) throws {
        let shown = Self.options(command.helpMessage(includeHidden: true, columns: 80))
        let secrets: Set = ["password", "share-secret", "webhook-secret"]
        let all = try LayeredArguments.options(of: command).map(\.name)
        #expect(Set(shown) == Set(all).subtracting(secrets))
        #expect(shown.count == Set(shown).count)
    }
}
