import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore

/// `godwit-agent queue`: shows, exports or discards the records in the device's log that are not acknowledged yet.
struct Queue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show, export or discard the unsent records: those in the log that are not acknowledged yet.",
        discussion: """
            Example:
              godwit-agent queue list --limit 10
            """,
        subcommands: [List.self, Export.self, Purge.self])

    /// `godwit-agent queue list`: lists records that are not acknowledged yet, oldest first.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the unsent records, oldest first.",
            discussion: """
                Example:
                  godwit-agent queue list --limit 10
                """)

        @Option(help: ArgumentHelp("List at most this many records, 1 to 200.", valueName: "n"))
        var limit = 50

        @OptionGroup var agent: SocketOptions

        func run() async throws {
            try RecordList.print(await self.agent.ask(.queueList, ["limit": .number(Double(self.limit))]))
        }
    }

    /// `godwit-agent queue export FILE`: writes all records that are not acknowledged yet to a file. They remain in the
    /// log.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write all unsent records to a file, one JSON object a line. The log keeps them.",
            discussion: """
                Example:
                  godwit-agent queue export records.jsonl
                """)

        @Argument(help: "The file to write; - for standard output.")
        var file: String

        @OptionGroup var agent: SocketOptions

        func run() async throws {
            let client = try self.agent.connect()
            let output = try OutputFile(self.file)
            let result = try await client.ask(.queueExport, within: nil) { line in
                guard case .item(_, let item) = line else { return }
                try output.write(Array(RecordList.line(item).utf8))
            }
            try output.finish()
            guard !output.isStandardOutput else { return }
            try Output.print("\(counted(result["records"]?.count ?? 0, "record")) written\n")
        }
    }

    /// `godwit-agent queue purge`: discards all records that are not acknowledged yet, after a confirmation.
    struct Purge: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Discard all unsent records.",
            discussion: """
                Discarded records cannot be recovered.

                Example:
                  godwit-agent queue purge
                """)

        @Flag(help: "Do not ask for confirmation.")
        var yes = false

        @OptionGroup var agent: SocketOptions

        func run() async throws {
            let status = try AgentStatus(members: await self.agent.connect().status())
            let queue = status.queue
            let count = queue.points + queue.trips + queue.events
            try Terminal.confirm("Discard \(counted(count, "unsent record"))?", isYes: self.yes)
            let gone = try await self.agent.ask(.queuePurge)["records"]?.count ?? 0
            try Output.print("\(counted(gone, "record")) discarded\n")
        }
    }
}

/// `godwit-agent quarantine`: shows, sends again or discards quarantined records, those that were rejected for good.
struct Quarantine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show, send again or discard quarantined records: those that were rejected for good.",
        discussion: """
            Example:
              godwit-agent quarantine list
            """,
        subcommands: [List.self, Retry.self, Drop.self])

    /// The quarantined records that a command applies to: those named on the command line, or all of them.
    struct Which: ParsableArguments {
        @Argument(help: "The records as STREAM:SEQ, as 'quarantine list' shows them. Default: all.")
        var records: [String] = []

        @OptionGroup var agent: SocketOptions

        func ask(_ name: Command.Name) async throws -> Int {
            if let wrong = self.records.first(where: { RecordName($0) == nil }) {
                throw ValidationError(
                    "a record must be given as STREAM:SEQ, as 'quarantine list' shows it, not '\(wrong)'")
            }
            let names: [String: JSONValue] =
                self.records.isEmpty ? [:] : ["records": .list(self.records.map { .text($0) })]
            return try await self.agent.ask(name, names)["records"]?.count ?? 0
        }
    }

    /// `godwit-agent quarantine list`: lists quarantined records with their reasons, oldest first.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the quarantined records with their reasons, oldest first.",
            discussion: """
                Example:
                  godwit-agent quarantine list
                """)

        @Option(help: ArgumentHelp("List at most this many records, 1 to 200.", valueName: "n"))
        var limit = 50

        @OptionGroup var agent: SocketOptions

        func run() async throws {
            try RecordList.print(await self.agent.ask(.quarantineList, ["limit": .number(Double(self.limit))]))
        }
    }

    /// `godwit-agent quarantine retry`: queues quarantined records for sending again, with new sequence numbers.
    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Queue quarantined records for sending again, with new sequence numbers.",
            discussion: """
                Example:
                  godwit-agent quarantine retry
                """)
        @OptionGroup var which: Which

        func run() async throws {
            try Output.print(
                "\(counted(await self.which.ask(.quarantineRetry), "record")) queued again with new sequence numbers\n")
        }
    }

    /// `godwit-agent quarantine drop`: discards quarantined records for good, after a confirmation.
    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Discard quarantined records.",
            discussion: """
                Example:
                  godwit-agent quarantine drop
                """)

        @Flag(help: "Do not ask for confirmation.")
        var yes = false

        @OptionGroup var which: Which

        func run() async throws {
            let records =
                self.which.records.isEmpty
                ? "all quarantined records" : counted(self.which.records.count, "quarantined record")
            try Terminal.confirm("Discard \(records)?", isYes: self.yes)
            try Output.print("\(counted(await self.which.ask(.quarantineDrop), "record")) discarded\n")
        }
    }
}

/// Converts the agent's lists of records to text.
enum RecordList {
    /// Prints one line for each record that the agent's answer to `queue list` or `quarantine list` contains.
    static func print(_ result: [String: JSONValue]) throws {
        for record in result["records"]?.list ?? [] { try Output.print(self.text(record) + "\n") }
    }

    /// Returns one line of text for people about a pending or quarantined record: time, trackable, stream and number,
    /// kind, size in bytes, and the reason if the record is quarantined.
    static func text(_ record: JSONValue) -> String {
        var parts = [
            record["time"]?.number.map { TimeText.rfc3339(UnixTime($0)) } ?? "", record["trackable"]?.text ?? "",
            "\(record["stream"]?.text ?? ""):\(record["seq"]?.count ?? 0)", record["kind"]?.text ?? "",
            record["bytes"]?.count.map { "\($0) B" } ?? "",
        ]
        if let reason = record["reason"]?.text { parts.append(reason) }
        return StatusText.plain(parts.joined(separator: "  "))
    }

    /// Returns one line of JSON for programs about a pending record. The record's own JSON is copied unchanged into the
    /// member `record`.
    static func line(_ item: JSONValue) -> String {
        var members = item.object ?? [:]
        let record = members.removeValue(forKey: "record")?.text ?? "{}"
        return String(decoding: JSONValue.object(members).json.dropLast(), as: UTF8.self) + ",\"record\":\(record)}\n"
    }
}
