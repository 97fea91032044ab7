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
        discussion: "godwit trackables is short for godwit trackables list.",
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
                result.
                """)

        @Argument(help: "The id of the trackable.", transform: TrackableID.checked)
        var id: TrackableID

        @Argument(help: ArgumentHelp("The settings: name=…, icon=… or group=….", valueName: "assignment"))
        var assignments: [String]

        @OptionGroup var state: StateOptions
        @OptionGroup var file: FileOptions

        func run() async throws {
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
            discussion:
                "Each line has the time of the first point, that of the last position, and the number of streams.")

        @Option(help: ArgumentHelp("Print text, or json: one object a line.", valueName: "format"))
        var format = ListFormat.text

        @OptionGroup var store: StoreOptions
        @OptionGroup var file: FileOptions

        private static let page = 1000

        func run() async throws {
            let file = try OutputFile(nil)
            try await self.store.use { store in
                var last: TrackableID?
                while true {
                    let page = try await store.trackables(after: last, limit: Self.page)
                    for summary in page { try file.write(Array(self.line(summary).utf8)) }
                    last = page.last?.id
                    guard page.count == Self.page else { return }
                }
            }
            try file.finish()
        }

        private func line(_ summary: TrackableSummary) -> String {
            switch self.format {
            case .text:
                let times = [summary.first, summary.last].map { $0.map(TimeText.rfc3339) ?? "–" }
                return
                    "\(summary.id.rawValue.printable)  \(times[0])  \(times[1])  \(counted(summary.streams, "stream"))\n"
            case .json:
                var members: [String: JSONValue] = [
                    "trackable": .text(summary.id.rawValue), "streams": .number(Double(summary.streams)),
                ]
                members["first"] = summary.first.map { .number($0.seconds) }
                members["last"] = summary.last.map { .number($0.seconds) }
                return String(decoding: JSONValue.object(members).json, as: UTF8.self).printableJSON + "\n"
            }
        }
    }
}
