import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingRules
import TrackingStore

/// `godwit trackables`: lists the trackables in the history, or gives them names, icons and groups.
struct Trackables: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the stored trackables, or name them.",
        discussion: """
            godwit trackables is short for godwit trackables list.

            Example:
              godwit trackables
            """,
        subcommands: [List.self, Set.self], defaultSubcommand: List.self)
}

extension Trackables {
    /// `godwit trackables set ID name=… icon=… group=…`: sets the name, the icon and the groups of a trackable.
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Set the name, the icon and the groups of a trackable, as the map and the API show them.",
            discussion: """
                name=Van 7, icon=🚐 (at most four characters, drawn on the map), group=north (adds the group; \
                group=-north removes it, group= removes all). An empty value clears a setting. The command prints the \
                result. A trackable of which no position was recorded gets a warning.

                Example:
                  godwit trackables set van-7 icon=🚐 group=north
                """)

        @Argument(help: "The id of the trackable.", transform: TrackableID.checked)
        var id: TrackableID

        @Argument(help: ArgumentHelp("The settings: name=…, icon=… or group=….", valueName: "assignment"))
        var assignments: [String]

        @OptionGroup var state: StateOptions
        @OptionGroup var store: StoreOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
            // A label makes a trackable known, so the check precedes it.
            await KnownTrackables(state: self.state, store: self.store).warn(about: self.id)
            let label = try await self.state.useRules { try await $0.setLabel(of: self.id, self.assignments) }
            try Output.print(String(decoding: label.json.json, as: UTF8.self).printableJSON + "\n")
        }
    }
}

extension Trackables {
    /// `godwit trackables list`: prints the trackables in the history.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the stored trackables.",
            discussion: """
                Each line has the age and the time of the last position, the time of the first point, and the number \
                of streams. Columns that do not fit into the terminal are omitted.

                Example:
                  godwit trackables list --format json
                """)

        @Option(help: ArgumentHelp("Print text, or json: one object a line.", valueName: "format"))
        var format = ListFormat.text

        @OptionGroup var store: StoreOptions
        @OptionGroup var file: FileOptions

        private static let page = 1000

        func run() async throws {
            let file = try OutputFile(nil)
            var table = TextTable([
                .text("trackable", cutTo: 16), .value("age"), .value("last position", .left, omission: 3),
                .value("first point", .left, omission: 2), .value("streams", omission: 1),
            ])
            let now = TimeText.now
            try await self.store.use { store in
                var last: TrackableID?
                while true {
                    let page = try await store.trackables(after: last, limit: Self.page)
                    for summary in page {
                        switch self.format {
                        case .text: table.append(Self.cells(summary, now: now))
                        case .json: try file.write(Array(Self.json(summary).utf8))
                        }
                    }
                    last = page.last?.id
                    guard page.count == Self.page else { return }
                }
            }
            try file.write(Array(table.text(limit: Terminal.tableWidth).utf8))
            try file.finish()
        }

        private static func cells(_ summary: TrackableSummary, now: UnixTime) -> [String] {
            let times = [summary.last, summary.first].map { $0.map(TimeText.localDate) ?? TextTable.none }
            let age = summary.last.map { AgeText.text(now.since($0).inSeconds) } ?? TextTable.none
            return [summary.id.rawValue, age] + times + [String(summary.streams)]
        }

        private static func json(_ summary: TrackableSummary) -> String {
            var members: [String: JSONValue] = [
                "trackable": .text(summary.id.rawValue), "streams": .number(Double(summary.streams)),
            ]
            members["first"] = summary.first.map { .number($0.seconds) }
            members["last"] = summary.last.map { .number($0.seconds) }
            return String(decoding: JSONValue.object(members).json, as: UTF8.self).printableJSON + "\n"
        }
    }
}
