import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore

/// `godwit-agent track ID`.
struct Track: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Carry this trackable alone.", discussion: "It lasts over a restart of the agent.")
    @OptionGroup var carried: CarriedOptions

    func run() async throws { try await self.carried.ask(.track) }
}

/// `godwit-agent add ID`.
struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Carry this trackable, too.", discussion: "It lasts over a restart of the agent.")
    @OptionGroup var carried: CarriedOptions

    func run() async throws { try await self.carried.ask(.add) }
}

/// What `track` and `add` take.
struct CarriedOptions: ParsableArguments {
    @Argument(help: "The trackable: 1 to 128 bytes.")
    var id: String

    @Option(parsing: .unconditional, help: ArgumentHelp("Where it goes, in degrees.", valueName: "lat,lon"))
    var destination: Coordinate?

    @OptionGroup var agent: SocketOptions

    func ask(_ name: Command.Name) async throws {
        var arguments = ["trackable": try TrackableID.argument(self.id)]
        arguments["destination"] = self.destination?.json
        try await self.agent.ask(name, arguments)
    }
}

/// `godwit-agent remove ID`.
struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Carry this trackable no longer.", discussion: "It lasts over a restart of the agent.")

    @Argument(help: "The trackable.")
    var id: String

    @OptionGroup var agent: SocketOptions

    func run() async throws {
        try await self.agent.ask(.remove, ["trackable": try TrackableID.argument(self.id)])
    }
}

/// `godwit-agent destination ID LAT,LON|none`.
struct Destination: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Set where a trackable goes, or that it goes nowhere.",
        discussion: "It lasts over a restart. Before a latitude below 0 put --, as in: destination -- van-7 -33.9,151.2"
    )

    @Argument(help: "The trackable.")
    var id: String

    @Argument(help: ArgumentHelp("Where it goes, in degrees, or none.", valueName: "lat,lon|none"))
    var place: String

    @OptionGroup var agent: SocketOptions

    func run() async throws {
        var arguments = ["trackable": try TrackableID.argument(self.id)]
        if self.place != "none" {
            guard let place = Coordinate(argument: self.place) else {
                throw ValidationError("a destination is LAT,LON in degrees, or none; not '\(self.place)'")
            }
            arguments["destination"] = place.json
        }
        try await self.agent.ask(.destination, arguments)
    }
}

/// `godwit-agent bind ID`.
struct Bind: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Carry this trackable in place of what was carried.",
        discussion: "Refused, with how many, while points of the old one are not sent.")

    @Argument(help: "The trackable: 1 to 128 bytes.")
    var id: String

    @Flag(help: "Forget unsent points of the old one.")
    var force = false

    @Flag(help: "Send unsent points of the old one first.")
    var flush = false

    @OptionGroup var agent: SocketOptions

    func validate() throws {
        if self.force, self.flush { throw ValidationError("--force forgets what --flush would send: give one of them") }
    }

    func run() async throws {
        let unsent: UnsentPoints = self.force ? .clear : self.flush ? .send : .refuse
        _ = try await self.agent.askAndWait(
            .bind, ["trackable": try TrackableID.argument(self.id), "unsent": .text(unsent.rawValue)])
    }
}
