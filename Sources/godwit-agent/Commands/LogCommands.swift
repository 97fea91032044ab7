import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore

/// `godwit-agent queue`.
struct Queue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show, hand over or forget what waits to be sent.",
        subcommands: [List.self, Export.self, Purge.self])

    /// `godwit-agent queue list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the records that wait, oldest first.")

        @Option(help: ArgumentHelp("How many at the most; 1 to 200.", valueName: "n"))
        var limit = 50

        @OptionGroup var agent: SocketOptions

        func run() async throws {
            try RecordList.print(await self.agent.ask(.queueList, ["limit": .number(Double(self.limit))]))
        }
    }

    /// `godwit-agent queue export FILE`.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write every record that waits to a file, one JSON object a line; nothing is removed.")

        @Argument(help: "The file; - is standard output.")
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

    /// `godwit-agent queue purge`.
    struct Purge: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget every record that waits.", discussion: "What is forgotten cannot be brought back.")

        @Flag(help: "Do not ask.")
        var yes = false

        @OptionGroup var agent: SocketOptions

        func run() async throws {
            let status = try AgentStatus(members: await self.agent.connect().status())
            let queue = status.queue
            let count = queue.points + queue.trips + queue.events
            try Terminal.confirm("Forget \(counted(count, "record")) that nobody has yet?", isYes: self.yes)
            let gone = try await self.agent.ask(.queuePurge)["records"]?.count ?? 0
            try Output.print("\(counted(gone, "record")) forgotten\n")
        }
    }
}

/// `godwit-agent quarantine`.
struct Quarantine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show, try again or forget records that were refused for good.",
        subcommands: [List.self, Retry.self, Drop.self])

    /// Which records.
    struct Which: ParsableArguments {
        @Argument(help: "Records as the list names them, STREAM:SEQ; all where none is named.")
        var records: [String] = []

        @OptionGroup var agent: SocketOptions

        func ask(_ name: Command.Name) async throws -> Int {
            if let wrong = self.records.first(where: { RecordName($0) == nil }) {
                throw ValidationError("a record is named STREAM:SEQ, not '\(wrong)'")
            }
            let names: [String: JSONValue] =
                self.records.isEmpty ? [:] : ["records": .list(self.records.map { .text($0) })]
            return try await self.agent.ask(name, names)["records"]?.count ?? 0
        }
    }

    /// `godwit-agent quarantine list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List them with the reason, oldest first.")

        @Option(help: ArgumentHelp("How many at the most; 1 to 200.", valueName: "n"))
        var limit = 50

        @OptionGroup var agent: SocketOptions

        func run() async throws {
            try RecordList.print(await self.agent.ask(.quarantineList, ["limit": .number(Double(self.limit))]))
        }
    }

    /// `godwit-agent quarantine retry`.
    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Put records back in line.")
        @OptionGroup var which: Which

        func run() async throws {
            try Output.print(
                "\(counted(await self.which.ask(.quarantineRetry), "record")) back in line, newly numbered\n")
        }
    }

    /// `godwit-agent quarantine drop`.
    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Forget records.")

        @Flag(help: "Do not ask.")
        var yes = false

        @OptionGroup var which: Which

        func run() async throws {
            let what = self.which.records.isEmpty ? "every quarantined record" : "\(self.which.records.count) of them"
            try Terminal.confirm("Forget \(what)?", isYes: self.yes)
            try Output.print("\(counted(await self.which.ask(.quarantineDrop), "record")) forgotten\n")
        }
    }
}

/// Records as lines.
enum RecordList {
    /// Prints a list, a line a record.
    static func print(_ result: [String: JSONValue]) throws {
        for record in result["records"]?.list ?? [] { try Output.print(self.text(record) + "\n") }
    }

    /// A record for people: when, whose, its name, what it is.
    static func text(_ record: JSONValue) -> String {
        var parts = [
            record["time"]?.number.map { TimeText.rfc3339(UnixTime($0)) } ?? "", record["trackable"]?.text ?? "",
            "\(record["stream"]?.text ?? ""):\(record["seq"]?.count ?? 0)", record["kind"]?.text ?? "",
            record["bytes"]?.count.map { "\($0) B" } ?? "",
        ]
        if let reason = record["reason"]?.text { parts.append(reason) }
        return StatusText.plain(parts.joined(separator: "  "))
    }

    /// A record for programs: what is in it stands as it was written.
    static func line(_ item: JSONValue) -> String {
        var members = item.object ?? [:]
        let record = members.removeValue(forKey: "record")?.text ?? "{}"
        return String(decoding: JSONValue.object(members).json.dropLast(), as: UTF8.self) + ",\"record\":\(record)}\n"
    }
}
