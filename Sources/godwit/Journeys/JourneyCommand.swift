import ArgumentParser
import GodwitOptions
import Logging
import TrackingCore

/// `godwit journey`: sets, shows, clears and lists journeys, the stops that trackables are going to visit.
struct JourneyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journey", abstract: "Set, show, clear and list journeys: the stops that trackables will visit.",
        discussion: """
            A journey is a retained message of the broker. godwit enhance estimates the arrival at each of its stops.

            Example:
              godwit journey set van-7 --stop 47.166,9.51,Depot,14:30
            """,
        subcommands: [Set.self, Show.self, Clear.self, List.self])

    /// Starts logging and connects to the broker that the options name.
    static func topics(_ broker: BrokerOptions) throws -> JourneyTopics {
        Program.startLogging(Logger.Level(rawValue: broker.logLevel) ?? .warning)
        return JourneyTopics(
            client: try broker.client(try broker.identity()), root: try TopicRoot(broker.topicRoot))
    }
}

extension JourneyCommand {
    /// `godwit journey set ID`: publishes a journey, which replaces the trackable's journey before it.
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set the journey of a trackable: the stops in the order of the visits.",
            discussion: """
                The new journey replaces the one before it and begins anew: give only the stops that remain. TIME is \
                the latest arrival: HH:MM in this device's time zone, today or, if that is over, tomorrow; or RFC 3339. \
                Exit code 77: the broker rejects the journey; broker/add-operator makes a user that may set one.

                Example:
                  godwit journey set van-7 --stop 47.166,9.51,Depot,14:30 --stop 47.14,9.52
                """)

        @Argument(help: "The id of the trackable.", transform: TrackableID.checked)
        var id: TrackableID

        @Option(
            parsing: .unconditionalSingleValue,
            help: ArgumentHelp(
                "Add this stop: a place in degrees, and optionally a name and the latest time of arrival. Repeatable, at most 200.",
                valueName: "lat,lon[,name][,time]"))
        var stop: [String]

        @Option(
            parsing: .unconditional,
            help: ArgumentHelp(
                "Count as arrived within this distance of a stop, 1 to 100000 metres.", valueName: "metres"))
        var radius = Journey.Stop.defaultRadius.value

        @Option(
            help: ArgumentHelp(
                "Travel by auto, bicycle, pedestrian, bus or truck. Default: as the enhancer does.",
                valueName: "profile"))
        var profile: TravelProfile?

        @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

        func validate() throws { _ = try self.payload() }

        func run() async throws {
            let payload = try self.payload()
            let topics = try JourneyCommand.topics(self.broker)
            try await topics.publish(payload, of: self.id)
            let count = counted(self.stop.count, "stop")
            try Output.print("\(self.id.rawValue): the broker accepted the journey with \(count)".printable + "\n")
        }

        private func payload() throws -> [UInt8] {
            var generator = SystemRandomNumberGenerator()
            let stops = try self.stop.map { text in
                try checked { () throws(TrackingError) in
                    try StopArgument(text, now: TimeText.now).stop(
                        id: StreamID.random(using: &generator).rawValue, radius: Meters(self.radius))
                }
            }
            return try checked { () throws(TrackingError) in
                try MessageCodec.encode(Journey(stops: stops, profile: self.profile))
            }
        }
    }

    /// `godwit journey show ID`: prints the stops of a trackable's journey with their planned and estimated times.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the stops of a journey with their planned and estimated times.",
            discussion: """
                Times are those of this device's time zone. Exit code 1: the trackable has no journey.

                Example:
                  godwit journey show van-7
                """)

        @Argument(help: "The id of the trackable.", transform: TrackableID.checked)
        var id: TrackableID

        @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

        func run() async throws {
            let found = try await JourneyCommand.topics(self.broker).read([self.id])
            guard let journey = found[self.id]?.journey else {
                Program.complain(
                    "cannot show the journey of \(self.id.rawValue.printable): there is none. Set one with godwit journey set"
                )
                throw ExitCode(1)
            }
            let table = JourneyTable.stops(journey, found[self.id]?.estimate, now: TimeText.now)
            try Output.print(table.text(limit: Terminal.tableWidth))
        }
    }

    /// `godwit journey clear ID`: clears a trackable's journey, so that no arrival is estimated any more.
    struct Clear: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Clear the journey of a trackable.",
            discussion: """
                Example:
                  godwit journey clear van-7
                """)

        @Argument(help: "The id of the trackable.", transform: TrackableID.checked)
        var id: TrackableID

        @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

        func run() async throws {
            try await JourneyCommand.topics(self.broker).publish([], of: self.id)
            try Output.print("\(self.id.rawValue): the broker cleared the journey".printable + "\n")
        }
    }

    /// `godwit journey list`: prints one line for each trackable with a journey.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the trackables with a journey, and their next stops.",
            discussion: """
                Example:
                  godwit journey list
                """)

        @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

        func run() async throws {
            let found = try await JourneyCommand.topics(self.broker).read(nil)
            let table = JourneyTable.journeys(found.compactMapValues(\.withJourney), now: TimeText.now)
            try Output.print(table.text(limit: Terminal.tableWidth))
        }
    }
}
