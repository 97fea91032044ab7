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

    /// All commands of a program, each with the words that name it.
    private static func commands(
        _ command: any ParsableCommand.Type, _ path: [String] = []
    ) -> [(path: [String], command: any ParsableCommand.Type)] {
        let path = path + [command._commandName]
        return [(path, command)] + command.configuration.subcommands.flatMap { self.commands($0, path) }
    }

    /// A reader copies the example of a command. It is one of the command or of its subcommands, and complete.
    @Test(arguments: [Godwit.self, GodwitAgent.self] as [any ParsableCommand.Type])
    func theHelpOfEachCommandHasAnExampleThatIsAccepted(root: any ParsableCommand.Type) throws {
        for (path, command) in Self.commands(root) {
            let help = root.helpMessage(for: command, columns: 80)
            let name = path.joined(separator: " ")
            let example = try #require(help.firstMatch(of: #/\nExample:\n  (godwit[^\n]+)\n/#), "\(name): \(help)").1
            #expect(example.hasPrefix(name), "\(example)")
            let words = example.split(separator: " ").map(String.init)
            _ = try root.parseAsRoot(Array(words.dropFirst()))
        }
    }

    @Test(arguments: [
        (["wacth"], "godwit has no command 'wacth'. Did you mean watch?"),
        (["token", "lits"], "godwit token has no command 'lits'. Did you mean list?"),
        (["trackables", "lst"], "godwit trackables has no command 'lst'. Did you mean list?"),
        (["xyzzy"], "godwit has no command 'xyzzy'."),
    ])
    func aMisspeltCommandIsNamedWithTheSimilarOnes(arguments: [String], message: String) {
        #expect { try CommandNames.check(arguments, for: Godwit.self) } throws: {
            ($0 as? ValidationError)?.message == message
        }
    }

    /// The default subcommand takes the misspelt word as its argument, and lacks an option.
    @Test(arguments: [
        (["share", "lits"], "Missing expected argument '--for <span>'. Did you mean godwit share list?"),
        (["share", "rvoke", "3"], "Did you mean godwit share revoke?"),
        (["share", "creat", "van"], "Did you mean godwit share create?"),
    ])
    func aMisspeltSubcommandIsSuggestedIfTheArgumentsAreWrong(arguments: [String], message: String) {
        #expect { try Program.command(arguments, environment: [:], of: Godwit.self) } throws: {
            ($0 as? ValidationError)?.message.contains(message) == true
        }
    }

    @Test func anIDThatResemblesASubcommandIsNoMistakeInItself() throws {
        _ = try Program.command(["share", "lits", "--for", "2h"], environment: [:], of: Godwit.self)
        #expect { try Program.command(["share", "van"], environment: [:], of: Godwit.self) } throws: {
            !"\(Godwit.message(for: $0))".contains("Did you mean")
        }
    }

    @Test(arguments: [
        ["watch", "wacth"], ["share", "lits", "--for", "2h"], ["help", "watch"], ["--version"], [], ["trackables"],
        ["trackables", "--format", "json"], ["last", "van"],
    ])
    func otherWordsAreNoCommands(arguments: [String]) throws {
        try CommandNames.check(arguments, for: Godwit.self)
    }

    @Test func theVersionHasTheCommitOfTheBuild() {
        #expect(ProgramVersion.text(commit: "") == ProgramVersion.number)
        #expect(ProgramVersion.text(commit: "9c7557c") == "\(ProgramVersion.number) (9c7557c)")
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
