import ArgumentParser
import CVersion
import GodwitOptions

/// `godwit`, the program for servers and operators: it watches, records and serves positions, and works with the
/// history.
@main
struct Godwit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "godwit", abstract: "Watch, record and serve the positions that godwit-agent and phones publish.",
        discussion: """
            Options can also be given in the environment (GODWIT_TOPIC_ROOT for --topic-root) and in a YAML file named \
            by --config (topic-root: …). The command line wins over the environment, which wins over the file. \
            --help-hidden after a command shows all of its options.
            Exit codes: 0 done, 1 partly done or not answered, 64 wrong usage, 66 input or history cannot be read, 69 \
            broker cannot be reached (--fail-fast), 74 standard output cannot be written, 77 refused by the broker for good.

            Example:
              godwit watch --all
            """,
        version: ProgramVersion.text(commit: String(cString: godwit_commit())),
        subcommands: [
            Watch.self, Record.self, Enhance.self, Forward.self, Serve.self, Token.self, Share.self, Credentials.self,
            Send.self,
            JourneyCommand.self, History.self, Last.self,
            Trackables.self, Publishers.self, Trips.self, Export.self,
            Import.self,
            Verify.self, Erase.self, FenceCommand.self, RuleCommand.self, Audit.self, Bridge.self, Backup.self,
            Replay.self,
            Certify.self, Demo.self,
        ])

    static func main() async {
        await Program.run(Godwit.self)
    }
}
