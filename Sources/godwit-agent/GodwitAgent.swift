import ArgumentParser
import GodwitOptions

/// The device's program: reads a receiver, decides what to send, and sends it.
@main
struct GodwitAgent: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "godwit-agent", abstract: "Publish where this device is, as finely as somebody needs to know.",
        discussion: """
            Options can also be given in the environment (--topic-root as GODWIT_TOPIC_ROOT) and in a YAML file named by \
            --config (topic-root: …). The command line wins over the environment, which wins over the file.
            Exit codes: 0 done, 1 refused by the agent, 64 wrong usage, 66 input cannot be read, 69 broker cannot be reached \
            (--fail-fast) or no agent listens, 77 refused by the broker for good.
            """,
        subcommands: [
            Run.self, Status.self, On.self, Off.self, Report.self, SendNow.self, Flush.self, Track.self, Add.self,
            Remove.self, Destination.self, Bind.self, TripCommand.self, Queue.self, Quarantine.self, Configure.self,
            Setup.self, Metrics.self,
        ])

    static func main() async {
        await Program.run(GodwitAgent.self)
    }
}
