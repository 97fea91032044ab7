import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingHistory

/// `godwit rule`: what operators are told of.
struct RuleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rule", abstract: "Add, list and remove what operators are told of.",
        discussion: """
            What a rule finds is an event of the trackable: on its event topic, in live streams and for webhooks. A gateway that runs \
            on the same folder takes note within a second.
            """,
        subcommands: [Add.self, List.self, Remove.self])
}

extension RuleCommand {
    /// `godwit rule add NAME`.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a rule: what it watches for, and of which trackables.",
            discussion:
                "Exactly one of --enter to --low-battery says what. One of the same name is replaced, and begins anew.")

        @Argument(help: "Its name: 1 to 64 bytes.")
        var name: String

        @Option(help: ArgumentHelp("Told when a trackable comes into this fence.", valueName: "fence"))
        var enter: String?

        @Option(help: ArgumentHelp("Told when a trackable leaves this fence.", valueName: "fence"))
        var leave: String?

        @Option(help: ArgumentHelp("Told when a trackable has been in this fence for --time.", valueName: "fence"))
        var dwell: String?

        @Option(
            name: .customLong("time"),
            help: ArgumentHelp("How long, with --dwell: 10m, 2h …; 1 s to 30 days.", valueName: "span"))
        var time: String?

        @Flag(help: "Told when a trackable comes near its destination, as its publisher says.")
        var arrived = false

        @Option(
            help: ArgumentHelp("Told when no position came for so long: 10m, 2h …; 1 s to 30 days.", valueName: "span"))
        var silent: String?

        @Option(
            help: ArgumentHelp("Told when a trackable is faster than so many metres a second.", valueName: "m/s"))
        var speedAbove: Double?

        @Option(help: ArgumentHelp("Told when the battery sinks below so many percent.", valueName: "percent"))
        var lowBattery: Double?

        @Option(
            name: .customLong("trackable"),
            help: ArgumentHelp(
                "For this trackable; can be repeated. Without --trackable and --group for all.", valueName: "id"),
            transform: TrackableID.checked)
        var trackables: [TrackableID] = []

        @Option(
            name: .customLong("group"),
            help: ArgumentHelp("For the trackables of this group; can be repeated.", valueName: "group"))
        var groups: [String] = []

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func validate() throws { _ = try self.definition() }

        func run() async throws {
            let definition = try self.definition()
            try await self.state.useRules { try await $0.add(definition) }
        }

        private func definition() throws -> RuleDefinition {
            let conditions = try self.conditions()
            guard conditions.count == 1, (self.dwell == nil) == (self.time == nil) else {
                throw ValidationError(
                    "a rule is one of --enter, --leave, --dwell with --time, --arrived, --silent, --speed-above, --low-battery"
                )
            }
            return RuleDefinition(
                name: self.name, conditions[0], trackables: self.trackables, groups: self.groups)
        }

        private func conditions() throws -> [RuleDefinition.Condition] {
            try checked { () throws(TrackingError) in
                var conditions: [RuleDefinition.Condition] = []
                if let fence = self.enter { conditions.append(.enter(fence: fence)) }
                if let fence = self.leave { conditions.append(.leave(fence: fence)) }
                if let fence = self.dwell, let time = self.time {
                    conditions.append(.dwell(fence: fence, seconds: try HistoryTime.span(time).inSeconds))
                }
                if self.arrived { conditions.append(.arrived) }
                if let silent = self.silent {
                    conditions.append(.silent(seconds: try HistoryTime.span(silent).inSeconds))
                }
                if let limit = self.speedAbove { conditions.append(.speed(above: limit)) }
                if let limit = self.lowBattery { conditions.append(.lowBattery(below: limit)) }
                return conditions
            }
        }
    }

    /// `godwit rule list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the rules, each as an object a line: what godwit rule add made of it.")

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            for rule in try await self.state.useRules({ try await $0.definitions() }) {
                let members: [String: JSONValue] = ["name": .text(rule.name), "rule": rule.json]
                try Output.print(String(decoding: JSONValue.object(members).json, as: UTF8.self).printableJSON + "\n")
            }
        }
    }

    /// `godwit rule remove NAME`.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a rule.", discussion: "Exit code 1 where there is none of this name.")

        @Argument(help: "Its name.")
        var name: String

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            guard try await self.state.useRules({ try await $0.removeRule(self.name) }) else {
                Program.complain("there is no rule '\(self.name.printable)'")
                throw ExitCode(1)
            }
        }
    }
}
