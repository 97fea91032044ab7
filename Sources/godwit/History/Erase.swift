import ArgumentParser
import GodwitOptions
import Logging
import TrackingCore
import TrackingHistory
import TrackingStore

/// `godwit erase`: forgets a trackable, in the history and at the broker.
struct Erase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Erase what is recorded of a trackable, and what the broker keeps of it.",
        discussion: """
            Points, trips, events, states and what was set aside; of an earlier time than --before, or all of it. What is of an \
            erased time and comes later is not taken. Then the messages that the broker retains, and the files of a gateway in \
            --state. It asks first. Exit code 69 where the broker could not be reached, and 1 where a file, a table or the broker \
            may still have something of it, each with a line "not erased": then erase again. broker/add-eraser makes a user of the \
            broker with the rights that it takes.
            """)

    @Argument(help: "Which.", transform: TrackableID.checked)
    var id: TrackableID

    @Option(
        help: ArgumentHelp(
            "Only what is of an earlier time: RFC 3339 (2026-05-04T09:30:00Z), or how long ago (90d, 2h).",
            valueName: "time"))
    var before: String?

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var state: StateOptions
    @OptionGroup var broker: BrokerOptions
    @OptionGroup var store: StoreOptions

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
            try Terminal.confirm(
                "Erase \(what ?? "everything of \(self.id.rawValue.printable)") for good?", isYes: self.yes)
            let report = try await StorePatience.trying([.storeBusy]) { () throws(TrackingError) in
                try await store.erase(self.id, before: before, now: now)
            }
            // An output that takes nothing is no reason to leave out the rest.
            writes.append(Output.writeAll(Self.text(report)))
            return report
        }
        var (remains, failure) = (report.remains, TrackingError?.none)
        do throws(TrackingError) {
            let outcome = try await KeptMessages(of: self.id, before: before, root: root).clear(with: client)
            remains += outcome.remains
            writes.append(Output.writeAll(Self.text(outcome)))
        } catch {
            Program.complain("what the broker keeps could not be cleared, erase again: \(error.message)")
            failure = error
        }
        // Behind the broker: a gateway that runs forgets the position first, and writes nothing of it any more.
        let files = await GatewayFiles(state: self.state).erase(self.id, before: before, now: now)
        writes.append(Output.writeAll(files.map { "not erased: \($0)\n" }.joined()))
        if let failure { throw failure.exitCode }
        for result in writes { try result.get() }
        if !remains.isEmpty || !files.isEmpty { throw ExitCode(1) }
    }

    private func limit(now: UnixTime) throws -> UnixTime? {
        guard let text = self.before else { return nil }
        let limit = try checked { () throws(TrackingError) in try HistoryTime.moment(text, now: now) }
        guard limit <= now else {
            throw ValidationError(
                "--before must not be in the future: what came until then would be erased as well; '\(text)' is")
        }
        return limit
    }

    /// The topics of the broker that were cleared, and those that are not proven to be.
    static func text(_ outcome: KeptMessages.Outcome) -> String {
        outcome.remains.map { "not erased: \($0)\n" }.joined()
            + "broker: \(counted(outcome.cleared, "topic")) cleared\n"
    }

    /// What was erased, and what remains.
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
