import ArgumentParser
import GodwitOptions
import Logging
import TrackingCore
import TrackingHistory
import TrackingStore

/// `godwit erase`: erases the records of a trackable, all or those before a time, from the history, the broker and a
/// gateway's files.
struct Erase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Erase a trackable from the history, the broker and a gateway's files.",
        usage: "godwit erase [<options>] <id>",
        discussion: """
            The command asks first. It erases points, trips, events, states and quarantined messages: all of them, or \
            those before --before. Records of an erased time that arrive later are discarded. Then it clears the \
            messages that the broker retains, and erases the files of a gateway in --state. Each remainder is printed \
            as "not erased": erase again. Exit codes: 69 the broker cannot be reached, 1 something may remain. \
            broker/add-eraser creates a user of the broker with the necessary rights.

            Example:
              godwit erase van-7 --before 90d
            """)

    @Argument(help: "The id of the trackable.", transform: TrackableID.checked)
    var id: TrackableID

    @Option(
        help: ArgumentHelp(
            "Erase only records before this time: RFC 3339 (2026-05-04T09:30:00Z), or how long ago (90d, 2h).",
            valueName: "time"))
    var before: String?

    @Flag(help: "Erase without asking for confirmation.")
    var yes = false

    @OptionGroup(title: "Gateway data") var state: StateOptions
    @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions
    @OptionGroup(title: "History") var store: StoreOptions

    func validate() throws { _ = try self.limit(now: TimeText.now) }

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        let now = TimeText.now
        let before = try self.limit(now: now)
        let client = try self.broker.client(try self.broker.identity())
        let root = try TopicRoot(self.broker.topicRoot)
        let what = before.map { "everything of \(self.id.rawValue.printable) before \(TimeText.rfc3339($0))" }
        var writes: [Result<Void, any Error>] = []
        let report = try await self.store.use(mayChange: true) { store in
            let doubt = try await self.doubt(store)
            if self.yes, let doubt { Program.note("\(doubt)\n") }
            let question = "Erase \(what ?? "everything of \(self.id.rawValue.printable)") for good?"
            try Terminal.confirm([doubt, question].compactMap(\.self).joined(separator: " "), isYes: self.yes)
            let report = try await StorePatience.trying([.storeBusy]) { () throws(TrackingError) in
                try await store.erase(self.id, before: before, now: now)
            }
            // A closed output must not prevent the remaining steps.
            writes.append(Output.writeAll(Self.text(report)))
            return report
        }
        var (remains, failure) = (report.remains, TrackingError?.none)
        do throws(TrackingError) {
            let outcome = try await KeptMessages(of: self.id, before: before, root: root).clear(with: client)
            remains += outcome.remains
            writes.append(Output.writeAll(Self.text(outcome)))
        } catch {
            Program.complain("cannot clear the broker's retained messages: \(error.message). Erase again")
            failure = error
        }
        // The files are erased after the messages of the broker. A running gateway has then forgotten the position, and
        // writes no more of it.
        let files = await GatewayFiles(state: self.state).erase(self.id, before: before, now: now)
        writes.append(Output.writeAll(files.map { "not erased: \($0)\n" }.joined()))
        if let failure { throw failure.exitCode }
        for result in writes { try result.get() }
        if !remains.isEmpty || !files.isEmpty { throw ExitCode(1) }
    }

    /// Returns a warning that the history has no record of the trackable, with the question "Did you mean …?" and
    /// similar names of stored trackables. Returns `nil` if the history has a record of it, or if no stored trackable
    /// has a similar name.
    private func doubt(_ store: any HistoryStore) async throws -> String? {
        guard try await isNothingStored(of: self.id, in: store) else { return nil }
        return try await store.nearestNames(to: self.id).question.map { question in
            "Nothing is stored of \(self.id.rawValue.printable) in the history. \(question.printable)"
        }
    }

    private func limit(now: UnixTime) throws -> UnixTime? {
        guard let text = self.before else { return nil }
        let limit = try checked { () throws(TrackingError) in try HistoryTime.moment(text, now: now) }
        guard limit <= now else {
            throw ValidationError(
                "--before must not be in the future, not '\(text)': later records would be erased as well")
        }
        return limit
    }

    /// Returns the result of clearing retained messages at the broker as text for people: the number of cleared topics,
    /// and one line for each topic whose clearing is not proven.
    static func text(_ outcome: KeptMessages.Outcome) -> String {
        outcome.remains.map { "not erased: \($0)\n" }.joined()
            + "broker: \(counted(outcome.cleared, "topic")) cleared\n"
    }

    /// Returns the result of erasing records from the history as text for people: the numbers of erased records, and
    /// one line for each place that still contains, or may still contain, erased data.
    static func text(_ report: EraseReport) -> String {
        let counts = [
            counted(report.points, "point"), counted(report.trips, "trip"), counted(report.events, "event"),
            counted(report.states, "state"), counted(report.quarantined, "message") + " that were set aside",
        ]
        let lines =
            ["erased: \(counts.joined(separator: ", "))"] + report.remains.map { "not erased: \($0)" }
            + report.elsewhere.map { "elsewhere: \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }
}
