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
            erased time and comes later is not taken. Then the messages that the broker keeps for those who come later. It \
            asks first. Exit code 69 where the broker could not be reached, and 1 where a file or a table still has something of \
            it, which is said: then erase again.
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
        let (report, told) = try await self.store.use(mayChange: true) { store in
            try Terminal.confirm(
                "Erase \(what ?? "everything of \(self.id.rawValue.printable)") for good?", isYes: self.yes)
            let report = try await StorePatience.trying([.storeBusy]) { () throws(TrackingError) in
                try await store.erase(self.id, before: before, now: now)
            }
            // Where nobody can read it, the rest is done all the same.
            return (report, Output.writeAll(Self.text(report)))
        }
        let cleared: Int
        do throws(TrackingError) {
            cleared = try await KeptMessages(of: self.id, before: before, root: root).clear(with: client)
        } catch {
            Program.complain("what the broker keeps could not be cleared, erase again: \(error.message)")
            throw error.exitCode
        }
        try told.get()
        try Output.print("broker: \(counted(cleared, "kept message")) cleared\n")
        if !report.remains.isEmpty { throw ExitCode(1) }
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
