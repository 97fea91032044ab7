import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore

/// `godwit-agent status`: shows the state of the running agent.
struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the state of the agent: connection, queue, last fix and trackables.",
        discussion: """
            With --watch, the state fills the terminal and stays up to date. Keys: o switches the agent on or off, s \
            sends a batch, t begins or ends a trip, q quits.

            Example:
              godwit-agent status --watch
            """)

    @Flag(help: "Keep showing the state on the terminal, with keys for commands.")
    var watch = false

    @Flag(help: "Print the state as one JSON object.")
    var json = false

    @OptionGroup var units: UnitsOptions

    @OptionGroup var agent: SocketOptions

    func validate() throws {
        if self.watch, self.json {
            throw ValidationError(
                "--watch and --json exclude each other: --watch shows text for people, and --json prints for programs. Leave one of them out"
            )
        }
    }

    func run() async throws {
        if self.watch {
            guard Terminal.isOutput, Terminal.isInput else {
                throw ValidationError("--watch needs a terminal as standard input and output. Leave it out in scripts")
            }
            let ending = Ending()
            try await Program.run(StatusWatch(agent: self.agent, units: self.units.units, ending: ending))
            if let error = ending.error { throw error }
            return
        }
        let members = try await self.agent.connect().status()
        if self.json {
            try Output.print(String(decoding: JSONValue.object(members).json, as: UTF8.self) + "\n")
        } else {
            let lines = StatusText(try AgentStatus(members: members), units: self.units.units).lines
            try Output.print(lines.map { $0 + "\n" }.joined())
        }
    }
}
