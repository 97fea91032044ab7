public import ArgumentParser
import GodwitOptions
import TrackingCore
public import TrackingHistory
import TrackingStore

/// The options `--from`, `--to` and `--last` for a span of time in the history.
struct SpanOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Begin at this time: RFC 3339 (2026-05-04T09:30:00Z), now, or how long ago (90s, 10m, 2h, 3d, 1h30m).",
            valueName: "time"))
    var from: String?

    @Option(help: ArgumentHelp("End before this time, given in a form as for --from.", valueName: "time"))
    var to: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Begin this long ago, as 2h or 3d, in place of --from.", valueName: "span"))
    var last: String?

    func validate() throws {
        if self.from != nil, self.last != nil {
            throw ValidationError("--from and --last exclude each other. Leave one of them out")
        }
        _ = try self.times(now: TimeText.now)
    }

    /// Returns the time span that the options describe. It has no beginning or no end where the options give none. A
    /// relative time such as `2h` means that long before `now`.
    ///
    /// - Throws: `ValidationError` that names the invalid time, or if the beginning is not before the end.
    func times(now: UnixTime) throws -> TimeSpan {
        let times = try checked { () throws(TrackingError) in
            TimeSpan(
                from: try (self.from ?? self.last).map { (text) throws(TrackingError) in
                    if self.last != nil { _ = try HistoryTime.span(text) }
                    return try HistoryTime.moment(text, now: now)
                }, to: try self.to.map { (text) throws(TrackingError) in try HistoryTime.moment(text, now: now) })
        }
        if let from = times.from, let to = times.to, from >= to {
            throw ValidationError("the time of --from or --last must be earlier than the time of --to")
        }
        return times
    }
}

extension TrackableID {
    /// Parses the id of a trackable in an argument of a command.
    ///
    /// - Throws: `ValidationError` that names the rule for ids that the text breaks.
    static func checked(_ text: String) throws -> TrackableID {
        try godwit.checked { () throws(TrackingError) in try TrackableID(text) }
    }
}

extension GeoBox {
    /// Parses a box in the form `WEST,SOUTH,EAST,NORTH`, in degrees.
    ///
    /// - Throws: `ValidationError` that names the rule for boxes that the text breaks.
    static func checked(_ text: String) throws -> GeoBox {
        try godwit.checked { () throws(TrackingError) in try GeoBox(parsing: text) }
    }
}

extension HistoryFormat: ExpressibleByArgument {}

/// Runs `body`, and converts its `TrackingError` to the error for wrong usage of the command line.
///
/// - Throws: `ValidationError` with the error's message.
func checked<Value>(_ body: () throws(TrackingError) -> Value) throws -> Value {
    do throws(TrackingError) { return try body() } catch { throw ValidationError(error.message) }
}

/// Returns `true` if the history has no point, trip or event of a trackable.
func isNothingStored(of id: TrackableID, in store: any HistoryStore) async throws -> Bool {
    guard try await store.points(PointQuery(id), after: nil, limit: 1).points.isEmpty,
        try await store.trips(of: id, during: .all, after: nil, limit: 1).isEmpty
    else { return false }
    return try await store.events(of: id, during: .all, after: nil, limit: 1).isEmpty
}

/// Ends a command with a message that the history has no record of a trackable, and with exit code 1. The message
/// contains the most similar names of stored trackables.
///
/// - Throws: Exit code 1, or the error of reading the history.
func nothingIsStored(of id: TrackableID, in store: any HistoryStore) async throws -> Never {
    Program.complain(
        [
            "the history has no record of \(id.rawValue.printable).",
            try await store.nearestNames(to: id).question,
            "List the stored trackables with godwit trackables",
        ].compactMap(\.self).joined(separator: " "))
    throw ExitCode(1)
}

extension HistoryStore {
    /// Returns the names of stored trackables that are most similar to a name. At most 100,000 names are compared.
    ///
    /// - Throws: `storeFailed`.
    func nearestNames(to id: TrackableID) async throws(TrackingError) -> NearestNames {
        var nearest = NearestNames(to: id.rawValue)
        var last: TrackableID?
        for _ in 0..<100 {
            let page = try await self.trackables(after: last, limit: 1000)
            // An erased trackable keeps its name and its streams, and must not be suggested in place of itself.
            for summary in page where summary.isRecorded && summary.id != id { nearest.consider(summary.id.rawValue) }
            last = page.last?.id
            guard page.count == 1000 else { break }
        }
        return nearest
    }
}

extension TrackableSummary {
    /// `true` if a record of the trackable is stored. `false` for a trackable of which only states are known, as after
    /// `godwit watch` with a misspelt id.
    var isRecorded: Bool { self.first != nil || self.last != nil || self.streams > 0 }
}

/// The output formats of commands that print lists.
enum ListFormat: String, ExpressibleByArgument, CaseIterable {
    /// The command prints its list as a table or lines for people.
    case text
    /// The command prints its list as JSON: one object on each line.
    case json
}
