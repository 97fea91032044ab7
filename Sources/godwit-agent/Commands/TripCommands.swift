import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore

/// `godwit-agent trip`: begins, ends or shows a trip.
struct TripCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trip", abstract: "Begin, end or show a trip.",
        discussion: """
            Example:
              godwit-agent trip start car
            """,
        subcommands: [Start.self, Stop.self, Show.self])

    /// The option that selects the trackable whose trip a command begins, ends or shows. It is needed if the agent
    /// tracks several.
    struct Whose: ParsableArguments {
        @Option(
            help: ArgumentHelp("The trackable of the trip; needed if the agent tracks several.", valueName: "id"))
        var trackable: String?

        @OptionGroup var agent: SocketOptions

        func arguments() throws -> [String: JSONValue] {
            try self.trackable.map { ["trackable": try TrackableID.argument($0)] } ?? [:]
        }

        func ask(_ name: Command.Name, _ arguments: [String: JSONValue]) async throws {
            let result = try await self.agent.ask(name, arguments)
            guard let trip = result["trip"] else { return }
            try Output.print(StatusText.describe(try MessageCodec.decodeTrip(trip.json)) + "\n")
        }
    }

    /// `godwit-agent trip start`: begins a trip of a tracked trackable. Fails while a trip of the trackable is under
    /// way.
    struct Start: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Begin a trip. Fails while a trip of the trackable is under way.",
            discussion: """
                Example:
                  godwit-agent trip start car
                """)

        @Argument(
            help: ArgumentHelp(
                "The mode of travel: walk, run, bicycle, car, taxi, bus, tram, train, metro, plane, boat, scooter, or another word.",
                valueName: "mode"))
        var mode: String?

        @OptionGroup var whose: Whose

        func run() async throws {
            var arguments = try self.whose.arguments()
            arguments["mode"] = self.mode.map { .text($0) }
            try await self.whose.ask(.startTrip, arguments)
        }
    }

    /// `godwit-agent trip stop`: ends the trip of a tracked trackable that is under way. Fails if none is.
    struct Stop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End the trip under way. Fails if no trip is under way.",
            discussion: """
                Example:
                  godwit-agent trip stop
                """)
        @OptionGroup var whose: Whose

        func run() async throws { try await self.whose.ask(.stopTrip, self.whose.arguments()) }
    }

    /// `godwit-agent trip status`: shows the trip under way or the last trip, for each tracked trackable.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show the trip under way, or the last one.",
            discussion: """
                Example:
                  godwit-agent trip status
                """)
        @OptionGroup var whose: Whose

        func run() async throws {
            let status = try AgentStatus(members: await self.whose.agent.connect().status())
            let wanted = try self.whose.arguments()["trackable"]?.text
            let tracked = status.trackables.filter { wanted == nil || $0.id.rawValue == wanted }
            if let wanted, tracked.isEmpty {
                throw CommandFailure(
                    .unknownTrackable,
                    "the agent does not track '\(wanted)'. godwit-agent status lists the tracked trackables")
            }
            for trackable in tracked {
                let trip = trackable.trip.map { StatusText.describe($0) } ?? "no trip"
                try Output.print("\(StatusText.plain(trackable.id.rawValue)): \(trip)\n")
            }
        }
    }
}
