import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore

/// `godwit-agent status`.
struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show how things stand with the agent.",
        discussion: """
            With --watch it fills the terminal and stays live: o switches on or off, s sends a batch now, t begins or ends a \
            trip, q ends.
            """)

    @Flag(help: "Stay, on a terminal: a live view with keys.")
    var watch = false

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var units: UnitsOptions

    @OptionGroup var agent: SocketOptions

    func validate() throws {
        if self.watch, self.json { throw ValidationError("--watch is for people and --json for programs: give one") }
    }

    func run() async throws {
        if self.watch {
            guard Terminal.isOutput, Terminal.isInput else { throw ValidationError("--watch needs a terminal") }
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
