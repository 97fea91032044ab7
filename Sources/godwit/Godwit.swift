import ArgumentParser
import GodwitOptions

/// Everyone else's program: watches, and shows what Godwit does.
@main
struct Godwit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "godwit", abstract: "Watch what Godwit's publishers tell, and see how they do it.",
        discussion: """
            Options can also be given in the environment (--topic-root as GODWIT_TOPIC_ROOT) and in a YAML file named by \
            --config (topic-root: …). The command line wins over the environment, which wins over the file.
            Exit codes: 0 done, 1 no or not all answers, or not all that was asked for, 64 wrong usage, 66 input or history cannot be read, 69 broker cannot be reached (--fail-fast), 74 output cannot be written, \
            77 refused by the broker.
            """,
        subcommands: [
            Watch.self, Record.self, Serve.self, Token.self, Share.self, Send.self, History.self, Last.self,
            Trackables.self, Trips.self,
            Import.self,
            Verify.self, Erase.self, FenceCommand.self, RuleCommand.self, Bridge.self, Backup.self, Replay.self,
            Demo.self,
        ])

    static func main() async {
        await Program.run(Godwit.self)
    }
}
