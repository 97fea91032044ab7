import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingHistory
import TrackingRules

/// `godwit audit`: lists the changes to a gateway's data, with the person, the time and the address.
struct Audit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List who changed fences, rules, names, tokens and share links, and when.",
        discussion: """
            Each line has the time, the token with its number (or command line), the address of the client, the change \
            and its object. Columns that do not fit into the terminal are omitted. The last 100,000 changes are kept.

            Example:
              godwit audit --last 7d
            """)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("List the changes of this time before now, as 24h or 7d.", valueName: "span"))
    var last: String?

    @Option(help: ArgumentHelp("Print text, or json: one object a line.", valueName: "format"))
    var format = ListFormat.text

    @OptionGroup var state: StateOptions
    @OptionGroup var file: FileOptions

    private static let page = 1000

    func validate() throws { _ = try self.since(TimeText.now) }

    func run() async throws {
        let since = try self.since(TimeText.now)
        var table = TextTable([
            .value("time", .left), .text("by", cutTo: 12), .value("address", .left, omission: 1),
            .value("change", .left), .text("object", cutTo: 16),
        ])
        try await self.state.useAudit { audit in
            var number: Int64 = 0
            while true {
                let page = try await audit.entries(since: since, after: number, limit: Self.page)
                switch self.format {
                case .text: for entry in page { table.append(entry.cells) }
                case .json: try Output.print(page.map(\.json).joined())
                }
                guard page.count == Self.page, let last = page.last else { return }
                number = last.number
            }
        }
        try Output.print(table.text(limit: Terminal.tableWidth))
    }

    private func since(_ now: UnixTime) throws -> UnixTime? {
        guard let last = self.last else { return nil }
        return try checked { () throws(TrackingError) in now.advanced(by: .zero - (try HistoryTime.span(last))) }
    }
}

extension AuditLog.Entry {
    /// The cells of the row for this change in the table of `godwit audit`: time, person, address, kind of change and
    /// changed object.
    fileprivate var cells: [String] {
        let token = self.actor.token.map { " (token \($0))" } ?? ""
        return [
            TimeText.localDate(self.time), "\(self.actor.name)\(token)", self.actor.address ?? TextTable.none,
            self.action, self.object,
        ]
    }

    /// The change as one line of JSON in the output of `godwit audit`, with its line end.
    fileprivate var json: String {
        var members: [String: JSONValue] = [
            "time": .number(self.time.seconds), "name": .text(self.actor.name), "action": .text(self.action),
            "object": .text(self.object),
        ]
        members["token"] = self.actor.token.map { .number(Double($0)) }
        members["address"] = self.actor.address.map { .text($0) }
        return String(decoding: JSONValue.object(members).json, as: UTF8.self).printableJSON + "\n"
    }
}
