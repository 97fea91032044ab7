import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore

/// `godwit-agent track ID`: makes the running agent track one trackable in place of all others, also after a restart.
struct Track: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Track this trackable in place of all others.",
        discussion: """
            The change lasts over a restart of the agent.

            Example:
              godwit-agent track van-7
            """)
    @OptionGroup var tracked: TrackedOptions

    func run() async throws { try await self.tracked.ask(.track) }
}

/// `godwit-agent add ID`: makes the running agent track one more trackable, also after a restart.
struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Track this trackable in addition to the others.",
        discussion: """
            The change lasts over a restart of the agent.

            Example:
              godwit-agent add order:17 --destination 52.66,-8.63
            """)
    @OptionGroup var tracked: TrackedOptions

    func run() async throws { try await self.tracked.ask(.add) }
}

/// The arguments of `godwit-agent track` and `godwit-agent add`: the id of a trackable and its destination.
struct TrackedOptions: ParsableArguments {
    @Argument(help: "The id of the trackable: 1 to 128 bytes.")
    var id: String

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Set the destination of the trackable, in degrees.", valueName: "lat,lon"))
    var destination: Coordinate?

    @OptionGroup var agent: SocketOptions

    func ask(_ name: Command.Name) async throws {
        var arguments = ["trackable": try TrackableID.argument(self.id)]
        arguments["destination"] = self.destination?.json
        try await self.agent.ask(name, arguments)
    }
}

/// `godwit-agent remove ID`: makes the running agent stop tracking one trackable, also after a restart.
struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Stop tracking this trackable.",
        discussion: """
            The change lasts over a restart of the agent.

            Example:
              godwit-agent remove order:17
            """)

    @Argument(help: "The id of the trackable.")
    var id: String

    @OptionGroup var agent: SocketOptions

    func run() async throws {
        try await self.agent.ask(.remove, ["trackable": try TrackableID.argument(self.id)])
    }
}

/// `godwit-agent destination ID LAT,LON|none`: sets or removes the destination of a trackable.
struct Destination: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Set or remove the destination of a trackable.",
        discussion: """
            The change lasts over a restart of the agent. Put -- before a latitude below 0: destination -- van-7 \
            -33.9,151.2

            Example:
              godwit-agent destination van-7 52.66,-8.63
            """
    )

    @Argument(help: "The id of the trackable.")
    var id: String

    @Argument(help: ArgumentHelp("The destination in degrees, or none.", valueName: "lat,lon|none"))
    var place: String

    @OptionGroup var agent: SocketOptions

    func run() async throws {
        var arguments = ["trackable": try TrackableID.argument(self.id)]
        if self.place != "none" {
            guard let place = Coordinate(argument: self.place) else {
                throw ValidationError("the destination must be LAT,LON in degrees, or none; not '\(self.place)'")
            }
            arguments["destination"] = place.json
        }
        try await self.agent.ask(.destination, arguments)
    }
}

/// `godwit-agent bind ID`: tracks one trackable in place of all others. Fails while points of the others are unsent,
/// unless an option sends or discards these points first.
struct Bind: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Track this trackable in place of all others, unless points of the others are unsent.",
        discussion: """
            While points of the others are unsent, the command fails and names their number.

            Example:
              godwit-agent bind van-8 --flush
            """)

    @Argument(help: "The id of the trackable: 1 to 128 bytes.")
    var id: String

    @Flag(help: "Discard the unsent points of the trackables tracked so far.")
    var force = false

    @Flag(help: "Send the unsent points of the trackables tracked so far first.")
    var flush = false

    @OptionGroup var agent: SocketOptions

    func validate() throws {
        if self.force, self.flush {
            throw ValidationError(
                "--force discards the unsent points, and --flush sends them. Give one of the two options")
        }
    }

    func run() async throws {
        let unsent: UnsentPoints = self.force ? .clear : self.flush ? .send : .refuse
        _ = try await self.agent.askAndWait(
            .bind, ["trackable": try TrackableID.argument(self.id), "unsent": .text(unsent.rawValue)])
    }
}
