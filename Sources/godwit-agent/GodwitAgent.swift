import ArgumentParser
import CVersion
import GodwitOptions

/// `godwit-agent`, the program for devices: reads a receiver, decides which positions to send, and sends them.
@main
struct GodwitAgent: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "godwit-agent",
        abstract: "Publish the position of this device, as often and as precisely as subscribers need it.",
        discussion: """
            Options can also be given in the environment (GODWIT_TOPIC_ROOT for --topic-root) and in a YAML file named \
            by --config (topic-root: …). The command line wins over the environment, which wins over the file. \
            --help-hidden after a command shows all of its options.
            Exit codes: 0 done, 1 refused by the agent, 64 wrong usage, 66 input cannot be read, 69 broker cannot be \
            reached (--fail-fast), the server of --forward did not acknowledge every record, or no agent runs, 77 \
            refused by the broker for good.

            Example:
              godwit-agent run --trackable van-7 --source simulate:
            """,
        version: ProgramVersion.text(commit: String(cString: godwit_commit())),
        subcommands: [
            Run.self, Status.self, On.self, Off.self, Report.self, SendNow.self, Flush.self, Track.self, Add.self,
            Remove.self, Destination.self, Bind.self, TripCommand.self, Queue.self, Quarantine.self, Configure.self,
            Setup.self, Metrics.self,
        ])

    static func main() async {
        await Program.run(GodwitAgent.self)
    }
}
