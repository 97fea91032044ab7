import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingRules
import TrackingHistory

/// `godwit rule`: adds, lists and removes rules, the conditions under which a gateway publishes events, such as
/// entering an area.
struct RuleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rule", abstract: "Add, list and remove rules: the conditions that raise events.",
        discussion: """
            When its condition is met, a rule raises an event of the trackable: on its event topic, in live streams \
            and for webhooks. A gateway that runs with the same --state uses the change within a second.

            Example:
              godwit rule add at-depot --enter depot
            """,
        subcommands: [Add.self, List.self, Remove.self])
}

extension RuleCommand {
    /// `godwit rule add NAME`: adds a rule with one condition to the gateway's data. A rule of the same name is
    /// replaced. Warns about each named trackable that is not known.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a rule: a condition, and the trackables for which it is checked.",
            discussion: """
                Give one of --enter, --leave, --dwell, --arrived, --silent, --speed-above and --low-battery. A rule of \
                the same name is replaced, and the new one is checked from the beginning. A trackable of which no \
                position was recorded gets a warning.

                Example:
                  godwit rule add waiting --dwell depot --time 10m --trackable van-7
                """)

        @Argument(help: "The name of the rule: 1 to 64 bytes.")
        var name: String

        @Option(help: ArgumentHelp("Raise an event when a trackable enters this fence.", valueName: "fence"))
        var enter: String?

        @Option(help: ArgumentHelp("Raise an event when a trackable leaves this fence.", valueName: "fence"))
        var leave: String?

        @Option(
            help: ArgumentHelp(
                "Raise an event when a trackable has stayed in this fence for --time.", valueName: "fence"))
        var dwell: String?

        @Option(
            name: .customLong("time"),
            help: ArgumentHelp("Set the time of --dwell, 1 s to 30 days, as 10m or 2h.", valueName: "span"))
        var time: String?

        @Flag(help: "Raise an event when the publisher reports that a trackable is near its destination.")
        var arrived = false

        @Option(
            help: ArgumentHelp(
                "Raise an event when no position of a trackable has arrived for this time, 1 s to 30 days, as 10m or 2h.",
                valueName: "span"))
        var silent: String?

        @Option(
            help: ArgumentHelp("Raise an event when a trackable is faster than this speed.", valueName: "m/s"))
        var speedAbove: Double?

        @Option(
            help: ArgumentHelp(
                "Raise an event when the battery of a trackable falls below this charge.", valueName: "percent"))
        var lowBattery: Double?

        @Option(
            name: .customLong("trackable"),
            help: ArgumentHelp(
                "Check the rule for this trackable. Repeatable. Default: for every trackable, unless --group is given.",
                valueName: "id"),
            transform: TrackableID.checked)
        var trackables: [TrackableID] = []

        @Option(
            name: .customLong("group"),
            help: ArgumentHelp("Check the rule for the trackables of this group. Repeatable.", valueName: "group"))
        var groups: [String] = []

        @OptionGroup var state: StateOptions
        @OptionGroup var store: StoreOptions
        @OptionGroup var file: FileOptions

        func validate() throws { _ = try self.definition() }

        func run() async throws {
            let definition = try self.definition()
            _ = try await self.state.useRules { try await $0.add(definition) }
            let known = KnownTrackables(state: self.state, store: self.store)
            for id in self.trackables { await known.warn(about: id) }
        }

        private func definition() throws -> RuleDefinition {
            let conditions = try self.conditions()
            guard conditions.count == 1, (self.dwell == nil) == (self.time == nil) else {
                throw ValidationError(
                    "a rule needs one condition: --enter, --leave, --dwell with --time, --arrived, --silent, --speed-above or --low-battery"
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

    /// `godwit rule list`: prints all rules in the gateway's data, as a table or as one JSON object a line. Warns about
    /// each rule that the gateway does not apply.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the rules.",
            discussion: """
                Example:
                  godwit rule list
                """)

        @Option(help: ArgumentHelp("Print text, or json: one object a line.", valueName: "format"))
        var format = ListFormat.text

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            let (rules, unusable) = try await self.state.useRules {
                (try await $0.definitions(), try await $0.unusableRules())
            }
            try Output.print(RuleTable(rules).text(self.format))
            for rule in unusable { Program.note(RuleTable.warning(about: rule)) }
        }
    }

    /// `godwit rule remove NAME`: removes a rule from the gateway's data. The exit code is 1 if there is no rule of
    /// this name.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a rule.",
            discussion: """
                Exit code 1: there is no rule of this name.

                Example:
                  godwit rule remove at-depot
                """)

        @Argument(help: "The name of the rule.")
        var name: String

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            guard try await self.state.useRules({ try await $0.removeRule(self.name) }) else {
                Program.complain(
                    "cannot remove rule '\(self.name.printable)': there is no rule of this name. List the rules with godwit rule list"
                )
                throw ExitCode(1)
            }
        }
    }
}
