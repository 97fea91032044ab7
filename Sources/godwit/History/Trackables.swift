import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingStore

/// `godwit trackables`: what something is stored of, and what it is called.
struct Trackables: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the trackables of which something is stored, or name them.",
        discussion: "godwit trackables is short for godwit trackables list.",
        subcommands: [List.self, Set.self], defaultSubcommand: List.self)
}

extension Trackables {
    /// `godwit trackables set ID name=… icon=… group=…`.
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Name a trackable, give it an icon, put it into groups: the map and the API show it.",
            discussion: """
                name=Van 7, icon=🚐 (at most four characters, which the map draws), group=north (adds it to the group; group=-north takes it out, group= out of \
                all). An empty value clears it. Shows what holds then.
                """)

        @Argument(help: "Which trackable.", transform: TrackableID.checked)
        var id: TrackableID

        @Argument(help: ArgumentHelp("name=…, icon=… or group=…", valueName: "assignment"))
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
    /// `godwit trackables list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the trackables of which something is stored.",
            discussion:
                "Each with the time of its first point, that of its last position, and the number of its streams.")

        @Option(help: ArgumentHelp("text, or json: an object a line.", valueName: "format"))
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
